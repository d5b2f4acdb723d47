"""`Dynamics` by a robot's exported C: A, C, Q, C dq, their sum, J^T f at the hands and back; the rest by Pinocchio."""

from __future__ import annotations

import ctypes
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..core.errors import ArgumentError
from ..core.inertia import Inertia
from ..core.path import Step
from ..core.spatial import Array
from ..core.wrench import Wrench, WrenchFrame, WrenchRows
from ..robot.robot import Robot
from ..symbolic.build import load_library
from ..symbolic.c_wrappers import array_slices
from ..symbolic.expressions import QUANTITIES
from ..symbolic.parameters import setting_places, setting_values
from .dynamics import Dynamics, Quantity


class CompiledDynamics(Dynamics):
    """A robot's dynamics by compiled C. What can be set at any time of `Dynamics` can be here.

    Payload on a link that is no hand of the robot file makes all but wrenches Pinocchio's too.
    """

    def __init__(self, robot: Robot, urdf: str, **settings: Any) -> None:
        """Build the robot's functions, or load those built before; the rest is as for `Dynamics`."""
        self._library, place = load_library(robot), array_slices(robot)
        self._work = np.zeros(place['output'].stop)
        p = self._work[place['p']]
        p[:] = setting_values(robot)
        self._settings = {name: p[of] for name, of in setting_places(robot).items()}
        self._hand_links = tuple(robot.hands.values())
        super().__init__(urdf, **settings)
        self._name_places(place)
        self._no_wrench = np.zeros(6)
        self._in_place: tuple[Wrench, ...] | None = None  # wrenches that the function would read as they are
        call = partial(_call, self._library, ctypes.c_void_p(self._work.ctypes.data))
        self._A, self._C, self._Q = (call(x) for x in ('A', 'C', 'Q'))
        self._coriolis_torque, self._inverse_dynamics = (call(x) for x in ('coriolis_torque', 'inverse_dynamics'))
        self._wrench_torque, self._hand_wrenches = (call(x) for x in ('wrench_torque', 'hand_wrenches'))
        self._mean_inverse_dynamics = call('mean_inverse_dynamics')

    def _name_places(self, place: Mapping[str, slice]) -> None:
        """Name where the functions read, as memory that takes doubles quicker than NumPy, and what they leave."""
        view: dict[str, Any] = {name: memoryview(self._work[of]) for name, of in place.items()}  # type: ignore[arg-type]
        self._q, self._dq, self._ddq, self._torque = (view[x] for x in ('q', 'dq', 'ddq', 'torque'))
        self._damping, self._dt, self._rho = (view[x] for x in ('damping', 'dt', 'rho'))
        self._measured = [view['measured'][self.n * k : self.n * (k + 1)] for k in range(5)]
        self._hands = {link: view['f'][6 * k : 6 * k + 6] for k, link in enumerate(self._hand_links)}
        output = self._work[place['output']]
        self._vector, self._matrix = output[: self.n].copy, output[: self.n**2].reshape(self.n, self.n).copy
        self._found = output[: 6 * len(self._hand_links) + 1].copy

    def _set_gravity(self, vector: Array) -> None:
        super()._set_gravity(vector)
        self._settings['gravity'][:] = vector

    def _set_rotor_inertia(self, vector: Array) -> None:
        super()._set_rotor_inertia(vector)
        self._settings['rotor_inertia'][:] = vector

    def _set_payload(self, payload: dict[str, Inertia]) -> None:
        super()._set_payload(payload)
        left = payload.copy()
        carried = [left.pop(link, Inertia()).parameters for link in self._hand_links]
        self._settings['payload'][:] = np.concatenate(carried)
        self._payload_off_hands = bool(left)  # the functions cannot know of it

    def A(self, q: ArrayLike) -> Array:
        """Inertia matrix (n, n), eq. 2, rotor inertia included (eq. 18)."""
        if self._payload_off_hands:
            return super().A(q)
        self._take(self._q, q)
        self._A()
        return self._matrix()

    def C(self, q: ArrayLike, dq: ArrayLike) -> Array:
        """Coriolis matrix (n, n), eq. 4."""
        if self._payload_off_hands:
            return super().C(q, dq)
        self._take(self._q, q)
        self._take(self._dq, dq)
        self._C()
        return self._matrix()

    def Q(self, q: ArrayLike) -> Array:
        """Gravity torque (n), eq. 5."""
        if self._payload_off_hands:
            return super().Q(q)
        try:  # _take, without the call: a tenth of the whole here
            self._q[:] = q
        except (TypeError, ValueError):
            self._q[:] = self._checked(q)
        self._Q()
        return self._vector()

    def coriolis_torque(self, q: ArrayLike, dq: ArrayLike) -> Array:
        """C(q, dq) dq (n)."""
        if self._payload_off_hands:
            return super().coriolis_torque(q, dq)
        self._take(self._q, q)
        self._take(self._dq, dq)
        self._coriolis_torque()
        return self._vector()

    def wrench_torque(self, q: ArrayLike, wrenches: Iterable[Wrench]) -> Array:
        """J^T f (n), eq. 16; by Pinocchio if a wrench is on another link than a hand, or a second one on a hand."""
        self._take(self._q, q)
        given = tuple(wrenches)
        if given != self._in_place and not self._put(q, given):
            return super().wrench_torque(q, given)
        self._wrench_torque()
        return self._vector()

    def inverse_dynamics(self, q: ArrayLike, dq: ArrayLike, ddq: ArrayLike) -> Array:
        """A ddq + C dq + Q (n), eq. 3."""
        if self._payload_off_hands:
            return super().inverse_dynamics(q, dq, ddq)
        self._take(self._q, q)
        self._take(self._dq, dq)
        self._take(self._ddq, ddq)
        self._inverse_dynamics()
        return self._vector()

    def mean_inverse_dynamics(self, step: Step) -> Array:
        """Return the mean over a step of A ddq + C dq + Q (n)."""
        if step.rho is None or self._payload_off_hands:
            return super().mean_inverse_dynamics(step)
        self._take(self._q, step.q)
        for place, velocity in zip(self._measured, step.measured, strict=True):
            self._take(place, velocity)
        self._dt[0], self._rho[0] = step.dt, step.rho
        self._mean_inverse_dynamics()
        return self._vector()

    def hand_wrenches(
        self, q: ArrayLike, torque: ArrayLike, links: Sequence[str], damping: float
    ) -> tuple[Array, float]:
        """Return wrenches that explain joint torques, as `Dynamics.hand_wrenches`; by Pinocchio if not of all hands."""
        known = self._checked(torque)
        if tuple(links) != self._hand_links or not (math.isfinite(known @ known) and damping > 0):
            return super().hand_wrenches(q, known, links, damping)
        self._take(self._q, q)
        self._take(self._torque, known)
        self._damping[0] = damping
        self._hand_wrenches()
        found = self._found()
        return found[:-1], float(found[-1])

    def over(self, quantity: Quantity, q: Array, *dq: Array) -> Array:
        """Return one of A, C, Q and C dq for many states, as `Dynamics.over`, in one loop of C."""
        if self._payload_off_hands:
            return super().over(quantity, q, *dq)
        return self._over(quantity, (self.n, self.n) if quantity in ('A', 'C') else (self.n,), q, *dq)

    def wrench_torques(self, q: Array, wrenches: WrenchRows) -> Array:
        """Return J^T f (m, n) for many states, as `Dynamics.wrench_torques`; in one loop of C if all are on hands."""
        if any(place.link not in self._hand_links for place in wrenches):
            return super().wrench_torques(q, wrenches)
        if not wrenches:
            return np.zeros((len(q), self.n))
        f = np.zeros((len(q), len(self._hand_links), 6))
        for place, given in wrenches.items():
            f[:, self._hand_links.index(place.link)] += self._at_links(q, place, given)
        return self._over('wrench_torque', (self.n,), q, f.reshape(len(q), -1))

    def _at_links(self, q: Array, place: WrenchFrame, given: Array) -> Array:
        """Return wrenches (m, 6) in their link's own axes, about its own origin."""
        if not (place.axes or place.about):
            return given
        vectors = np.zeros_like(given)
        for k in np.flatnonzero(given.any(axis=1)):
            vectors[k] = self.wrench_at_link(q[k], Wrench.of(place.link, given[k].copy(), *place[1:]))
        return vectors

    def _over(self, quantity: str, shape: tuple[int, ...], *columns: Array) -> Array:
        widths = [{'f': 6 * len(self._hand_links)}.get(x, self.n) for x in QUANTITIES[quantity].inputs if x != 'p']
        out = np.empty((len(columns[0]), *shape))
        arrays = [np.ascontiguousarray(column, dtype=float) for column in columns]
        given, must = [array.shape for array in arrays], [(len(out), width) for width in widths]
        if given != must:
            raise ArgumentError(f'{quantity} of many states: of arrays of shapes {given}, must be {must}')
        pointers = [ctypes.c_void_p(array.ctypes.data) for array in (self._work, *arrays, out)]
        function = getattr(self._library, f'{quantity}_for_many')
        function.restype = None
        function(ctypes.c_long(len(out)), *pointers)
        return out

    def _put(self, q: ArrayLike, wrenches: tuple[Wrench, ...]) -> bool:
        """Put wrenches where the function reads them, and tell whether that can be."""
        self._in_place, free, moving = None, self._hands.copy(), False
        for wrench in wrenches:
            hand = free.pop(wrench.link, None)
            if hand is None:
                return False
            elsewhere = bool(wrench.axes or wrench.about)  # then what the hand feels depends on q
            hand[:] = self.wrench_at_link(q, wrench) if elsewhere else wrench.vector
            moving = moving or elsewhere
        for hand in free.values():
            hand[:] = self._no_wrench
        self._in_place = None if moving else wrenches
        return True

    def _take(self, place: Any, x: ArrayLike) -> None:
        """Put a joint vector where the functions read it."""
        try:
            place[:] = x  # takes n doubles and nothing else
        except (TypeError, ValueError):
            place[:] = self._checked(x)


def _call(library: ctypes.PyDLL, work: ctypes.c_void_p, name: str) -> Callable[[], None]:
    function = getattr(library, f'{name}_in_place')
    function.restype = None
    return partial(function, work)
