"""The Lagrangian's lines are written for anything with + * sin cos: CasADi's symbols run through the very same ones."""

from __future__ import annotations

import numpy as np
import pytest

from krang_dynamics_ros import Dynamics, Robot
from krang_dynamics_ros.frames import all_local
from krang_dynamics_ros.lagrangian import total_KE, total_PE
from krang_dynamics_ros.proof import random_states

casadi = pytest.importorskip('casadi', reason='CasADi, for symbols, is not installed')


def test_energies_are_symbols_and_their_derivatives_are_A_and_Q(robot: Robot, dynamics: Dynamics) -> None:
    q, dq = casadi.SX.sym('q', robot.n), casadi.SX.sym('dq', robot.n)
    names = robot.joint_names
    local = all_local(robot, {name: q[k] for k, name in enumerate(names)})
    E = total_KE(robot, local, {name: dq[k] for k, name in enumerate(names)})
    U = total_PE(robot, local)
    functions = casadi.Function('f', [q, dq], [E, U, casadi.hessian(E, dq)[0], casadi.gradient(U, q)])
    for position, velocity, _ in zip(*random_states(robot, 20, 11), strict=True):
        energy, potential, A, Q = (np.array(x) for x in functions(position, velocity))
        assert energy.item() == pytest.approx(dynamics.E(position, velocity), rel=1e-12)
        assert potential.item() == pytest.approx(dynamics.U(position), rel=1e-12)
        np.testing.assert_allclose(A, dynamics.A(position), atol=1e-11)
        np.testing.assert_allclose(Q.ravel(), dynamics.Q(position), atol=1e-11)
