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
from rosbags.rosbag2 import Reader, StoragePlugin, Writer
from rosbags.typesys import Stores, get_typestore

from krang_dynamics_ros import Dynamics, Wrench, dynamics_of, krang
from krang_dynamics_ros.processing.columns import OF_GAMMA
from krang_dynamics_ros.processing.process import Job, process, session

STATES = 30_000
TYPES = get_typestore(Stores.ROS2_JAZZY)
JOINT_STATE = 'sensor_msgs/msg/JointState'


def write(path: Path, states: int) -> None:
    """Write a bag of smooth motion at 1 kHz."""
    kinds, rng, names = TYPES.types, np.random.default_rng(0), list(krang().joint_names)
    speed = rng.uniform(0.5, 3, len(names))
    with Writer(path, version=9, storage_plugin=StoragePlugin.MCAP) as writer:
        connection = writer.add_connection('/joint_states', JOINT_STATE, typestore=TYPES)
        for k in range(states):
            stamp = 10**18 + k * 10**6
            header = kinds['std_msgs/msg/Header'](kinds['builtin_interfaces/msg/Time'](*divmod(stamp, 10**9)), '')
            q, dq = 0.5 * np.sin(speed * k * 1e-3), 0.5 * speed * np.cos(speed * k * 1e-3)
            message = kinds[JOINT_STATE](header, names, q, dq, q)
            writer.write(connection, stamp, TYPES.serialize_cdr(message, JOINT_STATE))


def loop(path: Path, out: Path, dynamics: Dynamics) -> None:
    """Do in Python, state by state, what `process` does."""
    rows: list[np.ndarray] = []
    stamps: list[int] = []
    dq_before = None
    with Reader(path) as reader:
        for _, _, raw in reader.messages():
            message: Any = TYPES.deserialize_cdr(raw, JOINT_STATE)
            q, dq = message.position, message.velocity
            stamps.append(message.header.stamp.sec * 10**9 + message.header.stamp.nanosec)
            ddq = np.zeros_like(dq) if dq_before is None else (dq - dq_before) * 1e3
            terms = [dynamics.Q(q), dynamics.coriolis_torque(q, dq), dynamics.friction_torque(dq), np.zeros_like(q)]
            model = dynamics.inverse_dynamics(q, dq, ddq) + terms[2] + terms[3]
            rows.append(np.concatenate([q, dq, message.effort, *terms, ddq, model, message.effort - model]))
            dq_before = dq
    table = np.array(rows)
    columns = {f'c{k}': table[:, k] for k in range(table.shape[1])}
    pq.write_table(pa.table({'stamp': stamps, **columns}), out)


def seconds(work: Callable[[], object]) -> float:
    """Return the processor time that work takes."""
    start = time.process_time()
    work()
    return time.process_time() - start


def arrays(fast: Dynamics, plain: Dynamics) -> tuple[float, float]:
    """Return the seconds that all terms take over arrays, by C and by a loop over Pinocchio."""
    rng = np.random.default_rng(0)
    q, dq = rng.normal(size=(2, STATES, plain.n))
    given = [[Wrench('R10l', (1.0, 2.0, 3.0)), Wrench('R10r', (3.0, 2.0, 1.0))]] * STATES

    def in_c() -> None:
        fast.over('Q', q), fast.over('coriolis_torque', q, dq), fast.friction.torque(dq), fast.wrench_torques(q, given)

    def in_python() -> None:
        for x, v, f in zip(q, dq, given, strict=True):
            plain.Q(x), plain.coriolis_torque(x, v), plain.friction_torque(v), plain.wrench_torque(x, f)

    return seconds(in_c), seconds(in_python)


def main() -> None:
    """Print the ratios."""
    pipeline, backend = session({})
    plain = dynamics_of(krang())
    fast, slow = arrays(pipeline.dynamics, plain)
    print(f'\nRecordings; {STATES} states of Krang, terms {", ".join(OF_GAMMA)}, by {backend}\n')
    print(f'over arrays: {fast / STATES * 1e6:.2f} us a state, loop over Pinocchio {slow / STATES * 1e6:.2f}: '
          f'{slow / fast:.1f} times as fast (goal: 8)')  # fmt: skip
    with tempfile.TemporaryDirectory() as folder:
        bag = Path(folder) / 'bag'
        write(bag, STATES)
        mine = seconds(lambda: process(Job(bag, Path(folder) / 'out')))
        theirs = seconds(lambda: loop(bag, Path(folder) / 'loop.parquet', plain))
        print(f'mcap to Parquet: {mine / STATES * 1e6:.0f} us a state, loop {theirs / STATES * 1e6:.0f}: '
              f'{theirs / mine:.1f} times as fast (goal: 3)')  # fmt: skip
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(f'{memory:.0f} MB at most, the loop included')


if __name__ == '__main__':
    main()
