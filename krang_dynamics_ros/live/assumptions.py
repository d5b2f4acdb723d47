"""Assumptions about an arm, in a few lines that a person can check."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ..core.errors import listed
from ..core.parameters import Settings, named
from ..dynamics.efforts import OMITTABLE_TERMS
from ..dynamics.factory import Model
from ..dynamics.terms import TERMS

EFFORT = {
    'motor': ('motor torque at the joint', OMITTABLE_TERMS),
    'joint': ('torque behind the gear', tuple(name for name in OMITTABLE_TERMS if not TERMS[name].is_friction)),
    'external': ('external torque on the joint', ()),
}
UPRIGHT = 0.5  # degrees


def assumptions(settings: Settings, model: Model) -> Iterator[str]:
    """Yield a line for each assumption; `settings` are those of an `Engine` of this model."""
    robot = model.robot
    yield f'robot: {robot.name}, joints {listed(robot.joint_names)}'
    if fixed := named(settings['fixed_joints']):
        yield f'fixed joints: {listed(fixed)}'
    yield f'gravity: {_gravity(settings, robot.base)}'
    yield f'joint states: topic {settings["joint_states_topic"]}'
    if settings['velocity_source'] == 'position':
        yield f'velocities: differences of positions, low-pass of {settings["velocity_cutoff"]:g} Hz'
    yield f'effort: {_effort(settings)}; {_scales(settings, model)}'
    if adds := named(settings['robot.adds']):
        yield f'firmware: adds {listed(adds)} to torque commands; this package subtracts it from them'
    for name in named(settings['end_effectors']):
        sense = settings[f'{name}.sense'].replace('_', ' ')
        tool = f', tool {settings[f"{name}.tool.mass"]:g} kg' if settings[f'{name}.tool.mass'] else ''
        by_robot = ', weight of its payload subtracted by the robot' if settings[f'{name}.sensor.compensated'] else ''
        topic = settings[f'{name}.wrench_topic']
        yield f'hand {name}: link {settings[f"{name}.link"]}, wrench {topic}, {sense}{tool}{by_robot}'


def _gravity(settings: Settings, base: str) -> str:
    if settings['base_motion'] == 'fixed':
        return f'{list(settings["gravity"])} m/s^2 in the axes of {base}, {_mounting(settings)}'
    size, link = np.linalg.norm(settings['gravity']), settings['imu.link'] or 'the frame of its header'
    what = (
        f'{size:g} m/s^2 by the orientation'
        if settings['base_motion'] == 'orientation'
        else 'by acceleration and turning'
    )
    return f'{what} of the IMU on {settings["imu_topic"]}, in {link}'


def _mounting(settings: Settings) -> str:
    x, y, z = settings['gravity']
    if not np.linalg.norm((x, y, z)) > 0:
        return 'weightless'
    tilt = float(np.degrees(np.arctan2(np.hypot(x, y), -z)))
    if tilt < UPRIGHT:
        return 'mounted upright'
    return 'mounted upside down' if tilt > 180 - UPRIGHT else f'tilted by {tilt:.1f} degrees'


def _effort(settings: Settings) -> str:
    source, without = settings['effort_source'], named(settings['effort_without'])
    words, terms = EFFORT[source]
    contained = ', '.join(name for name in terms if name not in without)
    return f'{words} (effort_source: {source}), {f"with {contained}" if contained else "without terms of the model"}'


def _scales(settings: Settings, model: Model) -> str:
    scales = {name: settings[f'joints.{name}.effort_scale'] for name in model.dynamics.joint_names}
    if len({*scales.values()}) == 1:
        return f'{next(iter(scales.values())):g} N m (N) per unit'
    return 'N m (N) per unit: ' + ', '.join(f'{name} {scale:g}' for name, scale in scales.items())
