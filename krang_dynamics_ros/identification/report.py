"""The report of an identification, for a person who wants to see what is explained and what is missing."""

from __future__ import annotations

import numpy as np

from ..core.spatial import Array, upper_triangle
from ..recordings.report_page import Line, Page
from ..robot.robot_writer import number
from ..robot.units import joint_units
from .identified import Identified

POINTS = 1500  # at most in a chart: more are hidden behind each other
NUMBERS = ('mass', 'com x', 'com y', 'com z', 'Ixx', 'Ixy', 'Ixz', 'Iyy', 'Iyz', 'Izz')
UNITS = ('kg', 'm', 'm', 'm', *['kg m^2'] * 6)


def identification_report(found: Identified) -> str:
    """Return the report as one HTML file."""
    page = Page(f'{found.robot.name}: identified from {", ".join(found.sources)}')
    page.paragraph(
        f'{len(found.samples.phase)} rows of motion. Model: {found.structure}. Errors are of rows left out: the period '
        'of the motion is cut into blocks by phase, and each block is predicted from the others. An error is the root '
        'of the mean square over the standard deviation of the effort.'
    )
    _errors(page, found)
    _charts(page, found)
    _joints(page, found)
    _bodies(page, found)
    page.heading('What was tried')
    rows = [
        (f'{trial.error:.4f}', str(trial.structure)) for trial in sorted(found.trials, key=lambda trial: trial.error)
    ]
    page.table(('mean error', 'model'), rows)
    return page.text()


def _errors(page: Page, found: Identified) -> None:
    page.heading('Error by joint')
    worst, units = int(np.argmax(found.errors)), joint_units(found.robot)
    rows = [
        (name, f'{error:.4f}', number(error * spread, 3), number(spread, 3), units[name].effort)
        for name, error, spread in zip(found.joint_names, found.errors, found.samples.spread, strict=True)
    ]
    marked = [k == worst for k in range(len(rows))]
    page.table(('joint', 'RMSE / std', 'RMSE', 'std of the effort', 'unit'), rows, marked)
    page.paragraph(f'Mean {found.errors.mean():.4f}; {found.joint_names[worst]} is explained worst.')


def _charts(page: Page, found: Identified) -> None:
    s, step = found.samples, max(1, -(-len(found.samples.phase) // POINTS))
    row = np.arange(len(s.phase), dtype=float)
    load, units = s.Y_load @ found.solution.phi, joint_units(found.robot)
    for j, name in enumerate(found.joint_names):
        page.heading(name)
        speed, effort = units[name].velocity, units[name].effort
        residual = s.effort[:, j] - found.unseen[:, j]
        lines = [
            _line('measured', row, s.effort[:, j], step), _line('predicted', row, found.unseen[:, j], step),
            _line('difference', row, residual, step),
        ]  # fmt: skip
        page.chart(f'{name}: effort, predicted of rows left out', 'row', effort, lines)
        page.chart(
            f'{name}: difference against velocity', speed, effort, [_line(name, s.dq[:, j], residual, step, dots=True)]
        )
        page.chart(
            f'{name}: difference against load', f'gravity and Coriolis load, {effort}', effort,
            [_line(name, load[:, j], residual, step, dots=True)],
        )  # fmt: skip


def _line(name: str, x: Array, y: Array, step: int, *, dots: bool = False) -> Line:
    return Line(name, x[::step], y[::step], dots)


def _joints(page: Page, found: Identified) -> None:
    page.heading('Friction and rotors')
    columns = found.structure.columns
    head = ['joint']
    for column in columns:
        head += ['N^2 J_m' if column == 'rotor_inertia' else column, '+-']
    rows = []
    for j, name in enumerate(found.joint_names):
        row = [name]
        for k, column in enumerate(columns):
            value = found.solution.factors[j, k] + (column in ('pushing', 'braking'))
            row += [number(value, 4), number(found.deviation(j, column), 2)]
        rows.append(row)
    page.table(head, rows)


def _bodies(page: Page, found: Identified) -> None:
    page.heading('Bodies: what the recording determines, and what only the prior does')
    page.paragraph(
        'Behind +- is the standard deviation. Marked rows are those that the recording determines: it has at least '
        'halved what was not known before. Of the others it says little, and they stay near what the robot file had. '
        'A small error of the torque does not prove them.'
    )
    rows, marked = [], []
    for k, link in enumerate(found.links):
        body = found.robot.link_of[link].inertia
        values = np.concatenate([[body.m], body.com, upper_triangle(body.I_G)])
        deviation, before = found.body_deviation(k)
        for name, unit, value, sure, unsure in zip(NUMBERS, UNITS, values, deviation, before, strict=True):
            rows.append((f'{link} {name}', number(value, 4), number(sure, 2), number(unsure, 2), unit))
        marked += found.told(k).tolist()
    page.table(('number', 'value', '+-', '+- without the recording', 'unit'), rows, marked)
    page.paragraph(
        f'{found.combinations} of {len(rows)} combinations of these numbers are known better from the recording than '
        'before: a motion determines combinations (base parameters), hardly ever single numbers.'
    )
