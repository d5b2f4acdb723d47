"""Mistakes in a recording: in time, then units of positions, then columns and gravity, then the load.

Time comes first: with a wrong time, nothing else can be judged. Units of efforts, signs, the order of joints and
gravity are tried together, each as a single mistake. That whose repair improves the fit most, and clearly, is
repaired; then the search begins again.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations

import numpy as np

from ..core.spatial import Array
from ..recordings.recording import Recording, RecordingError, motion_only
from ..recordings.timing import TOLERANCE, Timing, VelocityRatio, differing
from ..robot.robot import Robot
from .evidence import ColumnMapping, Evidence, time_by_inertia, with_time
from .predict import predict

ASSUMED = 'rad, rad/s, N m (m, m/s, N); effort is what the joint applies, positive along its axis, gravity included'
WRONG_TIME = 3.0  # without velocities: larger factors of time show in the inertia's share
DEGREES = 180 / np.pi
VELOCITY_UNITS = {DEGREES: 'degrees per second', 30 / np.pi: 'revolutions per minute', 1000.0: 'mrad/s (mm/s)'}
COUNTS = 0.7  # partial R^2 of the model's torque from which a joint's slope counts
OTHER_UNIT = 5.0  # times too large or too small: the error of a robot file is smaller
MILLI = (300.0, 3000.0)  # slopes that mean mN m
AMPERES = (0.01, 0.3)  # slopes that may mean amperes
MAX_LEFT = 0.9  # of the error: may be left by a repair, if the model explains all joints in question
MAX_LEFT_UNEXPLAINED = 0.8  # the same, if the model does not explain them
MAX_LEFT_IMPOSSIBLE = 1.05  # the same for values that are impossible by themselves
MAX_LEFT_STIFF = 0.5  # the same with the file's bodies: another unit of all efforts, or gravity
MAX_LEFT_LOAD = 0.55  # the same for a load
EQUAL = 0.99  # a repair must leave less than this part of the error of one tried before, which is simpler
BETTER = 0.95  # the same for a repair with more freedom
MAX_MISTAKES = 6
AWAY = 15.0  # degrees, between fitted gravity and that of the robot file
WEIGHTLESS = 3.0  # m/s^2: less counts as no gravity
MIN_LOAD = 0.1  # kg
UNEXPLAINED = 0.5  # mean error from which the recording is not of this robot
MODEL = 0.01  # error without repair below which a model computed the efforts
IMPOSSIBLE = 5.0  # times a joint's effort limit: more than any drive gives


@dataclass(frozen=True)
class Finding:
    """A mistake: its kind, the joints or links concerned, the value that shows it, and what to change."""

    kind: str  # time, units, sign, order, turned, gravity, load, model, unexplained
    names: tuple[str, ...]
    value: float
    text: str
    change: str

    def __str__(self) -> str:
        return f'{self.kind}: {self.text}. {self.change}'


@dataclass(frozen=True, eq=False)
class Diagnosis:
    """All findings, in the order in which they were repaired, and the error that remains."""

    findings: tuple[Finding, ...]
    timing: Timing
    joint_names: tuple[str, ...]
    errors: Array = field(repr=False)  # (joints) of the repaired recording, over the standard deviation of the effort


def examine(robot: Robot, recording: Recording, quick: bool = False) -> Diagnosis:
    """Search a recording of a robot for mistakes; raise `RecordingError` if an effort never changes.

    `quick` leaves out exchanged or turned joints, the load, and whether the model explains the efforts, or made them.
    """
    names, timing = recording.joint_names, Timing.of(recording)
    _refuse_constant(recording)
    findings, recording = _repair_time(robot, recording)
    more, recording = _repair_positions(recording)
    findings += more
    motion = motion_only(recording)
    more, motion, robot = _repair_columns(robot, motion, quick)
    findings += more
    evidence = Evidence(robot, motion)
    findings += [*_velocity_findings(motion), *([] if quick else _load_findings(evidence))]
    errors = evidence.errors()
    if not (findings or quick):
        findings = [_unexplained(names, errors)] if errors.mean() >= UNEXPLAINED else _model_findings(robot, motion)
    return Diagnosis(tuple(findings), timing, names, errors)


def _refuse_constant(recording: Recording) -> None:
    """Refuse efforts that never change: their unit and sign cannot be checked."""
    still = [n for n, tau in zip(recording.joint_names, recording.measured_effort.T, strict=True) if np.ptp(tau) == 0]
    if still:
        others = ' '.join(name for name in recording.joint_names if name not in still)
        raise RecordingError(
            f'{recording.source}: the effort of {", ".join(still)} never changes, must be measured'
            + (f'; --joints {others} leaves it out' if others else '')
        )


Found = tuple[list[Finding], Recording]


def _repair_time(robot: Robot, recording: Recording) -> Found:
    """Compare velocities with the change of positions; without velocities, look at the share of the inertia."""
    ratio = VelocityRatio.of(recording)
    if ratio is None or not np.isfinite(ratio.ratio).any():
        return _repair_time_by_inertia(robot, recording)
    common = ratio.common
    if not np.isfinite(common) or abs(abs(common) - 1) < TOLERANCE:
        return [], recording
    for unit, name in VELOCITY_UNITS.items():
        if abs(common / unit - 1) < TOLERANCE / 2 and not _time_is_wrong(robot, recording, common):
            finding = Finding(
                'units', recording.joint_names, common,
                f'velocities are {common:.4g} times the rate of change of the positions: {name}',
                f'Multiply them by {1 / common:.4g}, to rad/s (m/s)',
            )  # fmt: skip
            return [finding], _with_velocity(recording, 1 / common)
    if abs(common * DEGREES - 1) < TOLERANCE / 2 and np.abs(recording.position).max() > 2 * np.pi:
        return [], _with_velocity(recording, DEGREES)  # positions in degrees: repaired next
    if common < 0:
        finding = Finding(
            'sign', recording.joint_names, common, f'velocities are {common:.3g} times the rate of change of positions',
            f'Multiply all velocities by {1 / common:.3g}',
        )  # fmt: skip
        return [finding], _with_velocity(recording, 1 / common)
    text = f'recorded velocities are {common:.4g} times the rate of change of the positions, must be 1'
    return [_time_finding(recording, 1 / common, text)], with_time(recording, 1 / common)


def _time_finding(recording: Recording, factor: float, text: str) -> Finding:
    """Return the finding for a time that must be multiplied by a factor."""
    rates = f'{recording.rate:.3g} rows per second become {recording.rate / factor:.3g}'
    return Finding('time', (), 1 / factor, text, f'Multiply time by {factor:.3g}: {rates}')


def _with_velocity(recording: Recording, factor: float) -> Recording:
    velocity = recording.velocity
    return recording if velocity is None else replace(recording, velocity=velocity * factor)


def _time_is_wrong(robot: Robot, recording: Recording, common: float) -> bool:
    """Return whether the time is wrong, not the unit of velocities: by the inertia's share, where it shows."""
    found = time_by_inertia(robot, recording)
    return found is not None and abs(np.log(found * common)) < abs(np.log(found))


