"""The page in a real browser, with real nodes behind it: what it shows, and what touching it does."""

from __future__ import annotations

import contextlib
import socket
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

pytest.importorskip('rclpy', reason='rclpy is not installed: the nodes cannot run')
pytest.importorskip('viser', reason='viser is not installed: there is no page')

from geometry_msgs.msg import WrenchStamped
from rcl_interfaces.srv import SetParameters
from rclpy.parameter import Parameter
from sensor_msgs.msg import JointState

from krang_dynamics_ros import Robot, dynamics_of
from krang_dynamics_ros.nodes.viewer_node import _up

from .browser import Browser, browser
from .robots import ROOT
from .ros import Client, Process, domain

NO_BAG = SetParameters.Request(parameters=[Parameter('left.payload.mass', value=0.0).to_parameter_msg()])
DEMO = ('--params-file', str(ROOT / 'config' / 'demo.yaml'))
PATIENT = ('-p', 'state_timeout:=1.0', '-p', 'wrench_timeout:=1.0')  # the browser may take both cores for a while


def simulator(number: int) -> Process:
    words = ('-r', 'torque:=torque/total', *DEMO, '-p', 'timeout:=1.0')
    return Process(number, '--ros-args', *words, module='simulator_node')


def dynamics(number: int) -> Process:
    return Process(number, '--ros-args', *DEMO, *PATIENT)


def viewer(number: int, *words: str) -> Process:
    return Process(number, '--ros-args', '-p', f'port:={8100 + number}', *words, module='viewer_node')


FIND_ANY = """
const bottom = words => [...document.querySelectorAll('button, label')].find(e => e.innerText.trim() === words)
    .getBoundingClientRect().bottom;
"""
UNKNOWN = '\N{EN DASH}'


class World:
    """The nodes of `make run`, a client that hears what they say, and the browser."""

    def __init__(self, number: int, page: Browser) -> None:
        self.number, self.page = number, page
        self.simulator, self.dynamics, self.viewer = simulator(number), dynamics(number), viewer(number)
        self.client = Client(number)
        self.heard: dict[str, Any] = {}
        for topic, kind in (
            ('joint_states', JointState), ('torque/gravity', JointState), ('torque/total', JointState),
            ('push/left', WrenchStamped), ('push/right', WrenchStamped), ('push', WrenchStamped),
        ):  # fmt: skip
            self.client.node.create_subscription(kind, topic, lambda m, t=topic: self.heard.update({t: m}), 1)
        self.open()

    def open(self) -> None:
        self.client.until(lambda: 'open http://' in self.viewer.output, why='the viewer to serve')
        self.page.open(8100 + self.number)

    def now(self, topic: str) -> Any:
        """Return the next message of a topic."""
        self.heard.pop(topic, None)
        return self.client.until(lambda: self.heard.get(topic), why=topic)

    def q(self) -> np.ndarray:
        return np.array(self.now('joint_states').position)

    def pull(self, pixels: tuple[int, int]) -> float:
        """Drag a ball, and return the force that comes of it (N); again if the robot moved from under the mouse."""
        for _ in range(3):
            (x, y), *_ = self.page.until(lambda: self.page.balls()[:2], 'two balls')
            self.heard.clear()
            self.page.hold((x, y), (x + pixels[0], y + pixels[1]))
            with contextlib.suppress(AssertionError):
                return float(self.client.until(self.push, why='a push'))
            self.page.let_go()
            self.page.press('Reset')
        raise AssertionError('three times the ball was not gripped')

    def push(self) -> float:
        message = self.heard.get('push/left') or self.heard.get('push/right')
        f = message.wrench.force if message else None
        return float(np.linalg.norm([f.x, f.y, f.z])) if f else 0.0

    def heights(self, robot: Robot) -> np.ndarray:
        """How high the hands are (m), in the base's axes."""
        q, dynamics = self.q(), dynamics_of(robot)
        return np.array([dynamics.pose(q, link)[1][2] for link in robot.end_effectors.values()])

    def well(self) -> bool:
        """Whether the coloured line says so, or else that this machine is busy."""
        text = self.page.text
        return 'all is well' in text or 'this machine is busy' in text or 'torques came late' in text

    def terms(self) -> list[str]:
        return list(self.client.get('total_terms'))

    def close(self) -> None:
        self.client.close()
        for process in (self.viewer, self.dynamics, self.simulator):
            assert process.end() == 0, process.output
            assert 'Traceback' not in process.output


