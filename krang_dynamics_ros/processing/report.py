"""HTML report of a recording: contents, refusals, and the model compared with measurements."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from ..core.spatial import Array
from ..dynamics.factory import BACKENDS
from ..dynamics.terms import TERMS
from ..reports.html_report import HELP, ChartLine, HtmlReport
from .summary import Downsampled, JointError, Summary

TABLE = ('joint', 'RMS', 'mean |error|', 'std of the effort', 'RMS / std')
EstimateHands = Callable[[Array, Array], Mapping[str, Array]]
AXES = ('x', 'y', 'z')
COLORS = {'effort': '#9bb8d3', 'model': '#c2410c', 'residual': '#9ca3af', 'inertia': '#15803d'}
SHOWN = ('effort', 'model')  # always visible


WORDS = {
    'effort': 'The measured torque, or force, of a joint.',
    'model': 'Prediction of the effort: the sum of the terms that the measurement contains.',
    'residual': 'Effort minus model.',
    'RMS': 'Root of the mean squared residual.',
    'std of the effort': 'Standard deviation of the effort.',
    'RMS / std': 'RMS over the standard deviation of the effort. A model that predicts only the mean has 1.',
    'inertia': 'Torque that accelerates the bodies.',
    **{name: f'{term.meaning[0].upper()}{term.meaning[1:]}.' for name, term in TERMS.items()},
}


def report(summary: Summary, units: Mapping[str, str], downsampled: Downsampled, estimate: EstimateHands) -> str:
    """Return the report as a single HTML file.

    Args:
        summary: Counts, errors and notes of the recording.
        units: Unit of the effort by joint, in the order of the columns.
        downsampled: States and torques for the charts.
        estimate: Returns the wrenches of the hands at a pose from external torques.
    """
    page = HtmlReport(f'{summary.recording.rpartition("/")[2]}: torques')
    page.paragraph(
        f'{summary.states} states in {summary.seconds:.1f} s, out of {summary.joint_state_count} joint state messages; '
        f'computed by {BACKENDS[summary.backend]}. Torques are in N m, or in N for prismatic joints.'
    )
    for note in summary.notes:
        page.paragraph(f'Note: {note}.')
    _errors(page, summary)
    _charts(page, summary.errors, units, downsampled)
    _wrenches(page, downsampled)
    _estimated(page, downsampled, estimate)
    _contents(page, summary)
    page.heading('Words')
    page.table(('word', 'meaning'), [(word, WORDS[word]) for word in WORDS if word in (*TABLE, *downsampled.names)])
    return page.text()


def _contents(page: HtmlReport, summary: Summary) -> None:
    page.heading('Contents of the recording')
    rows = [(topic, kind, str(count)) for topic, (kind, count) in summary.topics.items()]
    page.table(('topic', 'type', 'messages'), rows, [topic in summary.used for topic in summary.topics])
    page.paragraph('Marked topics were used.')
    page.paragraph(f'Assumed: {summary.assumed}.')
    for fault in summary.suspected_faults:
        page.paragraph(fault)
    if summary.refused:
        page.heading('Refused messages')
        refused = [(name, str(count), reason) for name, (count, reason) in summary.refused.items()]
        page.table(('input', 'messages', 'last reason'), refused)


def _errors(page: HtmlReport, summary: Summary) -> None:
    page.heading('Model against measured efforts')
    errors = summary.errors
    if not errors:
        page.paragraph(f'{summary.why_no_errors}.')
        return
    if summary.effort_source == 'joint':
        page.paragraph('Efforts are of sensors behind the gears: the model is without friction and rotors.')
    rows = [
        (error.joint, f'{error.rms:.4g}', f'{error.mean_absolute:.4g}', f'{error.spread:.4g}', f'{error.relative:.4f}')
        for error in errors
    ]
    page.table(TABLE, rows, [k == 0 for k in range(len(rows))])
    page.paragraph(f'The joint with the largest RMS is first: {errors[0].joint}.')


def _charts(page: HtmlReport, errors: Sequence[JointError], units: Mapping[str, str], downsampled: Downsampled) -> None:
    """Draw every joint, the largest RMS first. If the effort is known, only effort and model are shown initially."""
    page.heading('Joint by joint')
    page.paragraph(f'{HELP} For joints with known effort, only effort and model are shown initially.')
    joints = [*units]
    for name in dict.fromkeys([*(error.joint for error in errors), *joints]):
        points = {column: downsampled.line(column, joints.index(name)) for column in (*SHOWN, *downsampled.names)}
        known = {column: line for column, line in points.items() if len(line[0])}
        lines = [
            ChartLine(column, *line, COLORS.get(column) or TERMS[column].color,
                      'effort' in known and column not in SHOWN, 3.0 if column == 'effort' else 1.3, downsampled.gap)
            for column, line in known.items()
        ]  # fmt: skip
        if lines:
            page.chart(name, 'time, s', units[name], lines)


def _wrenches(page: HtmlReport, downsampled: Downsampled) -> None:
    """Draw the wrenches that the robot applies with its hands, from the sensors."""
    wrenches = {} if downsampled.states is None else downsampled.states.wrenches
    if wrenches:
        page.heading('Wrenches that the robot applies')
        page.paragraph('From the sensors, without bias and weights; zero where unknown.')
    for frame, vectors in wrenches.items():
        axes, about = frame.axes or frame.link, frame.about or frame.link
        given = '' if axes == about == frame.link else f', in the axes of {axes}, about the origin of {about}'
        _six(page, f'{frame.link}{given}', downsampled.seconds, vectors, downsampled.gap)


def _estimated(page: HtmlReport, downsampled: Downsampled, estimate: EstimateHands) -> None:
    """Draw the wrenches on the hands estimated from the external torques, if these were computed."""
    if 'external' not in downsampled.names or downsampled.states is None:
        return
    by_hand: dict[str, dict[int, Array]] = {}
    for k, (q, torque) in enumerate(zip(downsampled.states.q, downsampled.column('external'), strict=True)):
        for hand, wrench in estimate(q, torque).items():
            by_hand.setdefault(hand, {})[k] = wrench
    if by_hand:
        page.heading('Wrenches of the world on the hands, from the external torques')
        page.paragraph('In the axes of the hand, about its origin, where they are observable.')
    for hand, rows in by_hand.items():
        _six(page, hand, downsampled.seconds[[*rows]], np.array([*rows.values()]), downsampled.gap)


def _six(page: HtmlReport, title: str, seconds: Array, vectors: Array, gap: float) -> None:
    """Draw forces and moments over time."""
    for name, unit, values in (('force', 'N', vectors[:, :3]), ('moment', 'N m', vectors[:, 3:])):
        lines = [ChartLine(axis, seconds, values[:, k], gap=gap) for k, axis in enumerate(AXES)]
        page.chart(f'{title}: {name}', 'time, s', unit, lines)
