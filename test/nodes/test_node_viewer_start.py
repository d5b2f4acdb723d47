"""The viewer node without a browser: a port that is taken, and which way is up."""

from __future__ import annotations

import socket

import pytest

pytest.importorskip('rclpy', reason='rclpy is not installed: the nodes cannot run')
pytest.importorskip('viser', reason='viser is not installed: there is no page')

from krang_dynamics_ros.nodes.viewer_node import _up

from ..ros import Process, domain


@pytest.mark.parametrize(
    ('gravity', 'up'),
    [((0.0, 0.0, -9.81), (0, 0, 1)), ((0.0, 4.0, 0.0), (0, -1, 0)), ((0.0,) * 3, (0, 0, 1)), ((), (0, 0, 1))],
)
def test_up_is_against_gravity(gravity: tuple[float, ...], up: tuple[int, ...]) -> None:
    assert _up(gravity) == up


def test_a_port_that_is_taken_is_named() -> None:
    with domain() as number, socket.create_server(('127.0.0.1', 0)) as taken:
        port = taken.getsockname()[1]
        process = Process(number, '--ros-args', '-p', f'port:={port}', module='viewer_node')
        assert process.wait() == 1
    assert f'port {port}: Address already in use' in process.output
    assert 'Traceback' not in process.output


@pytest.mark.parametrize(('file', 'warned'), [('missing.urdf', True), ('arm_2r', False)])
def test_a_robot_file_that_does_not_exist_is_named(file: str, warned: bool) -> None:
    with domain() as number, socket.create_server(('127.0.0.1', 0)) as taken:
        words = [word for text in (f'port:={taken.getsockname()[1]}', f'robot_file:={file}') for word in ('-p', text)]
        process = Process(number, '--ros-args', *words, module='viewer_node')
        assert process.wait() == 1
    assert (f'robot_file: {file}, no such file' in process.output) == warned