@pytest.fixture(scope='module')
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with domain() as number, browser(str(tmp_path_factory.mktemp('profile'))) as page:
        started = World(number, page)
        yield started
        started.close()


@pytest.fixture(autouse=True)
def at_start(world: World) -> None:
    """Begin every test with gravity alone, at rest, where it started."""
    world.client.set(total_terms=['gravity'], left__payload__mass=0.0)
    world.client.call('/krang_simulator/set_parameters', SetParameters, NO_BAG)
    world.page.until(lambda: not world.page.ticked('wrench'), 'gravity alone')
    world.page.press('Resume')
    for _ in range(3):  # a call to a service that has only just come may be lost
        world.page.press('Reset')
        with contextlib.suppress(AssertionError):
            world.client.until(lambda: abs(world.q()[1] - 0.6) < 0.01, why='the start')
            return
    raise AssertionError('three resets, and not at the start')


@pytest.mark.parametrize(
    ('gravity', 'up'),
    [((0.0, 0.0, -9.81), (0, 0, 1)), ((0.0, 4.0, 0.0), (0, -1, 0)), ((0.0,) * 3, (0, 0, 1)), ((), (0, 0, 1))],
)
def test_up_is_against_gravity(gravity: tuple[float, ...], up: tuple[int, ...]) -> None:
    assert _up(gravity) == up


def test_it_explains_itself_and_draws_the_robot(world: World) -> None:
    for words in ('You see krang, simulated', 'Drag an orange ball', 'torque/total', '1 N m s/rad'):
        assert words in world.page.text
    r, g, b = np.moveaxis(world.page.picture(), -1, 0)
    golden = (r > 120) & (r - b > 60) & (abs(r - g) < 60)
    assert golden.sum() > 3000  # of its metal
    assert len(world.page.balls()) == 2
    world.page.until(world.well, 'all well')


def test_the_bars_are_the_nodes_numbers(world: World, robot: Robot) -> None:
    message = world.now('torque/gravity')
    gravity = dict(zip(message.name, message.effort, strict=True))

    def agree() -> bool:
        shown = world.page.numbers('gravity')
        return list(shown) == list(robot.joint_names) and all(
            abs(float(words.replace('\N{MINUS SIGN}', '-')) - gravity[name]) < 0.1 for name, words in shown.items()
        )

    world.page.until(agree, f'gravity torques {gravity}')
    assert world.page.numbers('total') == world.page.numbers('gravity')
    assert set(world.page.numbers('coriolis').values()) == {'0.0'}
    assert '±1200' in world.page.text


def test_dragging_a_ball_pushes_the_hand_and_letting_go_ends_it(world: World, robot: Robot) -> None:
    before = world.heights(robot)
    assert 0 < world.pull((20, -130)) <= 100.001
    since = [time.monotonic()]

    def holds_still_up_there() -> bool:
        if (world.heights(robot) - before).max() < 0.1 or not 0 < world.push() < 10:
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
    world.page.unfold('pose: put the joints (rad, m)')
    world.page.until(lambda: abs(world.page.value('q_w') - 0.6) < 0.02, 'the page to be up to date')
    world.page.type('q_torso', '0.35')
    torso = robot.joint_names.index('q_torso')
    world.client.until(lambda: abs(world.q()[torso] - 0.35) < 0.02, why='the torso to turn')
    world.page.press('Reset')
    world.page.until(lambda: abs(world.page.value('q_torso')) < 0.02, 'the slider follows')
    world.page.unfold('pose: put the joints (rad, m)')  # and folds it again


