"""HTML report of an identification: errors, charts, and numbers with standard deviations."""

from __future__ import annotations

import numpy as np

from ..core.spatial import Array
from ..reports.html_report import HELP, ChartLine, HtmlReport
from ..robot.robot import joint_units
from ..robot.robot_writer import number
from .identified_file import factor_label, factor_unit
from .identify import Identified

POINTS = 1500  # at most in a chart: more would hide each other
GAP = 5.0  # times the usual time between rows: a line is broken there
MEASURED, MODEL = '#9bb8d3', '#c2410c'  # a broad light line, and a thin dark one on it
NUMBERS = ('mass', 'com x', 'com y', 'com z', 'Ixx', 'Ixy', 'Ixz', 'Iyy', 'Iyz', 'Izz')
UNITS = ('kg', 'm', 'm', 'm', *['kg m^2'] * 6)
WORDS = {
    'effort': 'The torque (or force) of a drive at its joint, as recorded.',
    'held-out data': 'The period of the motion, or the recording, is cut into six blocks; the effort of each is '
    'predicted by a model that is fitted to the other five, by ridge regression. The load of a joint in that model, '
    'the choice of its terms, and the weights of the joints are by all six.',
    'raw': 'Root of the mean squared difference between effort and model, over the standard deviation of the effort. '
    'A model that predicts only the mean has 1.',
    'smoothed': 'The same difference after smoothing at the cut-off: the error of slow efforts.',
    'floor': 'The difference between the effort and its own smoothing, in the same unit: no smooth motion '
    'explains it. A raw error cannot be less.',
    '+-': 'A standard deviation: how far the number would scatter if this recording were repeated. It is of repeats, '
    'and does not include model error.',
    'determined': 'The recording has at least halved the standard deviation that the number had before.',
    'load': 'Gravity and Coriolis torque of the bodies.',
    'pushing, braking': 'The part of its load that the effort of a drive shows, while it pushes and while it brakes.',
    'presliding': 'Friction before a joint slides: it begins like a spring.',
    'prior width': 'How far bodies may be from those of the robot file: the prior standard deviation, relative.',
}


def identification_report(found: Identified) -> str:
    """Return the report as one HTML file."""
    page = HtmlReport(f'{found.robot.name}: identified from {", ".join(found.sources)}')
    page.paragraph(
        f'{found.duration:.1f} s of motion, {len(found.samples.time)} rows. Error on held-out data: '
        f'{found.errors.mean():.3f} (raw), {found.smooth_errors.mean():.3f} (smoothed); no smooth motion explains '
        f'{found.floor.mean():.3f} of the efforts. Model: {found.structure}.'
    )
    for warning in found.warnings:
        page.paragraph(f'Note: {warning}.')
    _errors(page, found)
    _charts(page, found)
    _joints(page, found)
    _bodies(page, found)
    page.heading('Trials')
    trials = sorted(found.trials, key=lambda trial: trial.error)
    page.table(('mean error', 'model'), [(f'{trial.error:.4f}', str(trial.structure)) for trial in trials])
    page.heading('Words')
    page.table(('word', 'meaning'), [*WORDS.items()])
    return page.text()


def _errors(page: HtmlReport, found: Identified) -> None:
    page.heading('Error by joint, on held-out data')
    units = joint_units(found.robot)
    rows = []
    for j in np.argsort(-found.errors):
        name, effort_std = found.joint_names[j], float(found.samples.effort_std[j])
        numbers = (found.errors[j], found.smooth_errors[j], found.floor[j])
        absolute = (number(found.errors[j] * effort_std, 3), number(effort_std, 3), units[name].effort)
        rows.append((name, *(f'{x:.4f}' for x in numbers), *absolute))
    head = ('joint', 'raw', 'smoothed', 'floor', 'RMSE', 'std of the effort', 'unit')
    page.table(head, rows, [True])
    page.paragraph(f'Mean {found.errors.mean():.4f}; {rows[0][0]} is explained worst.')


def _charts(page: HtmlReport, found: Identified) -> None:
    page.heading('Measured and predicted')
    page.paragraph(f'{HELP} Hidden at first: the difference, and each part of the model.')
    for j in np.argsort(-found.errors):
        name = found.joint_names[j]
        effort = joint_units(found.robot)[name].effort
        page.chart(f'{name}: effort, predicted on held-out data', 'time, s', effort, _lines(found, int(j)))


def _lines(found: Identified, j: int) -> list[ChartLine]:
    """Return effort and model of a joint over time; hidden at first: their difference and the parts of the model."""
    s, step = found.samples, max(1, -(-len(found.samples.time) // POINTS))
    time = _one_after_the_other(found)
    gap = GAP * step / s.rate

    def line(name: str, values: Array, color: str = '', width: float = 1.3, hidden: bool = False) -> ChartLine:
        return ChartLine(name, time[::step], values[::step], color=color, width=width, hidden=hidden, gap=gap)

    unseen = found.fit.held_out[:, j]
    parts = [line(name, term[:, j], hidden=True) for name, term in found.fit.terms.items() if term[:, j].any()]
    return [
        line('measured', s.effort[:, j], MEASURED, 3.0),
        line('predicted', unseen, MODEL),
        line('difference', s.effort[:, j] - unseen, hidden=True),
        *parts,
    ]


def _one_after_the_other(found: Identified) -> Array:
    """Return the time (rows), s, of recordings that are drawn one after the other."""
    s, time, begin = found.samples, found.samples.time.copy(), 0.0
    for k in np.unique(s.recording_index):
        time[s.recording_index == k] += begin
        begin = float(time[s.recording_index == k].max()) + 1.0
    return time


def _joints(page: HtmlReport, found: Identified) -> None:
    page.heading('Friction, rotors and other effects of the joints')
    units, rows = joint_units(found.robot), []
    for j, name in enumerate(found.joint_names):
        for factor, value, deviation in found.factors(j):
            numbers = number(value, 4), number(deviation, 2)
            rows.append((name, factor_label(factor), *numbers, factor_unit(factor, units[name])))
    for k, pair in enumerate(found.structure.couplings):
        names = f'{found.joint_names[pair.first]} {"+" if pair.sign > 0 else "-"} {found.joint_names[pair.second]}'
        values = zip(pair.names, found.fit.coupling_factors(k), found.coupling_deviation(k), strict=True)
        rows += [(names, name, number(value, 4), number(sure, 2), '') for name, value, sure in values]
    page.table(('joint', 'number', 'value', '+-', 'unit'), rows)


def _bodies(page: HtmlReport, found: Identified) -> None:
    page.heading('Bodies: numbers from the recording and from the robot file')
    page.paragraph(
        f"{found.combinations_text}. A motion determines combinations of the bodies' numbers (base parameters), hardly "
        'ever single numbers. Marked rows, which come first, are determined by the recording. The others '
        'stay near the values of the robot file. A small error of the torque does not prove them.'
    )
    rows = []
    for k, link in enumerate(found.links):
        values = found.robot.link_of[link].inertia.central_parameters
        deviations, sure = found.body_deviation(k), found.is_determined(k)
        for name, unit, value, after, before, is_sure in zip(NUMBERS, UNITS, values, *deviations, sure, strict=True):
            row = (f'{link} {name}', number(value, 4), number(after, 2), number(before, 2), unit)
            rows.append((bool(is_sure), row))
    rows.sort(key=lambda row: not row[0])
    head = ('number', 'value', '+-', '+- without the recording', 'unit')
    page.table(head, [row for _, row in rows], [is_sure for is_sure, _ in rows])
