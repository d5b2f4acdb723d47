"""The page in a real browser, with real nodes behind it: what it shows, also when a node goes away."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip('rclpy', reason='rclpy is not installed: the nodes cannot run')
pytest.importorskip('viser', reason='viser is not installed: there is no page')

from krang_dynamics_ros import Robot

from ..world import UNKNOWN, World, dynamics, simulator, unfolded, viewer

pytestmark = pytest.mark.usefixtures('at_start')
FIND_ANY = """
const bottom = words => [...document.querySelectorAll('button, label')].find(e => e.innerText.trim() === words)
    .getBoundingClientRect().bottom;
"""


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


@pytest.mark.slow
def test_rings_of_torque_are_there_from_the_start_and_can_be_switched_off(world: World) -> None:
    def blue() -> int:
        r, _, b = np.moveaxis(world.page.picture(), -1, 0)
        return int(((b > 140) & (b - r > 80)).sum())

    world.page.until(lambda: 'idle' in world.page.text and 'limit' in world.page.text, 'the legend')
    before = blue()
    assert before > 50, 'rings of joints that bear little'
    assert len(world.page.balls()) == 2
    with unfolded(world.page, 'show'):
        for words in ('torque rings', 'centre of mass'):
            world.page.tick(words)
        world.page.until(lambda: blue() < before - 50, 'no rings')
        world.page.until(lambda: 'idle' not in world.page.text, 'no legend')
        for words in ('torque rings', 'centre of mass'):
            world.page.tick(words)
        world.page.until(lambda: blue() > before - 20, 'the rings again')


def test_parameters_set_by_another_node_show_on_the_page(world: World) -> None:
    world.client.set(total_terms=['gravity', 'friction'])
    world.page.until(lambda: world.page.ticked('friction'), 'friction ticked')


@pytest.mark.slow
def test_the_page_recovers_when_the_dynamics_node_comes_back(world: World) -> None:
    assert world.dynamics.end() == 0
    world.page.until(lambda: set(world.page.numbers('gravity').values()) == {UNKNOWN}, 'no numbers')
    world.page.until(lambda: world.page.level == 'silent', 'the line to say so')
    assert 'dynamics node: no diagnostics' in world.page.text
    assert world.page.grey('gravity')
    world.dynamics = dynamics(world.number)
    world.page.until(lambda: UNKNOWN not in world.page.numbers('gravity').values(), 'numbers again')
    world.page.until(world.well, 'all well')
    world.page.until(lambda: not world.page.grey('gravity'), 'the switches')


@pytest.mark.slow
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
    lost = 'total_terms: refused: '  # a call to a service that has only just come may be; then the page says so
    world.client.until(lambda: 'wrench' in world.terms() or lost in world.page.text, why='the new viewer to listen')
    if 'wrench' not in world.terms():
        world.page.until(lambda: not world.page.ticked('wrench'), 'the box to be unticked')
        world.page.tick('wrench')
        world.client.until(lambda: 'wrench' in world.terms(), why='the new viewer to listen')


@pytest.mark.slow
@pytest.mark.parametrize('size', [(1366, 768), (1024, 768), (800, 600), (390, 844)])
def test_the_hands_are_seen_in_every_window_and_what_one_needs_first(world: World, size: tuple[int, int]) -> None:
    width, height = size
    metrics = {'width': width, 'height': height, 'deviceScaleFactor': 1, 'mobile': False}
    world.page.driver.execute_cdp_cmd('Emulation.setDeviceMetricsOverride', metrics)
    world.page.open(8100 + world.number)
    world.page.until(lambda: len(world.page.balls()) == 2, f'two balls at {size}')
    if width > 600:  # below, a sheet covers some of it
        world.page.until(lambda: not world.page.cut(), f'all of the robot at {size}')
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


@pytest.mark.slow
def test_without_a_simulator_one_can_look_but_not_push(world: World) -> None:
    assert world.simulator.end() == 0
    world.page.until(lambda: 'no simulator' in world.page.text, 'the words of a real robot')
    world.page.until(lambda: world.page.grey('Reset'), 'grey buttons')
    world.page.until(lambda: world.page.level == 'error', 'no joint states, no torque')
    world.simulator = simulator(world.number)
    world.page.until(lambda: not world.page.grey('Reset'), 'the buttons again')
    world.page.until(world.well, 'all well')
