"""Tables of joint states, CSV or Parquet, read in batches.

The head names the columns: `time` (s) or `stamp` (ns), and for each joint `<joint>.position`, `.velocity`, `.effort`.
Other columns are ignored, so the output of `process` can be read again. A row is a joint state of all joints that
arrives at its stamp; an empty cell or NaN is unknown.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, TextIO

import numpy as np
from numpy.typing import NDArray

from ..core.errors import listed
from ..core.optional import optional
from ..core.spatial import Array
from ..live.messages import QUANTITIES, JointStateRun
from .recording import Recording, RecordingError, reading
from .source import EARLIEST, LATEST, Contents, Source, Topics

Stamps = NDArray[np.int64]

arrow = optional('pyarrow', 'reading tables')
arrow_csv = optional('pyarrow.csv', 'reading tables')
parquet = optional('pyarrow.parquet', 'reading tables')
LATEST_STAMP = (2**31 - 1) * 10**9  # ns: the last whole second of a stamp in ROS
ROWS = 4096  # in a batch
CHUNK = 1 << 24  # bytes
SUFFIXES = ('.csv', '.parquet')
MAX_EXACT = 1e6  # s: below it, the resolution of a floating-point number is finer than 1 ns


class TableFile(Source):
    """An open table."""

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
        self.origin = 0 if self._clock == 'time' else None
        return self

    @cached_property
    def contents(self) -> Contents:
        """Number of rows, start and end, from the times."""
        times = [(len(stamp), int(stamp.min()), int(stamp.max())) for stamp, _ in self._batches([])]
        if not times:
            raise RecordingError(f'{self.path}: has no rows')
        rows, first, last = zip(*times, strict=True)
        return Contents({self.path.name: ('table', sum(rows))}, min(first), max(last) + 1)

    def runs(self, topics: Topics, start: int = EARLIEST, end: int = LATEST) -> Iterator[JointStateRun]:
        """Yield the rows from `start` to before `end` (ns)."""
        there = {quantity: [f'{joint}.{quantity}' for joint in self.joints] for quantity in QUANTITIES}
        wanted = [name for names in there.values() for name in names if name in self._raw]
        for stamp, batch in self._batches(wanted):
            position, velocity, effort = (self._numbers(batch, names) for names in there.values())
            yield from runs_within(JointStateRun(self.joints, position, velocity, effort, stamp, stamp), start, end)

    def _batches(self, names: Sequence[str]) -> Iterator[tuple[Stamps, dict[str, Array]]]:
        """Yield batches: stamps (rows), and columns by name."""
        read, row = self._read([self._clock, *names]), 0
        while (batch := self._next(read)) is not None:
            found = {name: batch.column(k).to_numpy(zero_copy_only=False) for k, name in enumerate(batch.schema.names)}
            columns = {name: found[self._raw[name]] for name in (self._clock, *names)}
            if batch.num_rows:
                yield stamps_of(self.path, self._clock, columns.pop(self._clock), row), columns
            row += batch.num_rows

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


def stamps_of(path: Path, clock: str, times: Array, row: int = 0) -> Stamps:
    """Return stamps (rows), ns, of a column `time` (s) or `stamp` (ns); refuse what is no time.

    `row` is the index in the file of its first number, for messages.
    """
    scale = 1.0 if clock == 'stamp' else 1e9
    if times.dtype.kind not in 'iuf':
        kind = f'{clock} in row {row} (from 0) is {times[0]!r}'
        raise RecordingError(f'{path}: {kind}, must be a number: `time` in s, or `stamp` in whole ns')
    good = (np.abs(times) <= LATEST_STAMP / scale) & ((times >= 0) | (scale != 1.0))
    if not good.all():
        k = int(np.argmin(good))
        raise RecordingError(f'{path}: {clock} in row {row + k} (from 0) is {times[k]}, must be a time')
    if times.dtype.kind in 'iu' and scale == 1.0:
        return times.astype(np.int64, copy=False)
    return np.asarray(np.rint(times * scale)).astype(np.int64)


def runs_within(run: JointStateRun, start: int, end: int) -> Iterator[JointStateRun]:
    """Yield the joint states of a run that arrived from `start` to before `end` (ns), in runs of `ROWS`."""
    inside = (run.arrival >= start) & (run.arrival < end)
    rows = run if inside.all() else run.rows(inside)
    for first in range(0, len(rows), ROWS):
        yield rows.rows(slice(first, first + ROWS))


def write_csv(recording: Recording, path: str | Path | TextIO) -> None:
    """Write a recording as a table, its times to 1 ns, or to 1 us where they are too large for that (since 1970)."""
    head, columns = ['time'], [recording.time[:, None]]
    for quantity in QUANTITIES:
        values = getattr(recording, quantity)
        if values is not None:
            head += [f'{joint}.{quantity}' for joint in recording.joint_names]
            columns.append(values)
    decimals = 9 if np.abs(recording.time).max() < MAX_EXACT else 6
    formats = [f'%.{decimals}f', *['%.9g'] * (len(head) - 1)]
    np.savetxt(path, np.concatenate(columns, axis=1), formats, ',', header=','.join(head), comments='')