def test_what_is_typed_is_what_the_joint_gets_and_beyond_its_limits_it_says_why(world: World, robot: Robot) -> None:
    at = robot.joint_names.index('q_4l')
    world.page.unfold('pose: put the joints (rad, m)')
    world.page.type('q_4l', '-0.4')
    world.client.until(lambda: abs(world.q()[at] + 0.4) < 0.02, why='the elbow to be where it was put, not opposite')
    world.page.type('q_4l', '99')
    world.page.until(lambda: '99 is beyond' in world.page.text, 'the reason')
    world.page.unfold('pose: put the joints (rad, m)')


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


def held(world: World, robot: Robot) -> np.ndarray:
    """How high the hands are (m) once they have stood still for half a second."""
    seen = [(time.monotonic(), world.heights(robot))]

    def still() -> bool:
        now, heights = time.monotonic(), world.heights(robot)
        if np.abs(heights - seen[0][1]).max() > 1e-3:
            seen[:] = [(now, heights)]
        return now - seen[0][0] > 0.5

    world.client.until(still, why='the hands to stand still')
    return world.heights(robot)


def test_a_bag_lets_the_hand_sink_until_the_node_is_told(world: World, robot: Robot) -> None:
    page, folder, before = world.page, 'left hand: bag, sensor', held(world, robot)
    page.unfold(folder)
    page.type('bag (kg)', '3', enter=False)  # what was typed counts, though the button is the next that is touched
    page.press('Hang it on')
    page.until(lambda: '3 kg hang on it. The node knows of 0 kg' in page.text, 'the bag')
    world.client.until(lambda: (before - world.heights(robot))[0] > 0.03, why='the left hand to sink')
    page.press('Tell the node')
    page.until(lambda: 'The node knows of 3 kg' in page.text, 'the node to know')
    assert world.client.get('left.payload.mass') == 3.0
    assert list(world.client.get('left.payload.com')) == [0.0, 0.0, 0.0]
    sunk = held(world, robot)
    assert (before - sunk)[0] > 0.03
    page.type('bag (kg)', '0')
    page.press('Hang it on')
    page.until(lambda: '0 kg hang on it' in page.text, 'no bag')
    world.client.until(lambda: (world.heights(robot) - sunk)[0] > 0.03, why='the hand to rise, for the node holds 3 kg')
    page.press('Tell the node')
    page.until(lambda: 'The node knows of 0 kg' in page.text, 'the node to know')
    page.unfold(folder)


def test_a_sensor_is_zeroed_and_what_is_refused_is_said_in_the_coloured_line(world: World, robot: Robot) -> None:
    page, folder = world.page, 'left hand: bag, sensor'
    page.unfold(folder)
    held(world, robot)
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


@contextlib.contextmanager
def unfolded(page: Browser, folder: str) -> Iterator[None]:
    page.unfold(folder)
    try:
        yield
    finally:
        page.unfold(folder)


def test_what_pushes_it_is_computed_only_while_it_is_shown(world: World) -> None:
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


def test_arcs_and_centre_of_mass_leave_the_robot_to_be_seen(world: World) -> None:
    def blue() -> int:
        r, _, b = np.moveaxis(world.page.picture(), -1, 0)
        return int(((b > 140) & (b - r > 80)).sum())

    before = blue()
    with unfolded(world.page, 'show'):
        for words in ('torque arcs', 'centre of mass'):
            world.page.tick(words)
        world.page.until(lambda: blue() > before + 50, 'arcs of joints that bear little')
        assert len(world.page.balls()) == 2
        for words in ('torque arcs', 'centre of mass'):
            world.page.tick(words)
        world.page.until(lambda: blue() < before + 20, 'no arcs')


def test_any_link_is_pulled_with_ctrl(world: World) -> None:
    before, (x, y) = world.q(), world.page.trunk()
    world.page.hold((x, y), (x + 120, y - 40), ctrl=True)
    try:
        message = world.now('push')
        assert message.header.frame_id not in ('R10l', 'R10r')
        world.client.until(lambda: np.abs(world.q() - before).max() > 0.02, why='the robot to give way')
    finally:
        world.page.let_go(ctrl=True)
    world.heard.clear()
    time_of_last = [time.monotonic()]

    def quiet() -> bool:
        if world.heard.pop('push', None):
            time_of_last[0] = time.monotonic()
        return time.monotonic() - time_of_last[0] > 0.5

    world.client.until(quiet, why='the push to end')


