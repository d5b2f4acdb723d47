from __future__ import annotations

import os

import numpy as np
import pytest
from hypothesis import settings

from krang_dynamics_ros import Dynamics, Robot, dynamics_of, krang

settings.register_profile('here', deadline=None, derandomize=True, print_blob=True)
settings.load_profile('here')


@pytest.fixture(scope='session', autouse=True)
def cache(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Keep compiled robots out of the user's cache: one cache for all workers of a run, the nodes' included."""
    os.environ['XDG_CACHE_HOME'] = str(tmp_path_factory.getbasetemp().parent / 'cache')


@pytest.fixture(scope='session')
def robot() -> Robot:
    return krang()


@pytest.fixture
def dynamics(robot: Robot) -> Dynamics:
    return dynamics_of(robot)


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(2015)
