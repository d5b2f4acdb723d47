"""The torque terms: name, meaning and computation of each, in one list.

A term in `ALL` gets its topic `torque/<name>`, and a column and colour on the page. Unless its fields say otherwise, it
can be part of `total_terms`, and is part of `model` and `residual` of `krang process`. Some modules name terms:
`efforts.py` those that efforts may lack, `live/firmware.py` those that firmware may add, `live/guiding.py` and
`live/command_contributions.py` the wrench and friction.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Protocol, cast, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from ..core.base_motion import BaseMotion
from ..core.spatial import Array
from ..core.wrench import WrenchRows
from ..robot.robot import Robot
from .drives import PreslidingState
from .dynamics import Dynamics
from .guiding import Damping, FrictionCompensation, Stops
from .observer import MomentumObserver
from .state import State


class StateRows(Protocol):
    """States of a recording, one per row, in order of arrival."""

    stamp: NDArray[np.int64]  # (m), ns
    q: Array  # (m, n)
    dq: Array  # (m, n), NaN where unknown
    wrenches: WrenchRows
    base: Sequence[BaseMotion] | None  # (m) motion of the base; None: that of the dynamics


@runtime_checkable
class Remembers(Protocol):
    """A computation that depends on earlier states."""

    def forget(self) -> None:
        """Discard the history."""


Compute = Callable[[State], Array | None]
ComputeRows = Callable[[StateRows], Array]


@dataclass(frozen=True)
class Term:
    """A torque term (n), N m (N).

    `start` is called once for a robot. It returns a function of a state: the term, or None if unknown. The function may
    remember earlier states. `start_rows` returns a function for many states at once, with the same numbers, NaN where
    unknown; or None if the states must be computed in sequence. `in_robot` returns whether the term can be other than
    zero.
    """

    name: str
    formula: str  # for the documents
    meaning: str  # in a few words, for the documents and the page
    color: str
    start: Callable[[Dynamics], Compute]
    start_rows: Callable[[Dynamics], ComputeRows | None] = lambda dynamics: None
    in_robot: Callable[[Robot], bool] = lambda robot: True
    needs_velocity: bool = False
    summed: bool = True  # whether it can be part of the total
    in_model: bool = True  # whether `model` of `krang process` contains it; A ddq always is in it
    is_friction: bool = False  # whether a sensor behind the gear misses it, and `friction_gain` scales it in the total
    partial: bool = False  # whether it may be NaN for some joints
    is_guiding: bool = False  # whether commands treat it as guiding torque: a weight of its own, never held


class _Friction:
    """Friction; its presliding state advances with each state."""

    def __init__(self, dynamics: Dynamics) -> None:
        self._dynamics, self._presliding = dynamics, PreslidingState(dynamics.friction)

    def forget(self) -> None:
        """Discard the history."""
        self._presliding.forget()

    def __call__(self, state: State) -> Array:
        return self._dynamics.friction_torque(state.velocity, self._presliding.move(state.q))


def _friction_rows(dynamics: Dynamics) -> ComputeRows | None:
    return None if dynamics.friction.has_state else lambda rows: dynamics.friction.torque(rows.dq)


ALL = (
    Term(
        'gravity', 'Q(q)', 'the torque that holds the robot up', '#2563eb',
        lambda dynamics: lambda state: dynamics.Q(state.q),
        lambda dynamics: lambda rows: dynamics.batch('Q', rows.q, base=rows.base),
    ),
    Term(
        'coriolis', 'C(q, dq) dq', 'Coriolis and centrifugal torque', '#0d9488',
        lambda dynamics: lambda state: dynamics.coriolis_torque(state.q, state.velocity),
        lambda dynamics: lambda rows: dynamics.batch('coriolis_torque', rows.q, rows.dq, base=rows.base),
        needs_velocity=True,
    ),
    Term(
        'friction', 'F_v dq + F_c sign(dq)', 'the torque that overcomes the known friction', '#b45309',
        _Friction, _friction_rows,
        needs_velocity=True, is_friction=True, is_guiding=True,
    ),
    Term(
        'spring', 'a cos q + b sin q', 'the torque that holds springs and counterbalances of the robot file', '#ca8a04',
        lambda dynamics: lambda state: dynamics.springs_and_couplings.spring_torque(state.q),
        lambda dynamics: lambda rows: dynamics.springs_and_couplings.spring_torque(rows.q),
        lambda robot: robot.has_effect('spring'),
    ),
    Term(
        'coupling', 'W^T (v W dq + c tanh(W dq / w))', 'the torque that overcomes coupled friction of the robot file',
        '#9f1239',
        lambda dynamics: lambda state: dynamics.springs_and_couplings.coupled_friction(state.velocity),
        lambda dynamics: lambda rows: dynamics.springs_and_couplings.coupled_friction(rows.dq),
        lambda robot: bool(robot.couplings),
        needs_velocity=True, is_friction=True, is_guiding=True,
    ),
    Term(
        'wrench', 'J^T f', 'the joint torque with which the robot APPLIES the wrenches', '#c026d3',
        lambda dynamics: lambda state: dynamics.wrench_torque(state.q, state.wrenches),
        lambda dynamics: lambda rows: dynamics.wrench_torques(rows.q, rows.wrenches),
    ),
    Term(
        'damping', '-B dq', 'a damper in each joint, for leading the arm by hand', '#7c3aed', Damping,
        needs_velocity=True, in_model=False, is_guiding=True,
    ),
    Term(
        'stops', '-K x - B dq', 'springs and dampers that push a joint out of its stop; x is its depth in the stop',
        '#0ea5e9', Stops,
        needs_velocity=True, in_model=False, is_guiding=True,
    ),
    Term(
        'external', 'by the momentum observer',
        'the torque that the WORLD applies to the joints, from measured efforts', '#65a30d',
        MomentumObserver,
        summed=False, in_model=False, partial=True,
    ),
)  # fmt: skip
TERMS: dict[str, Term] = {term.name: term for term in ALL}
SUMMED = tuple(term.name for term in ALL if term.summed)  # names allowed in `total_terms`
MODEL_TERMS = tuple(term.name for term in ALL if term.in_model)  # `model` of `krang process` is their sum and A ddq
COMMON = tuple(term.name for term in ALL if term.in_robot is Term.in_robot)  # of every robot: no condition
_READING = 'is a property of measured efforts, and no torque that the robot needs'
NEVER_SUMMED = {  # names that `total_terms` must not contain, and why
    **dict.fromkeys(('offset', 'effort_offset'), f'the offset of an effort {_READING}'),
    **dict.fromkeys(('share', 'load', 'load_share'), f'the load share of a drive {_READING}'),
    'load_friction': f'friction that grows with the load {_READING}',
    'external': 'it is an estimate of the torque of the world; commanding it would close a feedback loop',
}


def terms_of(robot: Robot) -> list[str]:
    """Return the terms that can be other than zero: not those of springs or couplings that the robot does not have."""
    return [term.name for term in ALL if term.in_robot(robot)]


class Terms:
    """All terms of a robot."""

    def __init__(self, dynamics: Dynamics) -> None:
        self.n = dynamics.n
        self.compute = {name: term.start(dynamics) for name, term in TERMS.items()}
        self.observer = cast(MomentumObserver, self.compute['external'])
        self.damping, self.stops = cast(Damping, self.compute['damping']), cast(Stops, self.compute['stops'])
        self.friction_compensation = FrictionCompensation(dynamics)
        self.faults: dict[str, str] = {}  # reasons, by term that was not finite; the code that reports them clears them
        self.resets = 0  # number of calls of `forget`
        self._joint_names = dynamics.joint_names

    def forget(self) -> None:
        """Discard the history of all terms."""
        self.resets += 1
        for term in self.compute.values():
            if isinstance(term, Remembers):
                term.forget()

    def finite(self, name: str, torque: Array | None) -> Array | None:
        """Return a torque (n), or None if its numbers or their squares are not finite; the reason goes to `faults`."""
        if torque is None or math.isfinite(torque.dot(torque)):
            return torque
        k = int(np.argmax(np.where(np.isnan(torque), np.inf, np.abs(torque))))
        self.faults[name] = f'{torque[k]:.3g} for {self._joint_names[k]}, must be finite, and its square too'
        return None


class Torques:
    """Torques (n) of one state by term, in the order of the dynamics' joints.

    After a reset that follows this state, terms that were not accessed before are None: their history is gone.
    """

    def __init__(self, terms: Terms, state: State) -> None:
        self.state = state
        self._terms, self._resets = terms, terms.resets
        self._known: dict[str, Array | None] = {}

    def term(self, name: str) -> Array | None:
        """Return a term (n), or None if it is unknown: no velocities, or a number that is not finite."""
        if name not in self._known:
            unknown = TERMS[name].needs_velocity and self.state.dq is None
            torque = None if unknown or self._resets != self._terms.resets else self._terms.compute[name](self.state)
            self._known[name] = torque if TERMS[name].partial else self._terms.finite(name, torque)
        return self._known[name]

    def in_total(self, name: str) -> Array | None:
        """Return what the total contains of a term: of friction and coupling the compensated share; None if unknown."""
        torque, compensation = self.term(name), self._terms.friction_compensation
        if torque is None or not compensation.partly or not TERMS[name].is_friction:
            return torque
        return compensation.of(torque, self.state) if name == 'friction' else compensation.of_coupling(self.state)

    def total(self, names: Collection[str]) -> Array | None:
        """Return the sum of terms (zero for an empty list), or None if a term is unknown."""
        total = np.zeros(self._terms.n)
        for name in names:
            torque = self.in_total(name)
            if torque is None:
                return None
            total += torque
        return total
