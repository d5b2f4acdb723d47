"""Recordings handed out over a real Ray cluster of two workers on this machine."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from krang_dynamics_ros.processing.job import Job
from krang_dynamics_ros.processing.process import on_a_cluster

from ..bags import write_bag
from .test_process import ARM, PINOCCHIO, arm_states

pytest.importorskip('ray', reason='Ray, for --ray, is not installed')

from ray.cluster_utils import Cluster

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings('ignore')]


@pytest.fixture
def address() -> Iterator[str]:
    cluster = Cluster(initialize_head=True, head_node_args={'num_cpus': 1})
    cluster.add_node(num_cpus=1)
    yield cluster.address
    cluster.shutdown()


def test_every_recording_gets_its_result_whatever_the_others_are(address: str, tmp_path: Path) -> None:
    bags = [write_bag(tmp_path / f'bag_{k}', arm_states(50 + k)) for k in range(3)]
    broken = tmp_path / 'broken.mcap'
    broken.write_bytes(b'\0' * 50)
    jobs = [Job(bag, tmp_path / f'out_{bag.stem}', PINOCCHIO | {'robot_file': ARM}) for bag in (*bags, broken)]
    results = {result.job.recording: result for result in on_a_cluster(jobs, address)}
    assert {bag: results[bag].summary.states for bag in bags} == {bag: 50 + k for k, bag in enumerate(bags)}
    assert results[broken].summary is None
    assert str(broken) in results[broken].fault
    assert all((job.out / 'torques.parquet').exists() for job in jobs[:3])
