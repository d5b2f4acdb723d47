"""Columns by joint, written as they come: Parquet, which pandas reads, or CSV."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ..core.optional import optional
from ..core.spatial import Array
from .columns import Column
from .states import States

pa = optional('pyarrow', 'tables')
csv = optional('pyarrow.csv', 'tables')
parquet = optional('pyarrow.parquet', 'tables')
GROUP = 8192  # rows written together: fewer cost time, more cost memory


class Table:
    """A file of one row for each state: `stamp` (ns), `time` (s since the first), then `<joint>.<column>`."""

    def __init__(
        self,
        path: Path,
        joint_names: Sequence[str],
        sliding: Sequence[bool],
        columns: Sequence[Column],
        first: int | None = None,
    ) -> None:
        """`sliding` tells of each joint whether it slides; the ending of `path` says the kind of file.

        `first` is the stamp from which time counts; None: that of the first state that is written.
        """
        self._joint_names, self._columns = joint_names, columns
        fields = [pa.field('stamp', pa.int64(), metadata={'unit': 'ns'})]
        fields.append(pa.field('time', pa.float64(), metadata={'unit': 's', 'meaning': 'since the first state'}))
        for column in columns:
            for name, slides in zip(joint_names, sliding, strict=True):
                unit = column.sliding if slides else column.turning
                about = {'unit': unit, 'meaning': column.meaning}
                fields.append(pa.field(f'{name}.{column.name}', pa.float64(), metadata=about))
        self._schema = pa.schema(fields)
        # Measured numbers hardly ever come twice: looking for those that do takes longer than all the rest.
        plain = {} if path.suffix == '.csv' else {'use_dictionary': False}
        self._writer: Any = (parquet.ParquetWriter if plain else csv.CSVWriter)(path, self._schema, **plain)
        self._first = first
        self._waiting: list[Any] = []

    def write(self, core: States, found: Mapping[str, Array]) -> None:
        """Add states, and what was found of them (m, n) by column."""
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
        """End the file."""
        if self._waiting:
            self._flush()
        self._writer.close()