def _repair_time_by_inertia(robot: Robot, recording: Recording) -> Found:
    factor = time_by_inertia(robot, recording)
    if factor is None or 1 / WRONG_TIME < factor < WRONG_TIME:
        return [], recording
    text = f"the part of the efforts that grows with acceleration is {factor**-2:.3g} times the model's, must be near 1"
    finding = _time_finding(recording, factor, text)
    return [replace(finding, text=f'{text}: time is wrong by a factor of about {factor:.2g}')], with_time(
        recording, factor
    )


def _repair_positions(recording: Recording) -> Found:
    """Find positions in degrees: joints that turn further than any arm can."""
    reach = np.abs(recording.position).max(axis=0)
    if not (reach > 4 * np.pi).any() or np.median(reach) < 2 * np.pi:
        return [], recording
    finding = Finding(
        'units', recording.joint_names, float(reach.max()),
        f'positions reach {reach.max():.4g}: degrees', f'Multiply them by {1 / DEGREES:.6g}, to rad',
    )  # fmt: skip
    return [finding], _with_velocity(replace(recording, position=recording.position / DEGREES), 1 / DEGREES)


def _repair_columns(robot: Robot, motion: Recording, quick: bool) -> tuple[list[Finding], Recording, Robot]:
    """Find units and signs of efforts, the order of joints, and gravity, one mistake at a time."""
    findings: list[Finding] = []
    for _ in range(MAX_MISTAKES):
        evidence = Evidence(robot, motion)
        mistake = _mistake(evidence, motion, quick)
        if mistake is None:
            break
        findings.append(mistake.finding)
        if mistake.gravity is not None:
            robot = replace(robot, gravity=mistake.gravity)
        else:
            motion = mistake.mapping.apply(motion, _follows(motion, mistake.mapping))
    return findings, motion, robot


