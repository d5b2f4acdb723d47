"""The report of a recording in a real browser: charts are drawn and zoom, and the table names the worst joint."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip('pyarrow', reason='pyarrow, for recordings, is not installed')

from krang_dynamics_ros import Robot, dynamics_of
from krang_dynamics_ros.processing.job import Job
from krang_dynamics_ros.processing.process import process
from krang_dynamics_ros.processing.summary import Summary

from .bags import BEGIN, joint_state, wrench, write_bag
from .browser import Browser, browser

MS = 1_000_000
TICKS = "return [...document.querySelectorAll('figure')[0].querySelectorAll('text')].map(t => t.textContent)"
PATH = "return document.querySelectorAll('figure')[0].querySelector('path').getAttribute('d')"


def messages(robot: Robot) -> Iterator[tuple[str, int, object]]:
    """Return a motion whose efforts the model explains, but for what pushes on one joint."""
    dynamics, speed = dynamics_of(robot), np.linspace(0.5, 2, robot.n)
    for k in range(600):
        t, stamp = 0.005 * k, BEGIN + 5 * MS * k
        q, dq, ddq = 0.8 + 0.3 * np.sin(speed * t), 0.3 * speed * np.cos(speed * t), -0.3 * speed**2 * np.sin(speed * t)
        effort = dynamics.inverse_dynamics(q, dq, ddq)
        effort[robot.joint_names.index('q_4r')] += 5 * np.sin(3 * t)
        yield '/wrench/left', stamp, wrench(stamp, '', (1, 2, np.sin(t)), (0, 0, 0))
        yield '/joint_states', stamp, joint_state(stamp, robot.joint_names, q, dq, effort)


@pytest.fixture(scope='module')
def done(tmp_path_factory: pytest.TempPathFactory, robot: Robot) -> tuple[Path, Summary]:
    folder = tmp_path_factory.mktemp('report')
    bag = write_bag(folder / 'bag', messages(robot))
    job = Job(bag, folder / 'out', {'backend': 'pinocchio'}, terms=('gravity', 'wrench', 'external'))
    return folder / 'out' / 'report.html', process(job)


@pytest.fixture(scope='module')
def page(done: tuple[Path, Summary], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with browser(str(tmp_path_factory.mktemp('profile'))) as opened:
        opened.driver.get(f'file://{done[0]}')
        yield opened


def test_every_joint_and_hand_is_drawn_and_nothing_complains(page: Browser, robot: Robot) -> None:
    titles = page.driver.execute_script(
        "return [...document.querySelectorAll('figure')].filter(f => [...f.querySelectorAll('path')].some("
        "p => p.getAttribute('d').length > 1000)).map(f => f.querySelector('figcaption').textContent)"
    )
    assert set(robot.joint_names) <= set(titles)
    assert {'R10l: force', 'left: force', 'right: moment'} <= set(titles)  # by the sensor, and by the observer
    assert page.driver.get_log('browser') == []


def test_the_worst_explained_joint_stands_first(page: Browser, done: tuple[Path, Summary]) -> None:
    marked = page.driver.execute_script(
        "return [...document.querySelectorAll('tr.marked')].at(-1).firstChild.textContent"
    )
    first = page.driver.execute_script("return document.querySelector('figcaption').textContent")
    assert marked == first == done[1].errors[0].joint == 'q_4r'


def test_a_wheel_zooms_a_drag_moves_and_a_double_click_shows_all_again(page: Browser) -> None:
    def send(kind: str, x: float, **more: object) -> None:
        page.driver.execute_script(
            "const s = document.querySelectorAll('figure')[0].querySelector('svg'), b = s.getBoundingClientRect();"
            'const [kind, x, more] = arguments, at = {clientX: b.left + x * b.width, clientY: b.top + 50, ...more};'
            "const Kind = kind === 'wheel' ? WheelEvent : kind === 'dblclick' ? MouseEvent : PointerEvent;"
            's.setPointerCapture = () => {}; s.dispatchEvent(new Kind(kind, at))',
            kind, x, more,
        )  # fmt: skip

    whole, drawn = page.driver.execute_script(TICKS), page.driver.execute_script(PATH)
    send('wheel', 0.5, deltaY=-800)
    zoomed = page.driver.execute_script(TICKS)
    assert zoomed != whole
    assert page.driver.execute_script(PATH) != drawn
    send('pointerdown', 0.5)
    send('pointermove', 0.7)
    send('pointerup', 0.7)
    assert page.driver.execute_script(TICKS) != zoomed
    send('dblclick', 0.5)
    assert page.driver.execute_script(TICKS) == whole
    assert page.driver.execute_script(PATH) == drawn


def test_a_click_on_a_name_hides_its_line(page: Browser) -> None:
    count = "return document.querySelectorAll('figure')[0].querySelectorAll('path').length"
    before = page.driver.execute_script(count)
    name = page.driver.find_element('css selector', 'figure .legend span')
    name.click()
    assert page.driver.execute_script(count) == before - 1
    name.click()
    assert page.driver.execute_script(count) == before
