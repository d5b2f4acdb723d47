"""Calibration as parameters of the node: by name, as a file, and as text on a terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from .fit import Calibration

DIGITS = 6  # significant digits


def values(calibration: Calibration, hand: str, payload: bool) -> dict[str, Any]:
    """Return the node's parameters by name: the bias, and the body as tool or payload.

    Poses at rest do not determine the inertia of a payload about its centre of mass: it is zero.
    """
    what = 'payload' if payload else 'tool'
    found: dict[str, Any] = {
        f'{hand}.sensor.bias': _rounded(calibration.bias),
        f'{hand}.{what}.mass': _rounded([calibration.mass])[0],
        f'{hand}.{what}.com': _rounded(calibration.com),
    }
    return found | ({f'{hand}.payload.inertia': [0.0] * 6} if payload else {})


def _rounded(numbers: Any) -> list[float]:
    return [float(f'{x:.{DIGITS}g}') for x in numbers]


def parameter_file(calibration: Calibration, hand: str, payload: bool) -> str:
    """Return the text of a parameter file for the node, with the standard deviation of each number."""
    texts = [f'{x:.2g}' for x in calibration.deviations]
    deviations = {'bias': texts[:6], 'mass': texts[6:7], 'com': texts[7:]}
    force, moment = calibration.residual
    lines = [
        f'# The {hand} wrist sensor, from {calibration.poses} poses at rest: condition number '
        f'{calibration.condition:.1f}, residual {force:.2g} N and {moment:.2g} N m.',
        *(f'# {line}' for line in _remarks(calibration)),
        '',
        '/**/krang_dynamics:',
        '  ros__parameters:',
        f'    {hand}:',
    ]
    for section, settings in _sections(values(calibration, hand, payload)).items():
        lines.append(f'      {section}:')
        for key, value in settings.items():
            remark = f'+- {", ".join(deviations[key])}' if key in deviations else 'not determined by poses at rest'
            lines.append(f'        {key}: {value}  # {remark}')
    return '\n'.join([*lines, ''])


def _remarks(calibration: Calibration) -> list[str]:
    """Return remarks on left-out samples and drift, for the head of the file."""
    remarks = []
    if calibration.left_out:
        remarks.append(f'Left out: sample {", ".join(map(str, calibration.left_out))}.')
    if calibration.drift is not None:
        drift = ', '.join(f'{x:.2g}' for x in calibration.drift)
        remarks.append(f'The bias is that at the last sample. It drifted by [{drift}] N, N m')
        remarks.append(f'a {calibration.drift_unit}: zero the sensor again before use (service `zero`).')
    return remarks


def _sections(found: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    sections: dict[str, dict[str, Any]] = {}
    for name, value in found.items():
        _, section, key = name.split('.')
        sections.setdefault(section, {})[key] = value
    return sections


def table(calibration: Calibration | None, title: str, status: str, next_pose: str) -> list[str]:
    """Return the lines for a terminal: instructions first, then the numbers."""
    to_do = [f'  now   {status}', f'  next  {next_pose}']
    if calibration is None:
        return [title, *to_do]
    force, moment = calibration.residual
    condition = f'{calibration.condition:.1f}' if calibration.condition < 1e4 else 'infinite'
    left_out = f', without sample {", ".join(map(str, calibration.left_out))}' if calibration.left_out else ''
    reasons = [f'  not concluded: {why}' for why in calibration.trouble.splitlines()]
    return [
        f'{title}: {calibration.poses} {"pose" if calibration.poses == 1 else "poses"}{left_out}',
        f'  condition number {condition}   residual {force:.3f} N, {moment:.4f} N m',
        *(reasons or ['  the poses determine the numbers']),
        *to_do,
        *_numbers(calibration),
    ]


def _numbers(calibration: Calibration) -> Sequence[str]:
    """Return a line for each number; none if the poses do not determine them."""
    if calibration.trouble:
        return []
    names = [*(f'{what} {axis}' for what in ('bias force', 'bias moment') for axis in 'xyz'), 'mass']
    names += [f'centre of mass {axis}' for axis in 'xyz']
    units = [*['N'] * 3, *['N m'] * 3, 'kg', *['m'] * 3]
    found = [*calibration.bias, calibration.mass, *calibration.com]
    rows = [*zip(names, found, units, calibration.deviations, strict=True), *_drift_rows(calibration)]
    return [f'  {name:<18}{x:>10.{_decimals(unit)}f} {unit:<4} +- {s:.{_decimals(unit)}f}' for name, x, unit, s in rows]


def _drift_rows(calibration: Calibration) -> list[tuple[str, float, str, float]]:
    if calibration.drift is None or calibration.drift_deviations is None:
        return []
    names = [f'drift {what} {axis}' for what in ('force', 'moment') for axis in 'xyz']
    units = [f'{unit}/{calibration.drift_unit}' for unit in [*['N'] * 3, *['N m'] * 3]]
    return [*zip(names, calibration.drift.tolist(), units, calibration.drift_deviations.tolist(), strict=True)]


def _decimals(unit: str) -> int:
    return 5 if unit == 'm' or '/' in unit else 4  # a centre of mass is soon known to a tenth of a millimetre
