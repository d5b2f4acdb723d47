"""Writers of results: tables (Parquet or CSV), and a bag with a topic for each term and for the model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from struct import pack
from typing import Any

import numpy as np

from ..core.optional import optional
from ..core.spatial import Array
from ..live.messages import SECOND, STAMP
from .columns import Column
from .replay import States

pa = optional('pyarrow', 'tables')
csv = optional('pyarrow.csv', 'tables')
parquet = optional('pyarrow.parquet', 'tables')
GROUP = 8192  # rows written together: a compromise of time and memory


class Table:
    """A file with a row for each state: `stamp` (ns), `time` (s since the first), then `<joint>.<column>`."""

    def __init__(
        self,
        path: Path,
        joint_names: Sequence[str],
        prismatic: Sequence[bool],
        columns: Sequence[Column],
        first: int | None = None,
    ) -> None:
        """`prismatic` is true for prismatic joints; the suffix of `path` gives the format.

        `first` is the stamp (ns) of time zero; None: that of the first state written.
        """
        self._joint_names, self._columns = joint_names, columns
        fields = [pa.field('stamp', pa.int64(), metadata={'unit': 'ns'})]
        fields.append(pa.field('time', pa.float64(), metadata={'unit': 's', 'meaning': 'since the first state'}))
        for column in columns:
            for name, is_prismatic in zip(joint_names, prismatic, strict=True):
                unit = column.prismatic if is_prismatic else column.revolute
                about = {'unit': unit, 'meaning': column.meaning}
                fields.append(pa.field(f'{name}.{column.name}', pa.float64(), metadata=about))
        self._schema = pa.schema(fields)
        # Measured numbers rarely repeat: a dictionary would take longer than all other work.
        plain = {} if path.suffix == '.csv' else {'use_dictionary': False}
        self._writer: Any = (parquet.ParquetWriter if plain else csv.CSVWriter)(path, self._schema, **plain)
        self._first = first
        self._waiting: list[Any] = []

    def write(self, core: States, found: Mapping[str, Array]) -> None:
        """Add states with their columns (m, n)."""
        stamp = core.stamp
        if self._first is None and len(stamp):
            self._first = int(stamp[0])
        arrays = [pa.array(stamp), pa.array((stamp - (self._first or 0)) * 1e-9)]
        for column in self._columns:
            values = found[column.name]
            arrays += [pa.array(np.ascontiguousarray(values[:, k])) for k in range(len(self._joint_names))]
        self._waiting.append(pa.record_batch(arrays, schema=self._schema))
        if sum(batch.num_rows for batch in self._waiting) >= GROUP:
            self._flush()

    def _flush(self) -> None:
        waiting, self._waiting = self._waiting, []
        self._writer.write_table(pa.Table.from_batches(waiting, schema=self._schema))

    def close(self) -> None:
        """Close the file."""
        if self._waiting:
            self._flush()
        self._writer.close()


rosbag2 = optional('rosbags.rosbag2', 'recordings')
typesys = optional('rosbags.typesys', 'recordings')
VERSION = 9  # of the bag's metadata, which Jazzy writes


class TorqueBag:
    """Torques as sensor_msgs/JointState, on `torque/<term>` and `torque/model` in the namespace of the joint states."""

    def __init__(
        self, path: Path, namespace: str, frame_id: str, joint_names: Sequence[str], terms: Sequence[str]
    ) -> None:
        self._types = typesys.get_typestore(typesys.Stores.ROS2_JAZZY)
        self._namespace, self._frame_id, self._names = namespace, frame_id, list(joint_names)
        self._terms = terms
        self._writer = rosbag2.Writer(path, version=VERSION, storage_plugin=rosbag2.StoragePlugin.MCAP)
        self._writer.open()
        self._connections: dict[str, Any] = {}
        self._like: bytes = b''  # a message whose stamp and numbers are replaced

    def write(self, core: States, found: Mapping[str, Array]) -> None:
        """Add the torques (m, n) of states by term, at their arrivals; rows with NaN are omitted."""
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
        """Return the bytes of a message: messages differ only in the stamp, and in the numbers at the end."""
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
        """Close the bag."""
        self._writer.close()
