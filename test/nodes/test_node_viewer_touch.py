"""The page in a real browser, with real nodes behind it: what touching it does."""

from __future__ import annotations

import time

import numpy as np
import pytest

pytest.importorskip('rclpy', reason='rclpy is not installed: the nodes cannot run')
pytest.importorskip('viser', reason='viser is not installed: there is no page')

from krang_dynamics_ros import Robot

from ..world import UNKNOWN, World, unfolded

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures('at_start')]


def test_dragging_a_ball_pushes_the_hand_and_letting_go_ends_it(world: World, robot: Robot) -> None:
    before = world.heights(robot)
    assert 0 < world.pull((20, -130)) <= 100.001
    since = [time.monotonic()]

    def holds_still_up_there() -> bool:
        if (world.heights(robot) - before).max() < 0.1 or not 0 < world.push() < 25:
            since[0] = time.monotonic()
        return time.monotonic() - since[0] > 0.5

    world.client.until(holds_still_up_there, why='a hand to go up with the mouse, and rest there')
    world.page.until(lambda: set(world.page.numbers('wrench').values()) != {'0.0'}, 'the wrench in the bars')
    world.page.let_go()
    world.page.until(lambda: set(world.page.numbers('wrench').values()) == {'0.0'}, 'the push to end')


def test_the_switches_set_what_the_motors_get(world: World) -> None:
    world.page.tick('wrench')
    world.client.until(
        lambda: list(world.client.get('total_terms')) == ['gravity', 'wrench'], why='wrench in the total'
    )
    world.page.press('Pause')
    world.page.until(lambda: 'simulation: paused' in world.page.text, 'paused')
    world.page.tick('wrench')
    world.page.tick('gravity')
    world.client.until(lambda: world.terms() == [''], why='nothing in the total')
    world.client.until(lambda: not any(world.now('torque/total').effort), why='no torque')
    before = world.q()
    world.page.press('Resume')
    world.client.until(lambda: np.abs(world.q() - before).max() > 0.3, why='it to fall')


def test_a_number_beside_a_slider_poses_the_joint(world: World, robot: Robot) -> None:
    world.page.unfold('pose: set the joints (rad, m)')
    world.page.until(lambda: abs(world.page.value('q_w') - 0.6) < 0.02, 'the page to be up to date')
    world.page.type('q_torso', '0.35')
    torso = robot.joint_names.index('q_torso')
    world.client.until(lambda: abs(world.q()[torso] - 0.35) < 0.02, why='the torso to turn')
    world.page.press('Reset')
    world.page.until(lambda: abs(world.page.value('q_torso')) < 0.02, 'the slider follows')
    world.page.unfold('pose: set the joints (rad, m)')  # and folds it again


def test_a_typed_position_is_set_and_beyond_the_limits_refused(world: World, robot: Robot) -> None:
    at = robot.joint_names.index('q_4l')
    world.page.unfold('pose: set the joints (rad, m)')
    world.page.type('q_4l', '-0.4')
    world.client.until(lambda: abs(world.q()[at] + 0.4) < 0.02, why='the elbow to be where it was put, not opposite')
    world.page.type('q_4l', '99')
    world.page.until(lambda: '99, must be' in world.page.text, 'the reason')
    world.page.unfold('pose: set the joints (rad, m)')


def test_keys_pause_and_reset(world: World) -> None:
    world.page.keys('p')
    world.page.until(lambda: 'simulation: paused' in world.page.text, 'paused')
    world.page.keys('g')
    world.page.until(lambda: 'simulation: paused' not in world.page.text, 'going on')


def test_a_row_that_is_clicked_is_in_the_plot_and_one_under_the_pointer_is_lit(world: World) -> None:
    row = "document.querySelector('tr[data-joint=q_7r]')"
    marked = f"return {row}.innerHTML.includes('\\u25a0')"
    world.page.script(f'{row}.click()')
    world.page.until(lambda: world.page.script(marked), 'a mark in the colour of the curve')
    assert 'q_7r' in world.page.script("return document.querySelector('.u-legend').innerText")
    world.page.script(f'{row}.click()')
    world.page.until(lambda: not world.page.script(marked), 'no mark')


