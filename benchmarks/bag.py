"""A bag of smooth motion at 1 kHz, written quickly: of two messages only the stamp and the numbers differ."""

from __future__ import annotations

from pathlib import Path
from struct import pack

import numpy as np
from rosbags.rosbag2 import StoragePlugin, Writer
from rosbags.typesys import Stores, get_typestore

from krang_dynamics_ros import krang

TYPES = get_typestore(Stores.ROS2_JAZZY)
JOINT_STATE = 'sensor_msgs/msg/JointState'
STAMP = slice(4, 12)


def write(path: Path, states: int) -> None:
    """Write a bag of so many states of Krang."""
    names = list(krang().joint_names)
    speed = np.random.default_rng(0).uniform(0.5, 3, len(names))
    message, places = _like(names)
    with Writer(path, version=9, storage_plugin=StoragePlugin.MCAP) as writer:
        connection = writer.add_connection('/joint_states', JOINT_STATE, typestore=TYPES)
        for k in range(states):
            stamp, angle = 10**18 + k * 10**6, speed * (k * 1e-3)
            q, dq = 0.5 * np.sin(angle), 0.5 * speed * np.cos(angle)
            message[STAMP] = pack('<iI', *divmod(stamp, 10**9))
            for place, numbers in zip(places, (q, dq, q), strict=True):
                message[place] = numbers.tobytes()
            writer.write(connection, stamp, bytes(message))


def _like(names: list[str]) -> tuple[bytearray, list[slice]]:
    """Return a message, and where its positions, velocities and efforts stand."""
    kinds, ones = TYPES.types, np.ones(len(names))
    header = kinds['std_msgs/msg/Header'](kinds['builtin_interfaces/msg/Time'](0, 0), '')
    message = bytearray(TYPES.serialize_cdr(kinds[JOINT_STATE](header, names, ones, ones, ones), JOINT_STATE))
    first = message.find(ones.tobytes())
    step = message.find(ones.tobytes(), first + ones.nbytes) - first
    return message, [slice(first + k * step, first + k * step + ones.nbytes) for k in range(3)]
