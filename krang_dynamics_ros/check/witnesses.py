"""Random states, wrenches and payloads of a robot, and the same quantities by the backend and by each witness."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from ..core.base_motion import BaseMotion
from ..core.inertia import Inertia
from ..core.path import WEIGHTS, Path, Step
from ..core.spatial import Array
from ..core.wrench import LEVER, Wrench
from ..dynamics.dynamics import Dynamics
from ..equations.lagrangian import Lagrangian, find_C
from ..equations.moving_base import moving_base, on_six_joints
from ..equations.newton_euler import NewtonEuler
from ..equations.regressor import moved_links, parameters_of, regressor
from ..robot.robot import Robot

REACH = {'revolute': np.pi, 'prismatic': 1.0}  # rad, m, to each side of zero, or of the limit nearest to zero


class States(NamedTuple):
    """Random states of a robot: positions, velocities and accelerations, each (states, n)."""

    q: Array
    dq: Array
    ddq: Array


def random_states(robot: Robot, count: int, seed: int) -> States:
    """Draw states: positions within limits and `REACH`, velocities and accelerations normally distributed."""
    rng = np.random.default_rng(seed)
    lower, upper = _ranges(robot)
    q = rng.uniform(lower, upper, (count, robot.n))
    return States(q, rng.normal(size=(count, robot.n)), rng.normal(size=(count, robot.n)))


def _ranges(robot: Robot) -> Array:
    """Return ranges (2, n) of random positions: at most `REACH`, as some limits are so wide that they mean none."""
    reach = np.array([REACH[joint.kind] for joint in robot.moving_joints])
    lower, upper = robot.position_limits
    middle = np.clip(0.0, lower, upper)
    return np.array([np.maximum(lower, middle - reach), np.minimum(upper, middle + reach)])


def random_payload(robot: Robot, links: Sequence[str], rng: np.random.Generator) -> dict[str, Inertia]:
    """Draw a body for every hand that is among the links: five point masses, so that it is physically possible."""
    return {link: _random_body(rng) for link in robot.hands.values() if link in links}


def _random_body(rng: np.random.Generator) -> Inertia:
    masses, points = rng.uniform(0.1, 2.0, 5), rng.normal(size=(5, 3)) * 0.2
    squares = np.einsum('ki,kj,k->ij', points, points, masses)
    return Inertia(float(masses.sum()), masses @ points, np.trace(squares) * np.eye(3) - squares)


def random_wrenches(robot: Robot, links: Sequence[str], rng: np.random.Generator) -> list[list[Wrench]]:
    """Draw three sets of wrenches: two on the hands, one on every end of the tree and one more link.

    The first set is in the hands' own axes about their origins, the others in the axes and about the origins of any
    links.
    """
    if not links:
        return []
    bearing = {joint.parent for joint in robot.joints}
    hands = [link for link in robot.hands.values() if link in links]
    ends = [link for link in links if link not in bearing]
    anywhere = [*ends, str(rng.choice(links))]

    def drawn(on: Sequence[str], any_axes: bool) -> list[Wrench]:
        frames = [rng.choice(links, 2).tolist() if any_axes else ('', '') for _ in on]
        return [Wrench(link, *rng.normal(size=(2, 3)), *of) for link, of in zip(on, frames, strict=True)]

    return [drawn(hands, any_axes=False), drawn(hands, any_axes=True), drawn(anywhere, any_axes=True)]


DAMPING = 0.5  # m, of the estimated wrenches: well posed with any number of hands
WrenchSets = Sequence[Sequence[Wrench]]
Compared = tuple[str, str, Array, Array]  # witness, quantity, our value, the witness's


def by_backend(
    dynamics: Dynamics, s: States, wrenches: WrenchSets, links: Sequence[str], hands: Sequence[str]
) -> dict[str, Array]:
    """Return every quantity at every state, by the backend that users run."""
    d = dynamics
    poses = [[np.column_stack(d.pose(q, link)) for link in links] for q in s.q]
    return {
        '0T_j': np.array(poses),
        'A': np.array([d.A(q) for q in s.q]),
        'C': np.array([d.C(q, dq) for q, dq in zip(s.q, s.dq, strict=True)]),
        'C dq': np.array([d.coriolis_torque(q, dq) for q, dq in zip(s.q, s.dq, strict=True)]),
        'Q': np.array([d.Q(q) for q in s.q]),
        'Gamma': np.array([d.inverse_dynamics(*state) for state in zip(*s, strict=True)]),
        'Gamma mean': np.array([d.mean_inverse_dynamics(step) for step in _steps(s)]),
        'J^T f': _by_set(lambda given: np.array([d.wrench_torque(q, given) for q in s.q]), wrenches),
        'f': _estimated_wrenches(d, s, hands),
        'Gamma_f': np.array([d.friction_torque(dq) for dq in s.dq]),
        'E': np.array([d.E(q, dq) for q, dq in zip(s.q, s.dq, strict=True)]),
        'U': np.array([d.U(q) for q in s.q]),
        'S': np.array([d.center_of_mass(q) for q in s.q]),
    }


def by_regressor(robot: Robot, s: States) -> Array:
    """Return Gamma (states, n) as identification computes it: Y(q, dq, ddq) phi, plus the rotors."""
    links = moved_links(robot)
    return regressor(robot, links, *s) @ parameters_of(robot, links) + robot.rotor_inertia * s.ddq


def by_lagrangian(
    robot: Robot, s: States, wrenches: WrenchSets, links: Sequence[str], hands: Sequence[str]
) -> dict[str, Array]:
    """Return the same quantities by the report's equations."""
    lagrangian = Lagrangian(robot)
    A, dA_dq, Q = lagrangian.A(s.q), lagrangian.dA_dq(s.q), lagrangian.Q(s.q)
    C = find_C(dA_dq, s.dq)
    coriolis = np.einsum('sij,sj->si', C, s.dq)
    Gamma = np.einsum('sij,sj->si', A, s.ddq) + coriolis + Q
    poses = [np.concatenate([R, p[..., None]], axis=-1) for R, p in (lagrangian.pose(s.q, link) for link in links)]
    return {
        '0T_j': np.stack(poses, axis=1) if poses else np.zeros((len(s.q), 0)),
        'A': A,
        'C': C,
        'C dq': coriolis,
        'Q': Q,
        'Gamma': Gamma,
        'Y phi': Gamma,
        'J^T f': _by_set(lambda given: lagrangian.wrench_torque(s.q, given), wrenches),
        'f': _least_squares_wrenches(lagrangian, s, hands),
        **({} if robot.has_effect('friction') else {'Gamma_f': lagrangian.friction_torque(s.dq)}),
        'E': lagrangian.E(s.q, s.dq),
        'U': lagrangian.U(s.q),
        'S': lagrangian.center_of_mass(s.q),
        'dA/dt': np.einsum('sijk,sk->sij', dA_dq, s.dq),
    }


