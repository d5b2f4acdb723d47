from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

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
    os.environ['XDG_STATE_HOME'] = str(tmp_path_factory.getbasetemp().parent / 'state')


@pytest.fixture(scope='session')
def robot() -> Robot:
    return krang()


@pytest.fixture
def dynamics(robot: Robot) -> Dynamics:
    return dynamics_of(robot)


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(2015)


@pytest.fixture(scope='module')
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """Start the nodes of `make run` and a browser, once for a module of tests."""
    from .browser import browser  # noqa: PLC0415 (what these need is not everywhere, and few tests need it)
    from .ros import domain  # noqa: PLC0415
    from .world import World  # noqa: PLC0415

    with domain() as number, browser(str(tmp_path_factory.mktemp('profile'))) as page:
        started = World(number, page)
        yield started
        started.close()


@pytest.fixture
def at_start(world: Any) -> None:
    """Begin with gravity alone, at rest, where it started."""
    world.begin()
