"""Where recordings of real arms are, if they are: beside the project, in `shared/recordings`; and ones made here."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from krang_dynamics_ros.recordings.recording import Recording

from .robots import ROOT


def shared(name: str) -> Path:
    """Return the folder of a shared recording, or skip the test."""
    named = os.environ.get('KRANG_RECORDINGS')
    places = [Path(named)] if named else [folder / 'shared' / 'recordings' for folder in ROOT.parents]
    for place in places:
        if (place / name).is_dir():
            return place / name
    pytest.skip(f'shared/recordings/{name} is not above the project (or where KRANG_RECORDINGS says)')


def waves(n: int, time: np.ndarray, seed: int = 0, period: float = 10.0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return positions, velocities and accelerations (rows, n) of a motion that comes again."""
    rng = np.random.default_rng(seed)
    q, dq, ddq = np.zeros((3, len(time), n))
    for harmonic in range(1, 6):
        a, b = rng.normal(size=(2, n)) / harmonic
        w = 2 * np.pi * harmonic / period
        s, c = np.sin(w * time)[:, None], np.cos(w * time)[:, None]
        q += a * s + b * c
        dq += w * (a * c - b * s)
        ddq += -(w**2) * (a * s + b * c)
    return 0.4 * q, 0.4 * dq, 0.4 * ddq


def recording_of(time: np.ndarray, position: np.ndarray, effort: np.ndarray | None = None) -> Recording:
    return Recording('made here', tuple(f'j{k}' for k in range(position.shape[1])), time, position, None, effort)