def on_moving_base(robot: Robot, dynamics: Dynamics, rng: np.random.Generator, count: int) -> Iterator[Compared]:
    """Yield comparisons for a robot on a moving base, at random states of base and joints.

    The Lagrangian sees the same robot behind six joints, in place of the report's w0 and V0 (B.8, B.9). Their torques
    are the wrench on the base.
    """
    six, n = on_six_joints(robot), robot.n
    s = random_states(six, count, int(rng.integers(2**31)))
    base = moving_base(six, robot.base, *s)
    before, torques, forces = dynamics.base_motion, [], []
    for k, (q, dq, ddq) in enumerate(zip(*(x[:, 6:] for x in s), strict=True)):
        dynamics.base_motion = BaseMotion(base.gravity[k], base.w[k], base.dw[k])
        torques.append(dynamics.A(q) @ ddq + dynamics.coriolis_torque(q, dq) + dynamics.Q(q))
        forces.append(base.J[k].T @ dynamics.wrench_on_base(q, dq, ddq))
    dynamics.base_motion = before
    Gamma = Lagrangian(six).inverse_dynamics(*s)
    q, dq, ddq = (x[:, 6:] for x in s)
    own = NewtonEuler(robot).on_moving_base(q, dq, ddq, (base.gravity, base.w, base.dw))
    mine = np.array(torques).reshape(count, n)
    yield 'Lagrangian', 'Gamma w0', mine, Gamma[:, 6:]
    yield 'Newton-Euler', 'Gamma w0', mine, own
    yield 'Lagrangian', 'f_0', np.array(forces), Gamma[:, :6]


def _estimated_wrenches(dynamics: Dynamics, s: States, hands: Sequence[str]) -> Array:
    """Return hand wrenches estimated from random torques, and a lower bound (states, 6 hands + 1).

    The bound is that of the squared singular values of J. The numbers of ddq serve as the torques: any will do, also
    others than those of the state.
    """
    if not hands:
        return np.zeros(0)
    return np.array([np.append(*dynamics.hand_wrenches(q, x, hands, DAMPING)) for q, x in zip(s.q, s.ddq, strict=True)])


def _least_squares_wrenches(lagrangian: Lagrangian, s: States, hands: Sequence[str]) -> Array:
    """Return the same by J^T of unit wrenches and by another solver."""
    if not hands:
        return np.zeros(0)
    scale = np.tile([1.0, 1.0, 1.0, *[LEVER] * 3], len(hands))
    units = [Wrench(link, *unit.reshape(2, 3)) for link in hands for unit in np.eye(6)]
    J = scale[:, None] * np.stack([lagrangian.wrench_torque(s.q, [unit]) for unit in units], axis=1)
    squared = J @ np.swapaxes(J, 1, 2) + DAMPING**2 * np.eye(len(scale))
    f = np.linalg.solve(squared, J @ s.ddq[..., None])[..., 0] * scale
    return np.column_stack([f, 1 / (1 / np.linalg.eigvalsh(squared)).sum(axis=1) - DAMPING**2])


def by_newton_euler(robot: Robot, s: States, wrenches: WrenchSets) -> dict[str, Array]:
    """Return the quantities that recursive Newton-Euler gives."""
    recursive = NewtonEuler(robot)
    return {
        'A': recursive.A(s.q),
        'C': recursive.C(s.q, s.dq),
        'C dq': recursive.coriolis_torque(s.q, s.dq),
        'Q': recursive.Q(s.q),
        'Gamma': recursive.inverse_dynamics(*s),
        'Gamma mean': np.array([WEIGHTS @ recursive.inverse_dynamics(*step.points()) for step in _steps(s)]),
        'Y phi': recursive.inverse_dynamics(*s),
        'J^T f': _by_set(lambda given: recursive.wrench_torque(s.q, given), wrenches),
    }


def _by_set(torque: Callable[[Sequence[Wrench]], Array], wrenches: WrenchSets) -> Array:
    """Return J^T f (states, n, sets). Each set is used at all states, as a reading is until the next one comes."""
    return np.stack([torque(given) for given in wrenches], axis=-1) if wrenches else np.zeros(0)


def _steps(s: States) -> list[Step]:
    """Return the step to every state from the one before it; the first step starts from the last state."""
    path = Path()
    path.begin(s.q[-1], 0 * s.dq[-1])
    path.step(s.q[-1], s.dq[-1], 0.5)
    return [path.step(q, dq, 0.4 + 0.1 * (k % 3)) for k, (q, dq) in enumerate(zip(s.q, s.dq, strict=True))]
