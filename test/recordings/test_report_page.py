"""The report of a recording in a real browser: charts are drawn, zoom and are saved; tables name the worst joint."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree as ET

import numpy as np
import pytest

pytest.importorskip('pyarrow', reason='pyarrow, for recordings, is not installed')

from krang_dynamics_ros import Robot, dynamics_of
from krang_dynamics_ros.processing.job import Job
from krang_dynamics_ros.processing.process import process
from krang_dynamics_ros.processing.summary import Summary
from krang_dynamics_ros.reports.html_report import ChartLine, HtmlReport

from ..bags import BEGIN, joint_state, wrench, write_bag
from ..browser import Browser, browser

MS = 1_000_000
TITLES = "return [...document.querySelectorAll('figcaption')].map(caption => caption.firstChild.textContent.trim())"
RANGES = "return [...document.querySelectorAll('figure')].map(({plot}) => [plot.scales.x.min, plot.scales.x.max])"
SHOWN = "return document.querySelector('figure').plot.series.filter(line => line.show).map(line => line.label)"
COLORED = """
return [...document.querySelectorAll('figure canvas')].every(canvas => {
  const pixels = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data;
  let colored = 0;
  for (let k = 0; k < pixels.length; k += 4)
    colored += pixels[k + 3] > 0 && Math.max(...pixels.slice(k, k + 3)) - Math.min(...pixels.slice(k, k + 3)) > 60;
  return colored > 500;
});
"""
SAVED = """
const [index, done] = arguments;
URL.createObjectURL = file => { file.text().then(done) };
HTMLAnchorElement.prototype.click = () => {};
document.querySelectorAll('figcaption button')[index].click();
"""


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


@pytest.mark.slow
def test_every_joint_and_hand_is_drawn_without_network_and_complaints(page: Browser, robot: Robot) -> None:
    titles = page.script(TITLES)
    assert set(robot.joint_names) <= set(titles)
    assert {'R10l: force', 'left: force', 'right: moment'} <= set(titles)  # by the sensor, and by the observer
    page.until(lambda: page.script(COLORED), 'every chart has lines')
    assert page.script("return performance.getEntriesByType('resource').length") == 0
    assert page.driver.get_log('browser') == []


def test_the_worst_explained_joint_stands_first_in_its_unit_beside_its_model(
    page: Browser, done: tuple[Path, Summary]
) -> None:
    marked = page.script("return document.querySelector('tr.marked').firstChild.textContent")
    assert marked == page.script(TITLES)[0] == done[1].errors[0].joint == 'q_4r'
    assert page.script(SHOWN) == ['time, s', 'effort', 'model']
    assert page.script("return document.querySelector('figure').plot.axes.map(axis => axis.label)") == [
        'time, s',
        'N m',
    ]


def test_words_are_explained(page: Browser) -> None:
    head = "return [...document.querySelectorAll('h2')].at(-1).textContent"
    words = "return [...[...document.querySelectorAll('table')].at(-1).querySelectorAll('td.words:first-child')].map("
    assert page.script(head) == 'Words'
    explained = set(page.script(f'{words}cell => cell.textContent)'))
    assert {'effort', 'model', 'RMS / std', 'gravity', 'wrench', 'external'} <= explained


def test_a_drag_zooms_all_charts_and_a_double_click_shows_all_again(page: Browser) -> None:
    actions = pytest.importorskip('selenium.webdriver').ActionChains
    plot, whole = page.driver.find_element('css selector', '.u-over'), page.script(RANGES)
    page.script('arguments[0].scrollIntoView({block: "center"})', plot)
    actions(page.driver, duration=50).click_and_hold(plot).move_by_offset(50, 0).move_by_offset(
        50, 0
    ).release().perform()
    page.until(lambda: page.script(RANGES) != whole, 'a part of the time is shown')
    first, *others = page.script(RANGES)
    assert first[0] == pytest.approx(1.5, abs=0.1)
    assert all(other == pytest.approx(first) for other in others)
    actions(page.driver).double_click(plot).perform()
    page.until(lambda: page.script(RANGES) == whole, 'all is shown again')


def test_a_click_on_a_name_hides_its_line(page: Browser) -> None:
    name = page.driver.find_elements('css selector', '.u-legend th')[1]
    name.click()
    page.until(lambda: page.script(SHOWN) == ['time, s', 'model'], 'the effort is hidden')
    name.click()
    page.until(lambda: page.script(SHOWN) == ['time, s', 'effort', 'model'], 'the effort is shown again')


@pytest.fixture
def broken(page: Browser, tmp_path: Path) -> Browser:
    """Show a report with a line that is broken from 5 to 8 s, and a line without gap and points of its own inside."""
    x = np.r_[np.arange(50), np.arange(80, 100)] * 0.1
    report, inside = HtmlReport('gaps'), np.linspace(0, 9.9, 67)
    lines = [
        ChartLine('<broken>', x, np.sin(x), gap=0.5),
        ChartLine('whole', inside, np.cos(inside)),
        ChartLine('other', x, x, hidden=True),
    ]
    report.chart('a & b', 'time, s', 'N m', lines)
    report.chart(
        'constant but for rounding',
        'time, s',
        'N',
        [ChartLine('flat', x, 3 + 1e-13 * x), ChartLine('empty', x[:0], x[:0])],
    )
    report.chart('one point', 'time, s', 'N', [ChartLine('point', x[:1], x[:1])])
    report.chart('not drawn', 'time, s', 'N', [ChartLine('empty', x[:0], x[:0])])
    (tmp_path / 'report.html').write_text(report.text())
    page.driver.get(f'file://{tmp_path}/report.html')
    return page


def test_a_gap_is_drawn_as_a_gap(broken: Browser) -> None:
    """Compare pixels of the first line's color in the columns of the gap and before it."""
    count = """
    const {plot} = document.querySelector('figure'), canvas = plot.ctx.canvas, [from, to] = arguments;
    const left = Math.round(plot.valToPos(from, 'x', true)), width = Math.round(plot.valToPos(to, 'x', true)) - left;
    const {data} = plot.ctx.getImageData(left, 0, width, canvas.height);
    let blue = 0;
    for (let k = 0; k < data.length; k += 4) blue += data[k + 3] > 200 && data[k + 2] - data[k] > 100;
    return blue;
    """
    broken.until(lambda: broken.script(count, 1, 4) > 100, 'the line before the gap is drawn')
    assert broken.script(count, 5.1, 7.9) == 0
    assert broken.script(count, 8, 9.8) > 100


def test_odd_lines_are_drawn_or_left_out(broken: Browser) -> None:
    assert broken.script(TITLES) == ['a & b', 'constant but for rounding', 'one point']
    broken.until(lambda: broken.script(COLORED.replace('500', '5')), 'every chart has lines')
    assert [entry for entry in broken.driver.get_log('browser') if entry['level'] == 'SEVERE'] == []


def test_a_chart_is_saved_with_gaps_axes_and_names(broken: Browser) -> None:
    saved = ET.fromstring(broken.driver.execute_async_script(SAVED, 0))
    space = '{http://www.w3.org/2000/svg}'
    paths = [path.get('d', '').count('M') for path in saved.iter(f'{space}path')]
    assert paths == [2, 1], 'broken at the gap alone, also where only another line has a point'
    assert [name.text for name in saved.iter(f'{space}tspan')] == ['<broken>', 'whole']
    assert {'time, s', 'N m', '0', '0.5', '-1'} <= {text.text for text in saved.iter(f'{space}text')}
    assert saved.find(f'{space}svg/{space}path') is not None, 'lines are within the axes'