def _follows(motion: Recording, mapping: ColumnMapping) -> bool:
    """Return whether velocities agree with positions as they are: then the mapping applies to both."""
    before, after = (VelocityRatio.of(x) for x in (motion, mapping.apply(motion, velocity=False)))
    if before is None or after is None:
        return True
    right = [int((np.abs(x.ratio - 1) < TOLERANCE).sum()) for x in (before, after)]
    return right[0] >= right[1]


@dataclass(frozen=True, eq=False)
class Mistake:
    """A possible mistake in the columns: the finding, and the mapping or the gravity that repairs it."""

    finding: Finding
    mapping: ColumnMapping
    gravity: Array | None = None
    joints: tuple[int, ...] = ()
    max_left: float = MAX_LEFT  # of the error


def _units(evidence: Evidence, motion: Recording) -> Iterator[Mistake]:
    """Yield joints whose efforts may have another unit: many times too large or small beside the other joints."""
    slope, names, over = evidence.slopes(), motion.joint_names, _over_limits(evidence, motion)
    size, counting = np.maximum(np.abs(slope.value), 1e-12), slope.explained >= COUNTS
    common = float(np.median(size[counting])) if counting.any() else 1.0
    for j, name in enumerate(names):
        relative = float(size[j]) / common if counting[j] else 1.0
        impossible = bool(over[j] > IMPOSSIBLE) and not (over > IMPOSSIBLE).all()
        if relative < 1 / OTHER_UNIT or (relative > OTHER_UNIT and not over[j] <= 1):
            factor = _rounded(relative)
            text = f"effort over the model's torque is about {factor:.4g} times as large for {name} as for other joints"
        elif impossible:
            factor = 1000.0
            text = f'the effort of {name} reaches {over[j]:.3g} times its limit in the robot file: mN m, probably'
        else:
            continue
        max_left = MAX_LEFT_IMPOSSIBLE if impossible else MAX_LEFT
        finding = Finding('units', (name,), factor, text, f'Set its effort_scale to {1 / factor:.3g}')
        factors = [1 / factor if k == j else 1.0 for k in range(evidence.n)]
        mapping = evidence.plain.times(factors, position=False, effort=True)
        yield Mistake(finding, mapping, joints=(j,), max_left=max_left)


def _rounded(factor: float) -> float:
    """Return 1000 for a factor near it, else the factor."""
    return 1000.0 if MILLI[0] < factor < MILLI[1] else factor


def _all_units(evidence: Evidence, names: Sequence[str]) -> Mistake | None:
    """Return a unit that all efforts may have, if they are many times too large or too small."""
    slope = evidence.slopes()
    size, counting = np.maximum(np.abs(slope.value), 1e-12), slope.explained >= COUNTS
    common = float(np.median(size[counting])) if counting.any() else 1.0
    if 1 / OTHER_UNIT < common < OTHER_UNIT:
        return None
    unit, change, factors = 'another unit', f'Multiply them by about {1 / common:.3g}', np.full(evidence.n, 1 / common)
    if _rounded(common) != common:
        unit, change, factors = 'mN m', 'Multiply them by 0.001', np.full(evidence.n, 1e-3)
    elif _rounded(1 / common) != 1 / common:
        unit, change, factors = 'kN m', 'Multiply them by 1000', np.full(evidence.n, 1e3)
    elif AMPERES[0] < common < AMPERES[1]:
        unit, factors = 'amperes, probably', np.where(counting, 1 / size, 1 / common)
        scales = ', '.join(f'{name} {factor:.3g}' for name, factor in zip(names, factors, strict=True))
        change = f'Set effort_scale to N m per ampere of each drive; by this robot file about {scales}'
    text = f"efforts are {common:.4g} times the model's torques: {unit}"
    finding = Finding('units', tuple(names), common, text, change)
    return Mistake(finding, evidence.plain.times(factors.tolist(), position=False, effort=True))


