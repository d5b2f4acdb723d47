"""The report of one recording, for a person: what was in it, what was refused, measured against model."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from ..core.spatial import Array
from ..dynamics.terms import TERMS
from ..reports.page import HELP, Line, Page
from .summary import Downsampled, JointError, Summary

TABLE = ('joint', 'RMS', 'mean |error|', 'std of the effort', 'RMS / std')
BACKENDS = {'compiled': 'compiled C', 'pinocchio': 'Pinocchio'}
EstimateHands = Callable[[Array, Array], Mapping[str, Array]]
AXES = ('x', 'y', 'z')
COLORS = {'effort': '#9bb8d3', 'model': '#c2410c', 'residual': '#9ca3af', 'inertia': '#15803d'}
SHOWN = ('effort', 'model')  # the model is drawn on the effort


WORDS = {
    'effort': 'The measured torque, or force, of a joint.',
    'model': 'What the model predicts for the effort: the sum of the terms that the measurement contains.',
    'residual': 'Effort minus model.',
    'RMS': 'Root of the mean squared residual.',
    'std of the effort': 'Standard deviation of the effort.',
    'RMS / std': 'RMS over the standard deviation of the effort. A model that predicts only the mean has 1.',
    'inertia': 'Torque that accelerates the bodies.',
    **{name: f'{term.meaning[0].upper()}{term.meaning[1:]}.' for name, term in TERMS.items()},
}


def report(summary: Summary, units: Mapping[str, str], downsampled: Downsampled, estimate: EstimateHands) -> str:
    """Return the report as one HTML file.

    Args:
        summary: Counts, errors and notes of the recording.
        units: Unit of the effort by joint, in the order of the columns.
        downsampled: States and torques for the charts.
        estimate: Returns the wrenches of the hands at a pose from external torques.
    """
    page = Page(f'{summary.recording.rpartition("/")[2]}: torques')
    page.paragraph(
        f'{summary.states} states in {summary.seconds:.1f} s, out of {summary.heard} joint state messages; computed by '
        f'{BACKENDS[summary.backend]}. Torques are in N m, or in N where a joint slides.'
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


def _contents(page: Page, summary: Summary) -> None:
    page.heading('What was in the recording')
    rows = [(topic, kind, str(count)) for topic, (kind, count) in summary.topics.items()]
    page.table(('topic', 'type', 'messages'), rows, [topic in summary.used for topic in summary.topics])
    page.paragraph('Marked topics were used.')
    page.paragraph(f'Assumed: {summary.assumed}.')
    for oddity in summary.oddities:
        page.paragraph(oddity)
    if summary.refused:
        page.heading('What was refused')
        refused = [(name, str(count), reason) for name, (count, reason) in summary.refused.items()]
        page.table(('input', 'messages', 'the last because'), refused)


def _errors(page: Page, summary: Summary) -> None:
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
    page.paragraph(f'The joint with the largest RMS stands first: {errors[0].joint}.')


def _charts(page: Page, errors: Sequence[JointError], units: Mapping[str, str], downsampled: Downsampled) -> None:
    """Draw every joint, that with the largest RMS first; next to an effort, terms and residual are hidden at first."""
    page.heading('Joint by joint')
    page.paragraph(f'{HELP} Terms and residual of a joint whose effort is known are hidden at first.')
    joints = [*units]
    for name in dict.fromkeys([*(error.joint for error in errors), *joints]):
        points = {column: downsampled.line(column, joints.index(name)) for column in (*SHOWN, *downsampled.names)}
        known = {column: line for column, line in points.items() if len(line[0])}
        lines = [
            Line(column, *line, COLORS.get(column) or TERMS[column].color, 'effort' in known and column not in SHOWN,
                 3.0 if column == 'effort' else 1.3, downsampled.gap)
            for column, line in known.items()
        ]  # fmt: skip
        if lines:
            page.chart(name, 'time, s', units[name], lines)


def _wrenches(page: Page, downsampled: Downsampled) -> None:
    """Draw what the robot applied with its hands, as their sensors say."""
    places = {} if downsampled.states is None else downsampled.states.wrenches
    if places:
        page.heading('Wrenches that the robot applies')
        page.paragraph('By the sensors, without bias and weights; zero where none was known.')
    for place, vectors in places.items():
        axes, about = place.axes or place.link, place.about or place.link
        given = '' if axes == about == place.link else f', in the axes of {axes}, about the origin of {about}'
        _six(page, f'{place.link}{given}', downsampled.seconds, vectors, downsampled.gap)


def _estimated(page: Page, downsampled: Downsampled, estimate: EstimateHands) -> None:
    """Draw what the external torques tell of the hands, where the observer was asked for."""
    if 'external' not in downsampled.names or downsampled.states is None:
        return
    told: dict[str, dict[int, Array]] = {}
    for k, (q, torque) in enumerate(zip(downsampled.states.q, downsampled.column('external'), strict=True)):
        for hand, wrench in estimate(q, torque).items():
            told.setdefault(hand, {})[k] = wrench
    if told:
        page.heading('Wrenches of the world on the hands, from the external torques')
        page.paragraph('In the axes of the hand, about its origin, where the joints can tell.')
    for hand, rows in told.items():
        _six(page, hand, downsampled.seconds[[*rows]], np.array([*rows.values()]), downsampled.gap)


def _six(page: Page, title: str, seconds: Array, vectors: Array, gap: float) -> None:
    """Draw forces, and moments, over time."""
    for what, unit, values in (('force', 'N', vectors[:, :3]), ('moment', 'N m', vectors[:, 3:])):
        lines = [Line(axis, seconds, values[:, k], gap=gap) for k, axis in enumerate(AXES)]
        page.chart(f'{title}: {what}', 'time, s', unit, lines)
