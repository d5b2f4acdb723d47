"""Velocities from positions, for drivers that publish none: differences after a first-order low-pass."""

from __future__ import annotations

import math

import numpy as np

from ..core.parameters import ParameterSpec
from ..core.spatial import Array

SOURCES = ('message', 'position')
SPECS = (
    ParameterSpec(
        'velocity_source', SOURCES[0], 'source of velocities: the joint states, or differences of their '
        'positions after a low-pass, for drivers that publish none',
        settable=True, fixed_while_on=True, choices=SOURCES,
    ),
    ParameterSpec(
        'velocity_cutoff', 20.0, 'cut-off frequency f of that low-pass, Hz; its delay is 1 / (2 pi f), 8 ms at '
        '20 Hz', settable=True, fixed_while_on=True, least=0.1, most=1000.0,
    ),
)  # fmt: skip


def next_velocity(velocity: Array, moved: Array, seconds: Array, cutoff: float, longest: float) -> Array:
    """Return the velocities (k; rad/s or m/s) after joints moved (k; rad or m) within a time (k; s).

    `velocity` (k) are the velocities before; where they are NaN, the result is the difference without filtering. The
    result is NaN where `moved` is NaN (no sample before), and after a gap longer than `longest` (s). `cutoff` is in Hz.
    The low-pass is exact for a constant velocity between two samples.
    """
    with np.errstate(divide='ignore', invalid='ignore'):
        mean = moved / seconds
        share = -np.expm1(-2 * math.pi * cutoff * seconds)
        filtered = np.where(np.isnan(velocity), mean, velocity + share * (mean - velocity))
    filtered = np.where(seconds > 0, filtered, velocity)  # two samples at the same time give no velocity
    return np.where(np.isnan(moved) | (seconds > longest), np.nan, filtered)
