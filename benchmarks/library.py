"""Each call of the library beside the bare Pinocchio call it wraps, and cost against the number of joints.

Both sides run in turns, in one process, on Krang; the ratio is the result, the microseconds only say what it is of.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
import pinocchio as pin

from krang_dynamics_ros import Dynamics, Inertia, Wrench, dynamics_of, krang, urdf_text
from krang_dynamics_ros.robot.robot import Robot

from .chain import chain

CALLS, ROUNDS = 2000, 25
Call = Callable[[], object]


def microseconds(*calls: Call) -> list[float]:
    """Return the best time of each call, measured in turns so that the machine's moods fall on all alike."""
    best = [float('inf')] * len(calls)
    for _ in range(ROUNDS):
        for i, call in enumerate(calls):
            start = time.perf_counter()
            for _ in range(CALLS):
                call()
            best[i] = min(best[i], (time.perf_counter() - start) / CALLS * 1e6)
    return best


def pairs(robot: Robot) -> dict[str, tuple[Call, Call]]:
    """Return by name the library's call and the bare one."""
    d: Dynamics = dynamics_of(robot)
    model = pin.buildModelFromXML(urdf_text(robot))
    data = model.createData()
    rng = np.random.default_rng(0)
    q, dq, ddq, zero = *rng.normal(size=(3, robot.n)), np.zeros(robot.n)
    weightless = model.copy()
    weightless.gravity.linear = np.zeros(3)
    hands, f = ('R10l', 'R10r'), rng.normal(size=6)
    ids = [model.getFrameId(hand) for hand in hands]
    wrenches = [Wrench(hand, f[:3], f[3:]) for hand in hands]

    def bare_wrench_torque() -> object:
        J = [pin.computeFrameJacobian(model, data, q, frame, pin.LOCAL) for frame in ids]
        return J[0].T @ f + J[1].T @ f

    return {
        'A': (lambda: d.A(q), lambda: pin.crba(model, data, q)),
        'C': (lambda: d.C(q, dq), lambda: pin.computeCoriolisMatrix(model, data, q, dq)),
        'C dq': (lambda: d.coriolis_torque(q, dq), lambda: pin.rnea(weightless, data, q, dq, zero)),
        'Q': (lambda: d.Q(q), lambda: pin.computeGeneralizedGravity(model, data, q)),
        'inverse dynamics': (lambda: d.inverse_dynamics(q, dq, ddq), lambda: pin.rnea(model, data, q, dq, ddq)),
        'forward dynamics': (lambda: d.forward_dynamics(q, dq, ddq), lambda: pin.aba(model, data, q, dq, ddq)),
        'J^T f, both hands': (lambda: d.wrench_torque(q, wrenches), bare_wrench_torque),
        'E': (lambda: d.E(q, dq), lambda: pin.computeKineticEnergy(model, data, q, dq)),
        'centre of mass': (lambda: d.center_of_mass(q), lambda: pin.centerOfMass(model, data, q)),
    }


def with_payload(backend: str) -> dict[str, tuple[Call, Call]]:
    """Return by name the library's call with a payload on both hands, and the same without."""
    robot, rng = krang(), np.random.default_rng(0)
    q, wrenches = rng.normal(size=robot.n), [Wrench(hand, *rng.normal(size=(2, 3))) for hand in ('R10l', 'R10r')]
    laden, bare = (dynamics_of(robot, backend=backend) for _ in range(2))
    laden.payload = {hand: Inertia.about_com(2.0, (0.0, 0.1, 0.1), 0.01 * np.eye(3)) for hand in ('R10l', 'R10r')}
    return {
        'Q': (lambda: laden.Q(q), lambda: bare.Q(q)),
        'J^T f, both hands': (lambda: laden.wrench_torque(q, wrenches), lambda: bare.wrench_torque(q, wrenches)),
    }


def main() -> None:
    """Print the tables."""
    print(f'{"Krang, 17 joints":<20}{"library":>10}{"bare pin":>10}{"ratio":>8}   goal 1.3')
    for name, (ours, bare) in pairs(krang()).items():
        mine, theirs = microseconds(ours, bare)
        print(f'{name:<20}{mine:>7.2f} us{theirs:>7.2f} us{mine / theirs:>8.2f}')
    print(f'\n{"payload on both hands":<32}{"with":>10}{"without":>10}{"ratio":>8}   goal 1.2')
    for backend in ('pinocchio', 'compiled'):
        for name, calls in with_payload(backend).items():
            laden, unladen = microseconds(*calls)
            print(f'{f"{name}, {backend}":<32}{laden:>7.2f} us{unladen:>7.2f} us{laden / unladen:>8.2f}')
    print(f'\n{"chain of joints":<20}' + ''.join(f'{n:>9}' for n in (7, 17, 34, 68)) + '   us per joint, 68 to 17')
    models = [dynamics_of(chain(n)) for n in (7, 17, 34, 68)]
    for name in ('Q', 'coriolis_torque', 'forward_dynamics', 'A'):
        times = microseconds(*(_call(d, name) for d in models))
        row = ''.join(f'{t:>6.2f} us' for t in times)
        print(f'{name:<20}{row}   {times[3] / 68 / (times[1] / 17):.2f}')


def _call(d: Dynamics, name: str) -> Call:
    q = np.linspace(0.1, 1.0, d.n)
    arguments = {'Q': (q,), 'A': (q,), 'coriolis_torque': (q, q), 'forward_dynamics': (q, q, q)}[name]
    method = getattr(d, name)
    return lambda: method(*arguments)


if __name__ == '__main__':
    main()
