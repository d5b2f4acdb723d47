"""A bag with the node's topics, to be played or looked at beside the recording that they were computed from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from struct import pack
from typing import Any

import numpy as np

from ..core.optional import optional
from ..core.spatial import Array
from ..messages.fields import SECOND, STAMP
from .states import States

rosbag2 = optional('rosbags.rosbag2', 'recordings')
typesys = optional('rosbags.typesys', 'recordings')
VERSION = 9  # of the bag's metadata, which Jazzy writes


class TorqueBag:
    """Torques by term as sensor_msgs/JointState, on `torque/<term>` in the namespace of the joint states."""

    def __init__(
        self, path: Path, namespace: str, frame_id: str, joint_names: Sequence[str], terms: Sequence[str]
    ) -> None:
        self._types = typesys.get_typestore(typesys.Stores.ROS2_JAZZY)
        self._namespace, self._frame_id, self._names = namespace, frame_id, list(joint_names)
        self._terms = terms
        self._writer = rosbag2.Writer(path, version=VERSION, storage_plugin=rosbag2.StoragePlugin.MCAP)
        self._writer.open()
        self._connections: dict[str, Any] = {}
        self._like: bytes = b''  # a message, to be filled anew

    def write(self, core: States, found: Mapping[str, Array]) -> None:
        """Add the torques (m, n) of states, by term, when these arrived; what is NaN is not written."""
        known = {term: np.asarray(np.isfinite(found[term]).all(axis=1)) for term in self._terms}
        for k, (when, stamp) in enumerate(zip(core.arrival.tolist(), core.stamp.tolist(), strict=True)):
            for term in self._terms:
                if known[term][k]:
                    self._writer.write(self._connection(term), when, self._message(stamp, found[term][k]))

    def _connection(self, term: str) -> Any:
        if term not in self._connections:
            self._connections[term] = self._writer.add_connection(
                f'{self._namespace}/torque/{term}', 'sensor_msgs/msg/JointState', typestore=self._types
            )
        return self._connections[term]

    def _message(self, stamp: int, torque: Array) -> bytes:
        """Return a message's bytes: of two messages only the stamp and the numbers at the end differ."""
        if not self._like:
            self._like = self._first(torque)
        head, names = self._like[:STAMP], self._like[STAMP + 8 : -8 * len(torque)]
        return b''.join((head, pack('<iI', *divmod(stamp, SECOND)), names, torque.tobytes()))

    def _first(self, torque: Array) -> bytes:
        kinds, none = self._types.types, np.empty(0)
        header = kinds['std_msgs/msg/Header'](kinds['builtin_interfaces/msg/Time'](0, 0), self._frame_id)
        message = kinds['sensor_msgs/msg/JointState'](header, self._names, none, none, torque)
        return bytes(self._types.serialize_cdr(message, 'sensor_msgs/msg/JointState'))

    def close(self) -> None:
        """End the bag."""
        self._writer.close()