def _over_limits(evidence: Evidence, motion: Recording) -> Array:
    """Return the largest effort over the limit in the robot file (joints); NaN where that is unknown."""
    limits = {joint.name: joint.limits.effort for joint in evidence.merged.robot.joints if joint.limits}
    known = np.array([limits.get(name) or np.nan for name in motion.joint_names], dtype=float)
    return np.asarray(np.abs(motion.measured_effort).max(axis=0) / known)


def _mistake(evidence: Evidence, motion: Recording, quick: bool) -> Mistake | None:
    """Return the mistake whose repair leaves the least error, the simpler of nearly equal ones; None if none helps."""
    before, best, least = evidence.error(), None, np.inf
    for mistake in (*_units(evidence, motion), *_columns(evidence, motion.joint_names, quick)):
        error = evidence.error(mistake.mapping)
        if error < min(mistake.max_left * before, EQUAL * least) and error < before * _max_left(evidence, mistake):
            best, least = mistake, error
    for stiff in (_all_units(evidence, motion.joint_names), _gravity(evidence)):
        if stiff is not None:  # the file's bodies must fit: light ones would fit small efforts, or any gravity
            as_it_is, error = (
                evidence.stiff_error(evidence.plain),
                evidence.stiff_error(stiff.mapping, stiff.gravity),
            )
            rival = evidence.stiff_error(best.mapping, best.gravity) if best else np.inf
            if error < min(MAX_LEFT_STIFF * as_it_is, BETTER * rival):
                before, best, least = as_it_is, stiff, error
    if best is None:
        return None
    text = f'{best.finding.text} (error {before:.2g} as it is, {least:.2g} if repaired)'
    return replace(best, finding=replace(best.finding, text=text))


def _max_left(evidence: Evidence, mistake: Mistake) -> float:
    """Return the part of the error that may be left: less where the model does not explain a joint in question."""
    if not mistake.joints or mistake.max_left > MAX_LEFT:
        return mistake.max_left
    explained = evidence.slopes(mistake.mapping).explained[list(mistake.joints)]
    return MAX_LEFT if (explained >= COUNTS).all() else MAX_LEFT_UNEXPLAINED


def _columns(evidence: Evidence, names: Sequence[str], quick: bool) -> Iterator[Mistake]:
    """Yield signs and orders that columns may have; `quick`: signs of efforts alone."""
    plain, n = evidence.plain, evidence.n
    finding = Finding('sign', tuple(names), -1.0, 'efforts of all joints have the other sign', _SIGN)
    yield Mistake(finding, plain.times([-1.0] * n, position=False, effort=True))
    for position, effort in ((False, True), (True, True), (True, False)):
        for j in range(n):
            yield _turned(plain, names, j, position, effort)
        if quick:
            return
        for pair in combinations(range(n), 2):
            yield _swapped(plain, names, pair, position, effort)


_SIGN = 'Set effort_scale to -1'


def _turned(plain: ColumnMapping, names: Sequence[str], j: int, position: bool, effort: bool) -> Mistake:
    if not position:
        change = f'{_SIGN} for it (or turn its position and velocity, if these are wrong)'
        finding = Finding('sign', (names[j],), -1.0, f'the effort of {names[j]} has the other sign', change)
    else:
        what = 'position, velocity and effort' if effort else 'position and velocity'
        text = f'{names[j]} turns the other way: its {what} have the other sign than in the robot file'
        finding = Finding('turned', (names[j],), -1.0, text, f'Multiply its {what} by -1, or turn its axis in the file')
    return Mistake(finding, plain.turned(j, position, effort), joints=(j,))