def test_a_bag_lets_the_hand_sink_until_the_payload_is_set(world: World, robot: Robot) -> None:
    page, folder, before = world.page, 'left hand: bag, sensor', world.settled(robot)
    page.unfold(folder)
    page.type('bag (kg)', '3', enter=False)  # what was typed counts, though the button is the next that is touched
    page.press('Hang it on')
    page.until(lambda: '3 kg hang on it. The node knows of 0 kg' in page.text, 'the bag')
    world.client.until(lambda: (before - world.heights(robot))[0] > 0.03, why='the left hand to sink')
    page.press('Tell the node')
    page.until(lambda: 'The node knows of 3 kg' in page.text, 'the node to know')
    assert world.client.get('left.payload.mass') == 3.0
    assert list(world.client.get('left.payload.com')) == [0.0, 0.0, 0.0]
    page.press('Reset')  # where the arm hangs straight down, a bag moves nothing
    world.client.until(lambda: abs(before - world.heights(robot)).max() < 0.01, why='the start')
    assert abs(before - world.settled(robot)).max() < 0.03, 'the node holds the bag'
    page.type('bag (kg)', '0')
    page.press('Hang it on')
    page.until(lambda: '0 kg hang on it' in page.text, 'no bag')
    world.client.until(lambda: (world.heights(robot) - before)[0] > 0.03, why='the hand to rise')
    page.press('Tell the node')
    page.until(lambda: 'The node knows of 0 kg' in page.text, 'the node to know')
    page.unfold(folder)


def test_a_sensor_is_zeroed_and_what_is_refused_is_said_in_the_coloured_line(world: World, robot: Robot) -> None:
    page, folder = world.page, 'left hand: bag, sensor'
    page.unfold(folder)
    world.settled(robot)
    page.press('Zero the sensor')
    page.until(lambda: 'Sensor of left zeroed' in page.text, "the node's answer")
    page.type('bag (kg)', '9000000')
    page.press('Tell the node')
    page.until(lambda: 'payload of left: refused: ' in page.text, 'why not')
    assert world.client.get('left.payload.mass') == 0.0
    page.type('bag (kg)', '2')
    page.press('Tell the node')
    page.until(lambda: 'refused' not in page.text, 'no word of it once it was done')
    world.client.set(left__payload__mass=0.0)
    page.unfold(folder)


def test_a_link_is_made_a_hand_and_a_link_again(world: World) -> None:
    page = world.page
    page.until(lambda: 'make a link a hand' in page.text, 'the folder')
    page.unfold('make a link a hand')
    link = 'R1'  # the first of those that may be chosen
    page.press('Make it a hand')
    page.until(lambda: f'{link} hand: bag, sensor' in page.text, 'the folder of the hand')
    world.client.until(lambda: world.client.node.count_publishers(f'wrench/{link}') == 1, why='its sensor')
    page.unfold(f'{link} hand: bag, sensor')
    page.press('Remove the hand')
    page.until(lambda: f'{link} hand: bag, sensor' not in page.text, 'the folder to go')
    world.client.until(lambda: world.client.node.count_publishers(f'wrench/{link}') == 0, why='its sensor to go')
    assert world.client.get('end_effectors') == ['left', 'right']


def test_external_torques_are_computed_only_while_they_are_shown(world: World) -> None:
    def listeners() -> list[int]:
        topics = ('torque/external', 'wrench/left/estimated', 'wrench/right/estimated')
        return [world.client.node.count_subscribers(topic) for topic in topics]

    assert listeners() == [0, 0, 0]
    world.client.set(total_terms=['gravity', 'wrench'])  # the hand holds against a pull
    with unfolded(world.page, 'show'):
        world.page.tick('what pushes it')
        world.client.until(lambda: listeners() == [1, 1, 1], why='the page to listen')
        world.page.until(lambda: set(world.page.numbers('external').values()) - {UNKNOWN}, 'the column')
        try:
            assert world.pull((20, -90)) > 0
            world.page.until(lambda: world.page.green() > 50, 'the arrow')
        finally:
            world.page.let_go()
        world.page.until(lambda: world.page.green() < 20, 'no push, no arrow')
        world.page.tick('what pushes it')
        world.client.until(lambda: listeners() == [0, 0, 0], why='the page to listen no longer')
        world.page.until(lambda: not world.page.numbers('external'), 'no column')


def test_a_link_that_is_clicked_on_marks_its_row(world: World, robot: Robot) -> None:
    marked = "return document.querySelector('tr.marked')?.dataset.joint ?? ''"
    at = world.page.trunk()
    world.page.click(at)
    assert world.page.until(lambda: world.page.script(marked), 'a row to be marked') in robot.joint_names
    world.page.click(at)
    world.page.until(lambda: not world.page.script(marked), 'no row')


def test_any_link_is_pulled_with_ctrl(world: World) -> None:
    before, (x, y) = world.q(), world.page.trunk()
    world.page.hold((x, y), (x + 120, y - 40), ctrl=True)
    try:
        message = world.now('pull')
        assert message.header.frame_id not in ('R10l', 'R10r')
        world.client.until(lambda: np.abs(world.q() - before).max() > 0.02, why='the robot to give way')
    finally:
        world.page.let_go(ctrl=True)
    world.heard.clear()
    time_of_last = [time.monotonic()]

    def quiet() -> bool:
        if world.heard.pop('pull', None):
            time_of_last[0] = time.monotonic()
        return time.monotonic() - time_of_last[0] > 0.5

    world.client.until(quiet, why='the pull to end')
