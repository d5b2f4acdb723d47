"""Guiding by hand on the page in a real browser, with the nodes of `make run` behind it."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator

import numpy as np
import pytest

pytest.importorskip('rclpy', reason='rclpy is not installed: the nodes cannot run')
pytest.importorskip('viser', reason='viser is not installed: there is no page')

from geometry_msgs.msg import WrenchStamped
from std_msgs.msg import Float64MultiArray
from std_srvs.srv import SetBool

from krang_dynamics_ros import Robot

from ..browser import FIND
from ..ros import Process
from ..world import DEMO, PATIENT, World, viewer

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures('at_start')]
ARMS = 14
GUIDING = ['gravity', 'coriolis', 'damping', 'stops']  # config/guiding.yaml, whose words a test of its own holds


@pytest.fixture(autouse=True)
def _commands_off(world: World) -> Iterator[None]:
    yield
    world.client.call('/effort_commands/enable', SetBool, SetBool.Request(data=False))
    world.client.until(lambda: stage(world) == 'off', why='commands to be off')
    world.client.set(command_velocity_limits=[0.0] * ARMS)


def stage(world: World) -> str:
    status = world.client.diagnostics.get('effort commands')
    return '' if status is None else {pair.key: pair.value for pair in status.values}['stage']


def start(world: World) -> None:
    """Press *Guide*, again where this machine is too busy, and wait until commands are on."""
    page, on = world.page, 'effort commands: on'
    for _ in range(8):
        page.until(lambda: not page.grey('Guide'), 'a button to press')
        page.until(lambda: 'guiding: refused' not in page.text, 'an earlier refusal to go')
        passed(world, 1.2)  # within a second of a reset, joint states contradict each other
        page.press('Guide')
        since = time.monotonic()

        def answered(since: float = since) -> bool:
            ended = time.monotonic() - since > 3.0 and not page.grey('Guide')
            return ended or on in page.text or 'guiding: refused' in page.text

        page.until(answered, 'an answer')
        refusal = re.search('guiding: refused: (.*)', page.text)
        assert refusal is None or 'does not answer' in refusal[1], refusal[1]
        if on in page.text:
            return
    pytest.skip('this machine is too busy: commands end within a second, eight times')


def passed(world: World, seconds: float) -> None:
    """Let time pass, for what must not happen."""
    end = time.monotonic() + seconds
    world.client.until(lambda: time.monotonic() > end)


def restored(world: World) -> None:
    world.page.until(lambda: not world.page.grey('Guide'), 'the mode to end')
    world.client.until(lambda: world.terms() == ['gravity'], why='the parameters from before')


def test_nothing_is_enabled_until_a_person_presses_the_button(world: World) -> None:
    world.page.until(lambda: not world.page.grey('Guide'), 'a button to press')
    assert world.page.grey('Stop guiding')
    assert world.client.get('command_enabled') is False
    assert world.terms() == ['gravity']


BUSY = ('sender process', 'no complete joint state', 'delay')  # faults of a machine that cannot keep up


def busy(world: World) -> bool:
    """Return whether commands ended because this machine is busy."""
    status = world.client.diagnostics['effort commands']
    assert 'ended by a fault' not in status.message or any(why in status.message for why in BUSY), status.message
    return stage(world) != 'on'


def stop(world: World) -> None:
    """Press *Stop guiding*, unless commands have ended because this machine is busy."""
    code = f'{FIND} const b = button("Stop guiding"); if (b.disabled) return false; b.click(); return true'
    world.client.until(lambda: world.page.script(code) or busy(world), why='a button to press')


def led(world: World, robot: Robot) -> bool:
    """Lead a hand and let go; return whether the arm stayed there, or False where this machine was too busy.

    So busy, too, that the page showed no damping before the arm came to rest.
    """
    page, before, damping = world.page, world.q(), set[str]()

    def look() -> None:
        damping.update(page.numbers('damping').values())

    try:
        assert 0 < world.pull((20, -130), look=look) <= 100.001
        if busy(world):
            return False
        world.client.until(lambda: np.abs(world.q() - before).max() > 0.1, look, 'the arm to follow')
    finally:
        page.let_go()
    if not damping - {'0.0'}:
        return False
    world.settled(robot)
    stood = world.q()
    passed(world, 1.5)
    if busy(world):
        return False
    np.testing.assert_allclose(world.q(), stood, atol=1e-3)
    assert np.abs(stood - before).max() > 0.1
    return True


def test_a_hand_is_led_and_stays_where_it_is_let_go_and_leaving_restores_the_parameters(
    world: World, robot: Robot
) -> None:
    page = world.page
    for _ in range(5):
        start(world)
        assert world.terms() == GUIDING
        assert page.grey('Guide')
        page.until(lambda: page.numbers('damping') and page.numbers('stops'), 'bars of the terms of guiding')
        if led(world, robot):
            break
        world.client.until(lambda: world.terms() == ['gravity'], why='the parameters to be restored after the fault')
        world.begin()
    else:
        pytest.fail('five times this machine was too busy, or the page showed no damping')
    stop(world)
    restored(world)
    assert not world.client.get('command_enabled')
    page.until(lambda: not page.numbers('damping'), 'the bars of guiding to go')


def red(world: World) -> int:
    """Return how many pixels have the colour of a link that blinks, in the light and in the shade."""
    r, g, b = np.moveaxis(world.page.picture(), -1, 0)
    return int(((r > 120) & (r - g > 80) & (r - b > 80)).sum())


def test_a_check_that_trips_is_in_the_coloured_line_and_its_joint_blinks(world: World) -> None:
    page = world.page
    world.client.set(command_velocity_limits=[0.05] * 3 + [0.0] * (ARMS - 3))  # of the upper arm: a large area
    start(world)
    push, message = world.client.publisher(WrenchStamped, 'push/left'), WrenchStamped()
    message.header.frame_id, message.wrench.force.z = 'R0', 20.0
    world.client.until(lambda: stage(world) != 'on', lambda: push.publish(message), 'the fault')
    page.until(lambda: page.level == 'error', 'the fault on the page')
    line = page.script("return document.querySelector('.health').innerText")
    assert re.match(r'effort commands: ended by a fault: q_\dl(:| moves at )', line), line
    world.client.until(lambda: world.terms() == ['gravity'], why='the parameters to be restored')
    seen: list[int] = []

    def blinks() -> bool:
        seen.append(red(world))
        high = np.array(seen) > (max(seen) + min(seen)) / 2
        return max(seen) - min(seen) > 500 and int(np.diff(high).sum()) >= 2

    page.until(blinks, 'a link to turn red and back')
    world.client.set(command_velocity_limits=[0.0] * ARMS)
    page.press('Guide')
    page.until(lambda: 'ended by a fault' not in page.text, 'the fault to be gone')

    def calm() -> bool:
        seen.append(red(world))
        return bool(np.ptp(seen[-5:]) < 200)

    seen.clear()
    page.until(lambda: calm() and len(seen) >= 5, 'no blinking after the next enabling')


def test_a_second_publisher_is_a_refusal_with_its_name_that_changes_nothing(world: World) -> None:
    publisher = world.client.node.create_publisher(Float64MultiArray, 'effort_commands', 1)
    try:
        world.page.press('Guide')
        world.page.until(lambda: 'guiding: refused: ' in world.page.text, 'the refusal')
        assert 'effort_commands are published by /client too' in world.page.text
    finally:
        world.client.node.destroy_publisher(publisher)
    restored(world)
    assert world.client.get('command_enabled') is False


def test_without_command_joints_the_refusal_says_what_to_set(world: World) -> None:
    assert world.dynamics.end() == 0
    world.dynamics = Process(world.number, '--ros-args', *DEMO[:2], *PATIENT)
    world.client.until(lambda: world.dynamics.output.count('waiting for /joint_states'), why='the node to be back')

    def refused() -> bool:
        if not world.page.grey('Guide'):  # a call to a service that has only just come may be lost
            world.page.press('Guide')
        return 'no joints to command: set command_joints' in world.page.text

    world.page.until(refused, 'the reason')
    restored(world)
    assert world.dynamics.end() == 0
    world.dynamics = Process(world.number, '--ros-args', *DEMO, *PATIENT)
    world.client.until(lambda: len(world.client.get('command_joints')) == ARMS, why='the node of the demo')
    world.page.until(world.well, 'all well')


def test_a_page_that_is_killed_leaves_commands_and_another_one_can_end_them(world: World) -> None:
    start(world)
    world.viewer.process.kill()
    world.viewer.wait()
    passed(world, 1.5)
    busy(world)  # no other fault than that of a busy machine
    world.viewer = viewer(world.number)
    world.open()

    def known() -> bool:
        if busy(world):
            world.client.call('/effort_commands/enable', SetBool, SetBool.Request(data=True))
            passed(world, 1.0)
        return 'Commands were not enabled here.' in world.page.text

    if not any(known() for _ in range(10)):
        pytest.skip('this machine is too busy: commands end within a second, ten times')
    assert world.page.grey('Guide')
    stop(world)
    world.client.until(lambda: stage(world) == 'off', why='commands to be off')
    world.page.until(lambda: world.page.grey('Stop guiding'), 'the page to know')
    world.page.until(lambda: not world.page.grey('Guide'), 'a button to begin again')
    assert world.terms() == GUIDING, 'the new page cannot know what was before'
