"""A run of payload by lifting: stands of the empty and of the loaded hand, and the payload by them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..live.engine import Engine
from ..live.payloads import PayloadSpec
from .next_pose import JointRange, next_pose
from .payload_by_lifting import NAMES, LiftedPayload, Stand, fit, poses_of
from .stands import StandSampler

DIGITS = 6  # significant ones


class Lifting:
    """The stands of one hand, and the payload by them."""

    def __init__(self, engine: Engine, sampler: StandSampler, empty: Sequence[Stand] | None) -> None:
        """`empty` are the stands of the empty hand; None: the hand is empty now, and `sampler` takes these stands."""
        joints = engine.supervisor.joints
        self.sampler, self._empty = sampler, empty
        self.hand, self.with_load = sampler.hand, empty is not None
        lower, upper = joints.position
        self.joints = JointRange(engine.dynamics.joint_names, lower, upper, joints.prismatic)
        self._count, self._next = -1, ''
        self._found: LiftedPayload | None = None

    @property
    def found(self) -> LiftedPayload | None:
        """The payload by all stands so far; None while the hand is empty."""
        self._update()
        return self._found

    @property
    def next_pose(self) -> str:
        """What to do next."""
        self._update()
        return self._next

    def _update(self) -> None:
        stands, columns = self.sampler.stands, self.sampler.holding.columns
        if self._count == len(stands):
            return
        self._count = len(stands)
        empty, full = (self._empty, stands) if self._empty is not None else (stands, [])
        poses = poses_of(empty, full, columns)
        self._next = next_pose(poses, self.joints, columns, self.with_load)
        self._found = fit(poses, self.joints.names) if self.with_load else None

    @property
    def trouble(self) -> str:
        """Why there is no payload to propose, or ''."""
        found = self.found
        if found is None:
            return 'the hand is empty: run again with the load and --empty FILE'
        return found.trouble

    def values(self) -> dict[str, Any]:
        """Return the payload as parameters of the node; poses at rest do not determine its inertia."""
        found = self.found
        if found is None or found.trouble:
            return {}
        numbers = [float(f'{x:.{DIGITS}g}') for x in (found.mass, *found.com)]
        return PayloadSpec(numbers[0], numbers[1:], [0.0] * 6).values(self.hand.name)

    # Text -------------------------------------------------------------------------------------------------------------

    def table(self) -> list[str]:
        """Return the lines that a person watches."""
        what = 'payload by lifting' if self.with_load else 'empty hand'
        lines = [f'{self.hand.name} ({self.hand.link}), {what}: {len(self.sampler.stands)} stands']
        lines += [f'  now   {self.sampler.status}', f'  next  {self.next_pose}']
        found = self.found
        if found is None:
            return lines
        if found.trouble:
            return [*lines, f'  not concluded: {found.trouble}']
        return [*lines, *_numbers(found), *self._joint_lines(found)]

    def _joint_lines(self, found: LiftedPayload) -> list[str]:
        """Return a line for each used joint: friction, scatter, and what is not explained."""
        return [
            f'  {self.joints.names[k]:<18}friction {found.friction[k]:.3g}, scatter {found.scatter[k]:.2g}, '
            f'not explained {found.residual[k]:.2g} {"N" if self.joints.prismatic[k] else "N m"}'
            for k in found.joints
        ]

    def parameter_file(self) -> str:
        """Return the text of a parameter file for the node, with the standard deviations."""
        found = self.found
        if found is None or found.trouble:
            return ''
        sure = [f'{x:.2g}' for x in found.deviations]
        remarks = {
            'mass': f'+- {sure[0]}',
            'com': f'+- {", ".join(sure[1:])}',
            'inertia': 'not determined by poses at rest',
        }
        lines = [
            f'# What {self.hand.name} ({self.hand.link}) holds, by efforts in {found.poses} poses at rest, hand empty '
            'and loaded.',
            '',
            '/**/krang_dynamics:',
            '  ros__parameters:',
            f'    {self.hand.name}:',
            '      payload:',
        ]
        for name, value in self.values().items():
            key = name.rpartition('.')[2]
            lines.append(f'        {key}: {value}  # {remarks[key]}')
        return '\n'.join([*lines, ''])


def _numbers(found: LiftedPayload) -> list[str]:
    values = np.array([found.mass, *found.com])
    return [
        f'  {name:<18}{x:>10.4f} {unit:<2} +- {s:.4f}'
        for name, x, unit, s in zip(NAMES, values, ('kg', 'm', 'm', 'm'), found.deviations, strict=True)
    ]
