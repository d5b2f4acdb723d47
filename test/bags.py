"""Bags for tests, written without ROS."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
import pytest

rosbag2 = pytest.importorskip('rosbags.rosbag2', reason='rosbags, for recordings, is not installed')
typesys = pytest.importorskip('rosbags.typesys', reason='rosbags, for recordings, is not installed')
TYPES = typesys.get_typestore(typesys.Stores.ROS2_JAZZY)
BEGIN = 1_700_000_000_000_000_000  # ns


def header(stamp: int, frame: str = '') -> object:
    time = TYPES.types['builtin_interfaces/msg/Time'](stamp // 1_000_000_000, stamp % 1_000_000_000)
    return TYPES.types['std_msgs/msg/Header'](time, frame)


def joint_state(
    stamp: int,
    names: Sequence[str],
    position: Sequence[float],
    velocity: Sequence[float] = (),
    effort: Sequence[float] = (),
) -> object:
    columns = [np.array(x, dtype=float) for x in (position, velocity, effort)]
    return TYPES.types['sensor_msgs/msg/JointState'](header(stamp), list(names), *columns)


def wrench(stamp: int, frame: str, force: Sequence[float], moment: Sequence[float]) -> object:
    vectors = [TYPES.types['geometry_msgs/msg/Vector3'](*map(float, x)) for x in (force, moment)]
    both = TYPES.types['geometry_msgs/msg/Wrench'](*vectors)
    return TYPES.types['geometry_msgs/msg/WrenchStamped'](header(stamp, frame), both)


def write_bag(path: Path, messages: Iterable[tuple[str, int, object]], storage: str = 'MCAP') -> Path:
    """Write messages (topic, arrival in ns, message) into a bag."""
    with rosbag2.Writer(path, version=9, storage_plugin=rosbag2.StoragePlugin[storage]) as writer:
        connections = {}
        for topic, arrival, message in messages:
            kind = message.__msgtype__
            if topic not in connections:
                connections[topic] = writer.add_connection(topic, kind, typestore=TYPES)
            writer.write(connections[topic], arrival, TYPES.serialize_cdr(message, kind))
    return path


def inertia(stamp: int, frame: str, mass: float, com: Sequence[float], numbers: Sequence[float]) -> object:
    center = TYPES.types['geometry_msgs/msg/Vector3'](*map(float, com))
    body = TYPES.types['geometry_msgs/msg/Inertia'](float(mass), center, *map(float, numbers))
    return TYPES.types['geometry_msgs/msg/InertiaStamped'](header(stamp, frame), body)
