"""Errors of a model by joint, as `identify` and `predict` print them."""

from __future__ import annotations

from collections.abc import Sequence

from ..core.spatial import Array
from ..identification.identify import Identified
from ..identification.predict import Prediction
from ..robot.robot import Robot, joint_units
from .common import say


def print_errors(robot: Robot, names: Sequence[str], found: Identified | Prediction, effort_std: Array) -> None:
    """Print errors by joint, each RMSE in its unit; `effort_std` is the standard deviation of the efforts (joints)."""
    width, units = max(len(name) for name in (*names, 'joint')), joint_units(robot)
    columns = found.errors, found.smooth_errors, found.floor
    say(f'{"joint":<{width}}  {"raw":>8}  {"smoothed":>8}  {"floor":>8}  {"RMSE":>10}')
    for name, raw, smoothed, floor, rmse in zip(names, *columns, found.errors * effort_std, strict=True):
        say(f'{name:<{width}}  {raw:8.4f}  {smoothed:8.4f}  {floor:8.4f}  {rmse:10.4g} {units[name].effort}')
    means = '  '.join(f'{column.mean():8.4f}' for column in columns)
    say(f'{"mean":<{width}}  {means}')
    worst = '  '.join(f'{column.max():8.4f}' for column in columns)
    say(f'{"worst":<{width}}  {worst}')
    say('\nraw: as recorded. smoothed: effort and model smoothed. floor: effort that no smooth motion explains.')
