"""Tables of joint states, CSV or Parquet, read in blocks with the interface of a bag.

The head names the columns: `time` (s) or `stamp` (ns), and for each joint `<joint>.position`, `.velocity`, `.effort`.
Other columns are ignored, so the output of `process` can be read again. A row is a joint state of all joints that
arrives at its stamp; an empty cell or NaN is unknown.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core.errors import listed
from ..core.optional import optional
from ..core.spatial import Array
from ..live.messages import QUANTITIES, JointStateRun
from ..live.robot_inputs import InputTopics
from .bag import Contents, Topics
from .readers import TABLES
from .recording import RecordingError, reading

Stamps = NDArray[np.int64]

arrow = optional('pyarrow', 'reading tables')
arrow_csv = optional('pyarrow.csv', 'reading tables')
parquet = optional('pyarrow.parquet', 'reading tables')
LATEST = (2**31 - 1) * 10**9  # ns: the last whole second of a stamp in ROS
ROWS = 4096  # in a block
CHUNK = 1 << 24  # bytes


class TableFile:
    """An open table with the interface of `Bag`. Use it in a `with`."""

    notes: Sequence[str] = ()  # as in `Bag`; a table has none

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)

    def __enter__(self) -> TableFile:
        with reading(self.path):
            head = self._head()
        self._raw = {name.strip(): name for name in head}  # names in the file
        names = [*self._raw]
        if twice := [name for name, count in Counter(name.strip() for name in head).items() if count > 1]:
            raise RecordingError(f'{self.path}: its head has {listed(twice)} more than once, must have each once')
        self._clock = next((name for name in ('stamp', 'time') if name in names), '')
        self.joints = tuple(name.removesuffix('.position') for name in names if name.endswith('.position'))
        if not self._clock or not self.joints:
            missing = '`<joint>.position`' if self._clock else '`time` (s) or `stamp` (ns)'
            raise RecordingError(f'{self.path}: its head has no column {missing}, but {", ".join(names[:6])}')
        self.contents = self._contents()
        return self

    def __exit__(self, *_: object) -> None:
        """Nothing stays open."""

    def topics(
        self, hands: Sequence[str], joint_states: str = '', imu: bool = False, names: InputTopics | None = None
    ) -> Topics:
        """Return the file's name as the topic of joint states."""
        return Topics(self.path.name)

    @property
    def begin(self) -> int:
        """The first time, ns."""
        return self.contents.start

    def _contents(self) -> Contents:
        """Return number of rows, start and end, from the times."""
        times = [(len(stamp), int(stamp.min()), int(stamp.max())) for stamp, _ in self._batches([])]
        if not times:
            raise RecordingError(f'{self.path}: has no rows')
        rows, first, last = zip(*times, strict=True)
        return Contents({self.path.name: ('table', sum(rows))}, min(first), max(last) + 1)

    def runs(self, topics: Topics, start: int, end: int) -> Iterator[JointStateRun]:
        """Yield the rows from `start` to before `end` (ns)."""
        there = {quantity: [f'{joint}.{quantity}' for joint in self.joints] for quantity in QUANTITIES}
        wanted = [name for names in there.values() for name in names if name in self._raw]
        for stamp, batch in self._batches(wanted):
            inside = (stamp >= start) & (stamp < end)
            position, velocity, effort = (self._numbers(batch, names)[inside] for names in there.values())
            yield JointStateRun(self.joints, position, velocity, effort, stamp[inside], stamp[inside])

    def _batches(self, names: Sequence[str]) -> Iterator[tuple[Stamps, dict[str, Array]]]:
        """Yield blocks of stamps (rows) and columns by name."""
        read, row = self._read([self._clock, *names]), 0
        while (batch := self._next(read)) is not None:
            found = {name: batch.column(k).to_numpy(zero_copy_only=False) for k, name in enumerate(batch.schema.names)}
            columns = {name: found[self._raw[name]] for name in (self._clock, *names)}
            if batch.num_rows:
                yield self._stamps(columns.pop(self._clock), row), columns
            row += batch.num_rows

    def _stamps(self, times: Array, row: int) -> Stamps:
        scale = 1.0 if self._clock == 'stamp' else 1e9
        if times.dtype.kind not in 'iuf':
            kind = f'{self._clock} in row {row + 1} is {times[0]!r}'
            raise RecordingError(f'{self.path}: {kind}, must be a number: `time` in s, or `stamp` in whole ns')
        good = (np.abs(times) <= LATEST / scale) & ((times >= 0) | (scale != 1.0))
        if not good.all():
            k = int(np.argmin(good))
            raise RecordingError(f'{self.path}: {self._clock} in row {row + k + 1} is {times[k]}, must be a time')
        if times.dtype.kind in 'iu' and scale == 1.0:
            return times.astype(np.int64, copy=False)
        return np.asarray(np.rint(times * scale)).astype(np.int64)

    def _numbers(self, columns: dict[str, Array], names: Sequence[str]) -> Array:
        """Return columns (rows, joints), NaN for missing columns; (rows, 0) if all are missing."""
        rows = len(next(iter(columns.values())))
        if not any(name in columns for name in names):
            return np.zeros((rows, 0))
        unknown = np.full(rows, np.nan)
        return np.stack([self._floats(name, columns.get(name, unknown)) for name in names], axis=1)

    def _floats(self, name: str, values: Array) -> Array:
        try:
            return np.asarray(values, dtype=float)
        except (TypeError, ValueError) as error:
            raise RecordingError(f'{self.path}: {name}: {error}, must be numbers') from None

    def _head(self) -> list[str]:
        if self.path.suffix == '.parquet':
            return list(parquet.read_schema(self.path).names)
        with arrow_csv.open_csv(self.path, arrow_csv.ReadOptions(block_size=CHUNK)) as opened:
            return list(opened.schema.names)

    def _read(self, names: Sequence[str]) -> Iterator[Any]:
        raw = [self._raw[name] for name in names]
        if self.path.suffix == '.parquet':
            with parquet.ParquetFile(self.path) as file:
                yield from file.iter_batches(ROWS, columns=raw)
            return
        kinds = {self._raw[name]: arrow.int64() if name == 'stamp' else arrow.float64() for name in names}
        only = arrow_csv.ConvertOptions(include_columns=raw, column_types=kinds)
        with arrow_csv.open_csv(self.path, arrow_csv.ReadOptions(block_size=CHUNK), convert_options=only) as opened:
            yield from opened

    def _next(self, read: Iterator[Any]) -> Any:
        with reading(self.path):
            return next(read, None)


def is_table(path: Path) -> bool:
    """Return whether a path looks like a table."""
    return path.is_file() and path.suffix in TABLES
