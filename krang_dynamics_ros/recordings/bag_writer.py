"""Writing of bags (mcap), message by message, without ROS."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ..core.errors import ArgumentError
from ..core.optional import optional
from .recording import RecordingError

rosbag2 = optional('rosbags.rosbag2', 'recordings')
typesys = optional('rosbags.typesys', 'recordings')
interfaces = optional('rosbags.interfaces', 'recordings')
VERSION = 9  # of the bag's metadata, which Jazzy writes
SECONDS = 2147483647  # rmw's infinity


def check_new_folder(folder: Path) -> None:
    """Refuse the path of a bag that exists, or whose parent does not exist."""
    if folder.exists() or folder.is_symlink():
        raise ArgumentError(f'{folder}: exists, must be a new folder; name another one, or remove it')
    if not folder.absolute().parent.is_dir():
        raise ArgumentError(f'{folder.parent}: no such folder, must exist; make it with mkdir -p')


class BagWriter:
    """A new bag. Use it in a `with`: its end writes the index, without which the bag cannot be read."""

    def __init__(self, folder: Path) -> None:
        """Create the folder; `ArgumentError` if the path exists."""
        check_new_folder(folder)
        self.folder, self._connections = folder, {}  # type: Path, dict[str, Any]
        self._types = typesys.get_typestore(typesys.Stores.ROS2_JAZZY)
        self._writer = rosbag2.Writer(folder, version=VERSION, storage_plugin=rosbag2.StoragePlugin.MCAP)
        self._writer.open()

    def __enter__(self) -> BagWriter:
        return self

    def __exit__(self, *_: object) -> None:
        self._writer.close()

    def write(self, topic: str, kind: str, arrival: int, raw: bytes, latched: bool = False) -> None:
        """Add a serialized message (CDR) of a type such as sensor_msgs/msg/JointState; `arrival` is in ns."""
        if topic not in self._connections:
            if kind not in self._types.types:
                raise RecordingError(f'{topic}: is {kind}, which cannot be recorded; use `ros2 bag record`')
            profiles = [_latched()] if latched else []
            self._connections[topic] = self._writer.add_connection(
                topic, kind, typestore=self._types, offered_qos_profiles=profiles
            )
        self._writer.write(self._connections[topic], arrival, raw)


def _latched() -> Any:
    """Return the quality of service of a latched topic (transient local)."""
    forever = interfaces.QosTime(SECONDS, 0)
    return interfaces.Qos(
        history=interfaces.QosHistory.KEEP_LAST, depth=1, reliability=interfaces.QosReliability.RELIABLE,
        durability=interfaces.QosDurability.TRANSIENT_LOCAL, deadline=forever, lifespan=forever,
        liveliness=interfaces.QosLiveliness.AUTOMATIC, liveliness_lease_duration=forever,
        avoid_ros_namespace_conventions=False,
    )  # fmt: skip
