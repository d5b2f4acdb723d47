"""The report of one recording, for a person: what was in it, what was refused, measured against model."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from ..core.spatial import Array
from ..dynamics.terms import TERMS
from ..recordings.report_page import Line, Page
from .errors_by_joint import JointError
from .summary import Summary
from .thinned import Thinned

BACKENDS = {'compiled': 'compiled C', 'pinocchio': 'Pinocchio'}
EstimateHands = Callable[[Array, Array], Mapping[str, Array]]
AXES = ('x', 'y', 'z')
COLORS = {'effort': '#111827', 'model': '#dc2626', 'residual': '#9ca3af', 'inertia': '#15803d'}


def report(summary: Summary, joint_names: Sequence[str], thinned: Thinned, estimate: EstimateHands) -> str:
    """Return the report as one HTML file. `estimate` tells the hands' wrenches from external torques at a pose."""
    page = Page(f'{summary.recording.rpartition("/")[2]}: torques')
    page.paragraph(
        f'{summary.states} states in {summary.seconds:.1f} s, out of {summary.heard} joint state messages; computed by '
        f'{BACKENDS[summary.backend]}. Torques are in N m, or in N where a joint slides.'
    )
    _contents(page, summary)
    _errors(page, summary)
    _charts(page, summary.errors, joint_names, thinned)
    _wrenches(page, thinned)
    _estimated(page, thinned, estimate)
    return page.text()


def _contents(page: Page, summary: Summary) -> None:
    page.heading('What was in it')
    rows = [(topic, kind, str(count)) for topic, (kind, count) in summary.topics.items()]
    page.table(('topic', 'type', 'messages'), rows, [topic in summary.used for topic in summary.topics])
    page.paragraph('Marked topics were used.')
    for note in summary.notes:
        page.paragraph(f'Note: {note}.')
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
    head = ('joint', 'RMS', 'mean |error|', 'std of the effort', 'RMS / std')
    page.table(head, rows, [k == 0 for k in range(len(rows))])
    page.paragraph(f'The worst explained joint stands first: {errors[0].joint}.')


def _charts(page: Page, errors: Sequence[JointError], joint_names: Sequence[str], thinned: Thinned) -> None:
    """Draw every joint, the worst explained first."""
    page.heading('Joint by joint')
    page.paragraph('A wheel zooms, a drag moves, a double click shows all again; a click on a name hides its line.')
    ranked = [error.joint for error in errors]
    for name in [*ranked, *(name for name in joint_names if name not in ranked)]:
        lines = []
        for column in thinned.names:
            seconds, values = thinned.line(column, joint_names.index(name))
            if len(values):
                color = COLORS.get(column) or TERMS[column].color
                lines.append(Line(column, seconds, values, color=color))
        if lines:
            page.chart(name, 's', 'N m or N', lines)


def _wrenches(page: Page, thinned: Thinned) -> None:
    """Draw what the robot applied with its hands, as their sensors say."""
    places = {} if thinned.states is None else thinned.states.wrenches
    if places:
        page.heading('Wrenches that the robot applies')
        page.paragraph('By the sensors, without bias and weights; zero where none was known.')
    for place, vectors in places.items():
        axes, about = place.axes or place.link, place.about or place.link
        given = '' if axes == about == place.link else f', in the axes of {axes}, about the origin of {about}'
        _six(page, f'{place.link}{given}', thinned.seconds, vectors)


def _estimated(page: Page, thinned: Thinned, estimate: EstimateHands) -> None:
    """Draw what the external torques tell of the hands, where the observer was asked for."""
    if 'external' not in thinned.names or thinned.states is None:
        return
    told: dict[str, dict[int, Array]] = {}
    for k, (q, torque) in enumerate(zip(thinned.states.q, thinned.column('external'), strict=True)):
        for hand, wrench in estimate(q, torque).items():
            told.setdefault(hand, {})[k] = wrench
    if told:
        page.heading('Wrenches of the world on the hands, from the external torques')
        page.paragraph('In the axes of the hand, about its origin, where the joints can tell.')
    for hand, rows in told.items():
        _six(page, hand, thinned.seconds[[*rows]], np.array([*rows.values()]))


def _six(page: Page, title: str, seconds: Array, vectors: Array) -> None:
    """Draw forces, and moments, over time."""
    for what, unit, values in (('force', 'N', vectors[:, :3]), ('moment', 'N m', vectors[:, 3:])):
        lines = [Line(axis, seconds, values[:, k]) for k, axis in enumerate(AXES)]
        page.chart(f'{title}: {what}', 's', unit, lines)
