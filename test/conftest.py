from __future__ import annotations

import numpy as np
import pytest
from hypothesis import settings

from krang_dynamics_ros import Dynamics, Robot, dynamics_of, krang

settings.register_profile('here', deadline=None, derandomize=True, print_blob=True)
settings.load_profile('here')


@pytest.fixture(scope='session')
def robot() -> Robot:
    return krang()


@pytest.fixture
def dynamics(robot: Robot) -> Dynamics:
    return dynamics_of(robot)


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(2015)
