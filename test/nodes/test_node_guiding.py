"""Guiding over DDS: the switch that a person holds, from a joystick too, and a session with the simulator."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import pytest

pytest.importorskip('rclpy', reason='rclpy is not installed: the nodes cannot run')

from geometry_msgs.msg import WrenchStamped
from sensor_msgs.msg import JointState, Joy
from std_msgs.msg import Bool

from krang_dynamics_ros import Robot
from krang_dynamics_ros.live.fall import Fall
from krang_dynamics_ros.live.guiding import HOLD_TOPIC
from krang_dynamics_ros.nodes.dynamics.command_sender import Frame

from ..robots import ROOT
from ..ros import Client, Process, domain
from .test_node_commands import WORDS, Driven

LEFT = [f'q_{k}l' for k in range(1, 8)]
TERMS = 'total_terms:=[gravity, damping, stops]'


@pytest.fixture
def number() -> Iterator[int]:
    with domain() as taken:
        yield taken


@contextmanager
def held(client: Client) -> Iterator[threading.Event]:
    """Publish the switch 50 times a second, whatever the test waits for; the event says whether it is pressed."""
    publisher, pressed, over = client.publisher(Bool, HOLD_TOPIC), threading.Event(), threading.Event()

    def publish() -> None:
        while not over.wait(0.02):
            publisher.publish(Bool(data=pressed.is_set()))

    thread = threading.Thread(target=publish)
    thread.start()
    try:
        yield pressed
    finally:
        over.set()
        thread.join()


def test_commands_go_out_while_a_person_holds_the_switch(number: int, robot: Robot) -> None:
    driven = Driven(number, robot, *WORDS, TERMS, 'guiding.hold_required:=true')
    client, all_of_it = driven.client, driven.reaches(driven.gravity)
    with held(client) as pressed:
        driven.refused('guiding/hold is released, must be held')
        pressed.set()
        client.until(lambda: all_of_it() and driven.status == 'on', lambda: _go_on(driven), 'commands to be on')
        pressed.clear()
        client.until(driven.reaches(np.zeros(2)), driven.say, 'zero')
        client.until(lambda: driven.status.startswith('off'), driven.say, 'commands to be off')
        pressed.set()
        for _ in range(20):
            driven.say()
            client.spin(0.01)
        assert driven.reaches(np.zeros(2))()
        assert driven.status.startswith('off')
    client.close()
    assert driven.process.end() == 0, driven.process.output


def test_a_button_of_a_joystick_is_the_switch(number: int) -> None:
    process = Process(number, '--ros-args', '-p', 'button:=2', module='hold_switch_node')
    client = Client(number, node='krang_hold_switch')
    heard: list[Bool] = []
    client.node.create_subscription(Bool, HOLD_TOPIC, heard.append, 10)
    for buttons, pressed in (([0, 0, 1], True), ([1, 1, 0], False), ([1, 1], False), ([0, 0, 1, 0], True)):
        heard.clear()
        client.until(
            lambda p=pressed: heard and heard[-1].data == p,  # type: ignore[misc]
            lambda b=buttons: client.publisher(Joy, 'joy').publish(Joy(buttons=b)),  # type: ignore[misc]
            f'{pressed} for {buttons}',
        )
    client.close()
    assert process.end() == 0, process.output


def test_the_shipped_file_guides_a_simulated_arm(number: int) -> None:
    joints = ('-p', f'command_joints:=[{", ".join(LEFT)}]')
    simulator = Process(
        number, '--ros-args', *joints, '-p', 'brakes:=true', '-p', 'viscous:=1.0', '-p', 'coulomb:=0.5',
        '-p', 'timeout:=2.0', module='simulator_node',
    )  # fmt: skip
    file = str(ROOT / 'config' / 'guiding.yaml')
    node = Process(number, '--ros-args', '--params-file', file, *joints, '-p', 'state_timeout:=2.0')
    driven, client = _session(number, node)
    client.until(lambda: driven.status == 'on', lambda: _go_on(driven), 'commands to be on')
    states: list[JointState] = []
    client.node.create_subscription(JointState, 'joint_states', states.append, 10)
    client.until(lambda: states, why='joint states')
    start = np.array(states[-1].position)
    push, message = client.publisher(WrenchStamped, 'push/left'), WrenchStamped()
    message.header.frame_id, message.wrench.force.z = 'R0', 25.0

    def led() -> bool:
        return bool(np.abs(np.array(states[-1].position) - start).max() > 0.2)

    client.until(led, lambda: push.publish(message), 'the arm to follow the hand')
    assert 'on' in client.diagnostics['guiding'].message or 'reduced' in client.diagnostics['guiding'].message
    client.until(lambda: 'off' in driven.status or 'fault' in driven.status, lambda: driven.ask(False), 'the end')
    client.close()
    for process in (node, simulator):
        assert process.end() == 0, process.output
        assert 'Traceback' not in process.output


def _go_on(driven: Driven) -> None:
    """Enable commands, again where a busy machine has ended them."""
    driven.say()
    if driven.status != 'on':
        driven.ask(doing=driven.say)


def _session(number: int, node: Process) -> tuple[Driven, Client]:
    """Return a client of a node that gets its joint states from a simulator."""
    driven = Driven.__new__(Driven)
    driven.number, driven.process, driven.client = number, node, Client(number)
    driven.say = lambda: None  # type: ignore[method-assign]
    return driven, driven.client


def test_the_sender_process_gets_the_commands_with_and_without_guiding() -> None:
    """After the end of the node, it ends what guiding gave at once, within the rates; the rest falls over the ramp."""
    sent, unguided, rates = np.array([30.0, -5.0]), np.array([10.0, -5.0]), np.array([1000.0, 1000.0])
    frame = Frame.of(Frame(True, 7, 1.0, 0.1, sent, unguided, rates).packed())
    assert (frame.sending, frame.start) == (True, 7)
    fall = Fall(frame.unguided, frame.fall_seconds, frame.rate_seconds, 0.0, frame.command, frame.rates)
    np.testing.assert_allclose(fall.at(0.01), [20.0, -4.95])
    np.testing.assert_allclose(fall.at(0.02), [10.0, -4.9], atol=0.3)
    np.testing.assert_allclose(fall.at(0.03), 0.97 * unguided)