def _swapped(
    plain: ColumnMapping, names: Sequence[str], pair: tuple[int, int], position: bool, effort: bool
) -> Mistake:
    what = 'position, velocity and effort' if position and effort else 'effort' if effort else 'position and velocity'
    a, b = (names[j] for j in pair)
    finding = Finding('order', (a, b), 2.0, f'{a} and {b} are exchanged in {what}', 'Exchange their columns, or names')
    return Mistake(finding, plain.swapped(*pair, position, effort), joints=pair)


def _gravity(evidence: Evidence) -> Mistake | None:
    """Return gravity in another direction, or no gravity, if the efforts fit that."""
    found, file = evidence.fitted_gravity(), evidence.gravity
    size = float(np.linalg.norm(found))
    if size < WEIGHTLESS:
        text = f'the efforts fit gravity of {size:.2g} m/s^2: it has been subtracted from them'
        change = 'Record efforts with gravity, or set effort_without: [gravity]'
        return Mistake(Finding('gravity', (), size, text, change), evidence.plain, np.zeros(3))
    words, file_words = (', '.join(f'{x + 0.0:.3g}' for x in vector) for vector in (found, file))
    text = f"the efforts fit gravity ({words}) m/s^2 in the base's axes"
    if not file.any():
        finding = Finding('gravity', (), size, f'{text}, and the robot file has none', 'Set gravity')
        return Mistake(finding, evidence.plain, found)
    angle = float(np.degrees(np.arccos(np.clip(found @ file / (size * np.linalg.norm(file)), -1, 1))))
    if angle <= AWAY:
        return None
    change = 'Turn the base in the robot file as it is mounted, or set gravity'
    finding = Finding('gravity', (), angle, f'{text}, {angle:.0f} degrees from ({file_words})', change)
    return Mistake(finding, evidence.plain, found)


def _velocity_findings(motion: Recording) -> list[Finding]:
    """Return the joints whose velocities do not agree with their positions, after all repairs."""
    ratio = VelocityRatio.of(motion)
    if ratio is None:
        return []
    wrong = differing(ratio.ratio, 1.0, motion.joint_names)
    return [
        Finding(
            'sign' if value < 0 else 'units', (name,), value,
            f'the velocity of {name} is {value:.3g} times the rate of change of its position',
            f'Multiply it by {1 / value:.3g}',
        )
        for name, value in wrong.items()
    ]  # fmt: skip


def _load_findings(evidence: Evidence) -> list[Finding]:
    """Return the mass that the last link carries in addition to the robot file, or lacks."""
    found, link = evidence.unmodelled_mass(), evidence.merged.links[-1]
    if found.error > MAX_LEFT_LOAD * found.without or abs(found.mass) < MIN_LOAD:
        return []
    errors = f'the error falls from {found.without:.2g} to {found.error:.2g}'
    if found.mass < 0:
        text = f'the arm carries {-found.mass:.2f} kg less at {link} than in the robot file ({errors})'
        change = 'Take what is not mounted out of the robot file'
    else:
        com = ', '.join(f'{x:.3f}' for x in found.com)
        text = f'the arm carries {found.mass:.2f} kg more at {link} than in the robot file, at ({com}) m ({errors})'
        change = 'Add the tool or payload to the robot file; `krang identify --payload` measures it'
    return [Finding('load', (link,), found.mass, text, change)]


def _model_findings(robot: Robot, motion: Recording) -> list[Finding]:
    """Find efforts that were computed by a model: they equal those of the robot file."""
    error = float(predict(robot, motion).errors.mean())
    if error >= MODEL:
        return []
    text = f"efforts differ from the model's by {error:.1g} of their standard deviation: a model computed them"
    return [Finding('model', motion.joint_names, error, text, 'Record measured efforts')]


def _unexplained(names: Sequence[str], errors: Array) -> Finding:
    worst = sorted(zip(errors, names, strict=True), reverse=True)[:3]
    listed = ', '.join(f'{name} {error:.2f}' for error, name in worst)
    text = (
        f'the robot file does not explain the efforts, and no single mistake does (error {errors.mean():.2f}: {listed})'
    )
    return Finding('unexplained', tuple(names), float(errors.mean()), text, 'Check that the file is of this robot')