def test_what_somebody_else_sets_shows_on_the_page(world: World) -> None:
    world.client.set(total_terms=['gravity', 'friction'])
    world.page.until(lambda: world.page.ticked('friction'), 'friction ticked')


def test_the_page_recovers_when_the_dynamics_node_comes_back(world: World) -> None:
    assert world.dynamics.end() == 0
    world.page.until(lambda: set(world.page.numbers('gravity').values()) == {UNKNOWN}, 'no numbers')
    world.page.until(lambda: world.page.level == 'silent', 'the line to say so')
    assert 'dynamics node: says nothing' in world.page.text
    assert world.page.grey('gravity')
    world.dynamics = dynamics(world.number)
    world.page.until(lambda: UNKNOWN not in world.page.numbers('gravity').values(), 'numbers again')
    world.page.until(world.well, 'all well')
    world.page.until(lambda: not world.page.grey('gravity'), 'the switches')


def test_a_page_left_open_recovers_when_the_viewer_comes_back(world: World) -> None:
    world.page.forget()
    assert world.viewer.end() == 0
    world.page.until(lambda: 'No news from viewer_node' in world.page.text, 'the page to say that it is old')
    seen = "return document.querySelector('.health').checkVisibility({visibilityProperty: true})"
    assert not world.page.script(seen), 'what it says of the robot is old'
    world.viewer = viewer(world.number)
    world.client.until(lambda: 'open http://' in world.viewer.output, why='the viewer to serve')
    world.page.until(lambda: world.page.fresh, 'the page to come back')
    world.page.until(lambda: len(world.page.balls()) == 2, 'the robot')
    world.page.until(world.well, 'all well')
    world.page.until(lambda: 'No news' not in world.page.text, 'the note to go')
    world.page.tick('wrench')
    world.client.until(lambda: 'wrench' in world.terms(), why='the new viewer to listen')


@pytest.mark.parametrize('size', [(1366, 768), (1024, 768), (800, 600), (390, 844)])
def test_the_hands_are_seen_in_every_window_and_what_one_needs_first(world: World, size: tuple[int, int]) -> None:
    width, height = size
    metrics = {'width': width, 'height': height, 'deviceScaleFactor': 1, 'mobile': False}
    world.page.driver.execute_cdp_cmd('Emulation.setDeviceMetricsOverride', metrics)
    world.page.open(8100 + world.number)
    world.page.until(lambda: len(world.page.balls()) == 2, f'two balls at {size}')
    if width > 1000:
        for words in ('Reset', 'wrench'):
            assert 0 < world.page.script(f'{FIND_ANY} return bottom(arguments[0])', words) < height
    world.page.driver.execute_cdp_cmd('Emulation.clearDeviceMetricsOverride', {})
    world.page.open(8100 + world.number)


def test_dark_mode_is_the_browsers(world: World) -> None:
    scheme = 'return document.documentElement.dataset.mantineColorScheme'
    for mode in ('dark', 'light'):
        features = [{'name': 'prefers-color-scheme', 'value': mode}]
        world.page.driver.execute_cdp_cmd('Emulation.setEmulatedMedia', {'features': features})
        world.page.until(lambda mode=mode: world.page.script(scheme) == mode, mode)


def test_without_a_simulator_one_can_look_but_not_push(world: World) -> None:
    assert world.simulator.end() == 0
    world.page.until(lambda: 'no simulator' in world.page.text, 'the words of a real robot')
    world.page.until(lambda: world.page.grey('Reset'), 'grey buttons')
    world.page.until(lambda: world.page.level == 'error', 'no joint states, no torque')
    world.simulator = simulator(world.number)
    world.page.until(lambda: not world.page.grey('Reset'), 'the buttons again')
    world.page.until(world.well, 'all well')


def test_a_port_that_is_taken_is_named(world: World) -> None:
    with socket.create_server(('127.0.0.1', 0)) as taken:
        port = taken.getsockname()[1]
        process = Process(world.number, '--ros-args', '-p', f'port:={port}', module='viewer_node')
        assert process.wait() == 1
    assert f'port {port}: Address already in use' in process.output
    assert 'Traceback' not in process.output
