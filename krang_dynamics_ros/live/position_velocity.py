"""Velocities made of positions, for drivers that publish none: differences through a first-order low-pass."""

from __future__ import annotations

import math

import numpy as np

from ..core.parameters import ParameterSpec
from ..core.spatial import Array

SOURCES = ('message', 'position')
SPECS = (
    ParameterSpec(
        'velocity_source', SOURCES[0], 'where velocities come from: the joint states, or differences of their '
        'positions through a low-pass, for drivers that publish none; not while commands go out',
        live=True, choices=SOURCES,
    ),
    ParameterSpec(
        'velocity_cutoff', 20.0, 'cut-off frequency f of that low-pass, Hz: velocities are 1 / (2 pi f) late, 8 ms at '
        '20 Hz; not while commands go out', live=True, least=0.1, most=1000.0,
    ),
)  # fmt: skip


def next_velocity(velocity: Array, moved: Array, seconds: Array, cutoff: float, longest: float) -> Array:
    """Return the velocities (k; rad/s or m/s) after joints moved (k; rad or m) within a time (k; s).

    `velocity` (k) are the ones before, NaN where there are none: then the difference counts alone. NaN where `moved`
    is, for there was no sample before, and after a gap longer than `longest` (s). `cutoff` is in Hz. The way between
    two samples is taken as straight, and the low-pass is exact for it.
    """
    with np.errstate(divide='ignore', invalid='ignore'):
        mean = moved / seconds
        share = -np.expm1(-2 * math.pi * cutoff * seconds)
        filtered = np.where(np.isnan(velocity), mean, velocity + share * (mean - velocity))
    filtered = np.where(seconds > 0, filtered, velocity)  # two samples of one instant say nothing of the velocity
    return np.where(np.isnan(moved) | (seconds > longest), np.nan, filtered)
