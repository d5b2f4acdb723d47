"""A recording through `process`, beside the same loop in Python over Pinocchio. Both in one run; the ratio counts."""

from __future__ import annotations

import resource
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from rosbags.rosbag2 import Reader

from krang_dynamics_ros import Dynamics, Wrench, dynamics_of, krang
from krang_dynamics_ros.core.wrench import WrenchFrame
from krang_dynamics_ros.dynamics.terms import MODEL_TERMS
from krang_dynamics_ros.processing.job import Job, engine_and_backend
from krang_dynamics_ros.processing.process import process
from krang_dynamics_ros.recordings.derivatives import smoothing_spline

from .bag import JOINT_STATE, TYPES, write

STATES = 60_000  # a minute at 1 kHz


def loop(path: Path, out: Path, dynamics: Dynamics, schema: pa.Schema) -> None:
    """Do in Python, state by state, what `process` does: the same bag, the same terms, the same table."""
    stamps: list[int] = []
    states: list[tuple[np.ndarray, ...]] = []
    with Reader(path) as reader:
        for _, _, raw in reader.messages():
            message: Any = TYPES.deserialize_cdr(raw, JOINT_STATE)
            stamps.append(message.header.stamp.sec * 10**9 + message.header.stamp.nanosec)
            states.append((message.position, message.velocity, message.effort))
    instant = (np.array(stamps) - stamps[0]) * 1e-9
    spline = smoothing_spline(instant, np.array([q for q, _, _ in states]), Job.cutoff)  # all at once
    rows: list[np.ndarray] = []
    for (q, dq, effort), x, v, a in zip(states, *(spline(instant, order) for order in range(3)), strict=True):
        terms = dynamics.Q(q), dynamics.coriolis_torque(q, dq), dynamics.friction_torque(dq), np.zeros_like(q)
        inertia = dynamics.A(x) @ a
        model = inertia + dynamics.Q(x) + dynamics.coriolis_torque(x, v) + dynamics.friction_torque(v)
        rows.append(np.concatenate([q, dq, effort, *terms, x, v, a, inertia, model, effort - model]))
    columns = [pa.array(column) for column in np.array(rows).T]
    table = pa.Table.from_arrays([pa.array(stamps), pa.array(instant), *columns], schema=schema)
    pq.write_table(table, out, use_dictionary=False)


def seconds(work: Callable[[], object]) -> float:
    """Return the processor time that work takes."""
    start = time.process_time()
    work()
    return time.process_time() - start


def arrays(fast: Dynamics, plain: Dynamics) -> tuple[float, float]:
    """Return the seconds that all terms take over arrays, by C and by a loop over Pinocchio."""
    rng = np.random.default_rng(0)
    q, dq, f = rng.normal(size=(STATES, plain.n)), rng.normal(size=(STATES, plain.n)), rng.normal(size=(2, STATES, 6))
    places = [WrenchFrame('R10l'), WrenchFrame('R10r')]

    def in_c() -> None:
        fast.batch('Q', q), fast.batch('coriolis_torque', q, dq), fast.friction.torque(dq)
        fast.wrench_torques(q, dict(zip(places, f, strict=True)))

    def in_python() -> None:
        for x, v, left, right in zip(q, dq, *f, strict=True):
            plain.Q(x), plain.coriolis_torque(x, v), plain.friction_torque(v)
            plain.wrench_torque(x, [Wrench.of('R10l', left), Wrench.of('R10r', right)])

    return min(seconds(in_c) for _ in range(3)), min(seconds(in_python) for _ in range(3))


def main() -> None:
    """Print the ratios."""
    engine, backend = engine_and_backend({})
    plain = dynamics_of(krang())
    fast, slow = arrays(engine.dynamics, plain)
    print(f'\nRecordings; {STATES} states of Krang, terms {", ".join(MODEL_TERMS)}, by {backend}\n')
    print(f'over arrays: {fast / STATES * 1e6:.2f} us a state, loop over Pinocchio {slow / STATES * 1e6:.2f}: '
          f'{slow / fast:.1f} times as fast (goal: 8)')  # fmt: skip
    with tempfile.TemporaryDirectory() as folder:
        bag = Path(folder) / 'bag'
        write(bag, STATES)
        mine = seconds(lambda: process(Job(bag, Path(folder) / 'out')))
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        schema = pq.read_schema(Path(folder) / 'out' / 'torques.parquet')
        theirs = seconds(lambda: loop(bag, Path(folder) / 'loop.parquet', plain, schema))
        print(f'mcap to Parquet: {mine / STATES * 1e6:.0f} us a state, loop {theirs / STATES * 1e6:.0f}: '
              f'{theirs / mine:.1f} times as fast (goal: 3)')  # fmt: skip
        print(f'{memory:.0f} MB at most, without the loop')


if __name__ == '__main__':
    main()
