from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import settings

from krang_dynamics_ros import Dynamics, Robot, dynamics_of, krang

settings.register_profile('here', deadline=None, derandomize=True, print_blob=True)
settings.load_profile('here')


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """For several workers, mix modules of nodes, which wait, with those that compute: largest first, nodes not last.

    `--dist loadfile` gives the modules to its workers in this order, with `--no-loadscope-reorder`.
    """
    if not hasattr(config, 'workerinput'):
        return
    files = dict.fromkeys(item.path for item in items)
    nodes = {path for path in files if path.parent.name == 'nodes' or path.name == 'test_make_run.py'}
    browsers = {item.path for item in items if 'world' in getattr(item, 'fixturenames', ())}
    place: dict[Path, float] = {}
    for group, share in ((nodes, 0.8), (files.keys() - nodes, 1.0)):
        first = sorted(group, key=lambda path: (path not in browsers, -path.stat().st_size, path))
        place |= {path: share * k / len(first) for k, path in enumerate(first)}
    items.sort(key=lambda item: (place[item.path], item.path))


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
