"""`Dynamics` by exported C: A, C, Q, C dq, inverse dynamics; at the hands J^T f, and wrenches from torques.

Pinocchio computes all else.
"""

from __future__ import annotations

import ctypes
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..core.base_motion import BaseMotion
from ..core.errors import ArgumentError
from ..core.inertia import Inertia
from ..core.path import Step
from ..core.spatial import Array
from ..core.wrench import Wrench, WrenchFrame, WrenchRows
from ..robot.robot import Robot
from ..symbolic.build import load_library
from ..symbolic.c_wrappers import array_slices
from ..symbolic.expressions import QUANTITIES
from ..symbolic.parameters import setting_slices, setting_values
from .dynamics import Dynamics, Quantity


class CompiledDynamics(Dynamics):
    """A robot's dynamics by compiled C. Gravity, payload, rotors and friction can be set, as in `Dynamics`.

    With a payload on a link that is none of `Robot.hands`, Pinocchio computes everything but the wrenches.
    """

    base_may_turn = False

    def __init__(self, robot: Robot, urdf: str, **arguments: Any) -> None:
        """Build the functions of the robot, or load them if they are built. `arguments` are those of `Dynamics`."""
        self._library, slices = load_library(robot), array_slices(robot)
        self._work = np.zeros(slices['output'].stop)
        p = self._work[slices['p']]
        p[:] = setting_values(robot)
        self._settings = {name: p[of] for name, of in setting_slices(robot).items()}
        self._hand_links = tuple(robot.hands.values())
        super().__init__(urdf, **arguments)
        self._set_views(slices)
        self._no_wrench = np.zeros(6)
        self._stored: tuple[Wrench, ...] | None = None  # in the input array, unless they depend on q
        call = partial(_call, self._library, ctypes.c_void_p(self._work.ctypes.data))
        self._A, self._C, self._Q = (call(x) for x in ('A', 'C', 'Q'))
        self._coriolis_torque, self._inverse_dynamics = (call(x) for x in ('coriolis_torque', 'inverse_dynamics'))
        self._wrench_torque, self._hand_wrenches = (call(x) for x in ('wrench_torque', 'hand_wrenches'))
        self._mean_inverse_dynamics = call('mean_inverse_dynamics')

    def _set_views(self, slices: Mapping[str, slice]) -> None:
        """Set views of the inputs (memoryviews: assignment is faster than in NumPy) and of the output."""
        view: dict[str, Any] = {name: memoryview(self._work[at]) for name, at in slices.items()}  # type: ignore[arg-type]
        self._q, self._dq, self._ddq, self._torque = (view[x] for x in ('q', 'dq', 'ddq', 'torque'))
        self._damping, self._dt, self._rho = (view[x] for x in ('damping', 'dt', 'rho'))
        self._measured = [view['measured'][self.n * k : self.n * (k + 1)] for k in range(5)]
        self._hands = {link: view['f'][6 * k : 6 * k + 6] for k, link in enumerate(self._hand_links)}
        output = self._work[slices['output']]
        self._vector, self._matrix = output[: self.n].copy, output[: self.n**2].reshape(self.n, self.n).copy
        self._wrench_output = output[: 6 * len(self._hand_links) + 1].copy

    def _set_gravity(self, vector: Array) -> None:
        super()._set_gravity(vector)
        self._settings['gravity'][:] = vector

    def _set_base_turning(self, motion: BaseMotion | None) -> None:
        if motion is not None:
            raise ArgumentError(
                "base_motion: the base turns, must not turn with backend 'compiled', whose functions have gravity as "
                "their only input of the base; use backend 'pinocchio'"
            )

    def _set_rotor_inertia(self, vector: Array) -> None:
        super()._set_rotor_inertia(vector)
        self._settings['rotor_inertia'][:] = vector

    def _set_payload(self, payload: dict[str, Inertia]) -> None:
        super()._set_payload(payload)
        left = payload.copy()
        carried = [left.pop(link, Inertia()).parameters for link in self._hand_links]
        self._settings['payload'][:] = np.concatenate(carried)
        self._payload_off_hands = bool(left)  # not an input of the functions

    def A(self, q: ArrayLike) -> Array:
        """Return the inertia matrix (n, n), eq. 2, with the rotor inertia (eq. 18)."""
        if self._payload_off_hands:
            return super().A(q)
        self._store(self._q, q)
        self._A()
        return self._matrix()

    def C(self, q: ArrayLike, dq: ArrayLike) -> Array:
        """Return the Coriolis matrix (n, n), eq. 4."""
        if self._payload_off_hands:
            return super().C(q, dq)
        self._store(self._q, q)
        self._store(self._dq, dq)
        self._C()
        return self._matrix()

    def Q(self, q: ArrayLike) -> Array:
        """Return the gravity torque (n), eq. 5."""
        if self._payload_off_hands:
            return super().Q(q)
        try:  # `_store` inlined: the call would cost a tenth of the time
            self._q[:] = q
        except (TypeError, ValueError):
            self._q[:] = self._checked(q)
        self._Q()
        return self._vector()

    def coriolis_torque(self, q: ArrayLike, dq: ArrayLike) -> Array:
        """Return the Coriolis torque C(q, dq) dq (n)."""
        if self._payload_off_hands:
            return super().coriolis_torque(q, dq)
        self._store(self._q, q)
        self._store(self._dq, dq)
        self._coriolis_torque()
        return self._vector()

    def wrench_torque(self, q: ArrayLike, wrenches: Iterable[Wrench]) -> Array:
        """Return J^T f (n), eq. 16; by Pinocchio if a wrench is not on a hand, or two are on the same hand."""
        self._store(self._q, q)
        applied = tuple(wrenches)
        if applied != self._stored and not self._store_wrenches(q, applied):
            return super().wrench_torque(q, applied)
        self._wrench_torque()
        return self._vector()

    def inverse_dynamics(self, q: ArrayLike, dq: ArrayLike, ddq: ArrayLike) -> Array:
        """Return A ddq + C dq + Q (n), eq. 3."""
        if self._payload_off_hands:
            return super().inverse_dynamics(q, dq, ddq)
        self._store(self._q, q)
        self._store(self._dq, dq)
        self._store(self._ddq, ddq)
        self._inverse_dynamics()
        return self._vector()

    def mean_inverse_dynamics(self, step: Step) -> Array:
        """Return the mean over a step of A ddq + C dq + Q (n)."""
        if step.rho is None or self._payload_off_hands:
            return super().mean_inverse_dynamics(step)
        self._store(self._q, step.q)
        for target, velocity in zip(self._measured, step.measured, strict=True):
            self._store(target, velocity)
        self._dt[0], self._rho[0] = step.dt, step.rho
        self._mean_inverse_dynamics()
        return self._vector()

    def hand_wrenches(
        self, q: ArrayLike, torque: ArrayLike, links: Sequence[str], damping: float
    ) -> tuple[Array, float]:
        """Return the wrenches that explain joint torques, in C if all torques are finite and `links` are all hands."""
        given = self._checked(torque)
        if tuple(links) != self._hand_links or not (math.isfinite(given @ given) and damping > 0):
            return super().hand_wrenches(q, given, links, damping)
        self._store(self._q, q)
        self._store(self._torque, given)
        self._damping[0] = damping
        self._hand_wrenches()
        output = self._wrench_output()
        return output[:-1], float(output[-1])

    def batch(self, quantity: Quantity, q: Array, *dq: Array, base: Sequence[BaseMotion] | None = None) -> Array:
        """Return A, C, Q or C dq for many states, as `Dynamics.batch`, in a single loop in C."""
        if self._payload_off_hands or base is not None:
            return super().batch(quantity, q, *dq, base=base)
        return self._batch(quantity, (self.n, self.n) if quantity in ('A', 'C') else (self.n,), q, *dq)

    def wrench_torques(self, q: Array, wrenches: WrenchRows) -> Array:
        """Return J^T f (m, n) for many states, as `Dynamics.wrench_torques`; in C if all are on hands."""
        if any(frame.link not in self._hand_links for frame in wrenches):
            return super().wrench_torques(q, wrenches)
        if not wrenches:
            return np.zeros((len(q), self.n))
        f = np.zeros((len(q), len(self._hand_links), 6))
        for frame, vectors in wrenches.items():
            f[:, self._hand_links.index(frame.link)] += self._at_links(q, frame, vectors)
        return self._batch('wrench_torque', (self.n,), q, f.reshape(len(q), -1))

    def _at_links(self, q: Array, frame: WrenchFrame, given: Array) -> Array:
        """Return wrenches (m, 6) in the axes of their link, about its origin."""
        if not (frame.axes or frame.about):
            return given
        vectors = np.zeros_like(given)
        for k in np.flatnonzero(given.any(axis=1)):
            vectors[k] = self.wrench_at_link(q[k], Wrench.of(frame.link, given[k].copy(), *frame[1:]))
        return vectors

    def _batch(self, quantity: str, shape: tuple[int, ...], *columns: Array) -> Array:
        widths = [{'f': 6 * len(self._hand_links)}.get(x, self.n) for x in QUANTITIES[quantity].inputs if x != 'p']
        out = np.empty((len(columns[0]), *shape))
        arrays = [np.ascontiguousarray(column, dtype=float) for column in columns]
        shapes, expected = [array.shape for array in arrays], [(len(out), width) for width in widths]
        if shapes != expected:
            raise ArgumentError(f'{quantity} of many states: arrays of shapes {shapes}, must be {expected}')
        pointers = [ctypes.c_void_p(array.ctypes.data) for array in (self._work, *arrays, out)]
        function = getattr(self._library, f'{quantity}_for_many')
        function.restype = None
        function(ctypes.c_long(len(out)), *pointers)
        return out

    def _store_wrenches(self, q: ArrayLike, wrenches: tuple[Wrench, ...]) -> bool:
        """Write wrenches into the input array; return False if a hand has several, or a wrench is on no hand."""
        self._stored, free, moving = None, self._hands.copy(), False
        for wrench in wrenches:
            hand = free.pop(wrench.link, None)
            if hand is None:
                return False
            elsewhere = bool(wrench.axes or wrench.about)  # then the wrench at the hand depends on q
            hand[:] = self.wrench_at_link(q, wrench) if elsewhere else wrench.vector
            moving = moving or elsewhere
        for hand in free.values():
            hand[:] = self._no_wrench
        self._stored = None if moving else wrenches
        return True

    def _store(self, target: Any, x: ArrayLike) -> None:
        """Write a joint vector into the input array."""
        try:
            target[:] = x  # accepts n doubles and nothing else
        except (TypeError, ValueError):
            target[:] = self._checked(x)


def _call(library: ctypes.PyDLL, work: ctypes.c_void_p, name: str) -> Callable[[], None]:
    function = getattr(library, f'{name}_in_place')
    function.restype = None
    return partial(function, work)
