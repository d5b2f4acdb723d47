"""Sign, scale, gravity, joint order and mounting of an arm, from its efforts at rest."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core.spatial import Array
from .first_run import EARTH, ArmModel, Finding, RestSample, Verdict, rounded

CHECK = 'effort at rest'
POSES = 3
APART = 0.3  # rad (m): difference of two poses in at least one joint
EXPLAINED = 0.3  # of the torque: largest unexplained part, from static friction and wrong masses
MUCH_BETTER = 0.4  # of the error of a simpler explanation: required for a more complex explanation
EXACT = 0.03  # of the torque: an error below this needs no better explanation
MIN_GRAVITY_SHARE = 0.05  # efforts below this share of the gravity torque do not contain gravity
MAX_RESIDUAL = 0.4  # of the efforts: below it, the effort of each joint counts as proportional to gravity
SIZE_TOLERANCE = 0.15  # deviation of effort / torque from 1 that is reported
OTHER_UNIT = 1.6  # a larger factor means another unit, not a wrong mass
LOADED = 0.1  # of the largest torque: sign and scale of a joint with less are not determined
SNAP = np.radians(3.0)  # gravity this near to an axis of the base is set to the axis
MIN_TILT = np.radians(8.0)  # gravity this near to that of the node counts as equal
GRAVITY_TOLERANCE = 0.15  # of the Earth's gravity: tolerance of a fitted gravity


@dataclass(frozen=True)
class Explanation:
    """An explanation of the efforts, with its error (share of the torque) and the parameters to change."""

    text: str
    error: float
    complexity: int  # a rank: of two explanations, the simpler is more likely
    parameters: dict[str, Any] = field(default_factory=dict)
    outside: bool = False  # whether the correction is outside the node


def is_new_pose(sample: RestSample, others: Sequence[RestSample]) -> bool:
    """Return whether a pose differs enough from all others."""
    return all(np.abs(sample.q - other.q).max() >= APART for other in others)


def judge_rest(model: ArmModel, samples: Sequence[RestSample], down: Array | None = None) -> Finding:
    """Judge efforts in poses at rest. `down` (3, base axes): gravity as a person sees it; None: unknown."""
    if len(samples) < POSES:
        return Finding(CHECK, 'unclear', f'{len(samples)} poses, must be {POSES} at least')
    rest = _Rest(model, samples, down)
    if not rest.known.any():
        return Finding(CHECK, 'unclear', 'joint_states has no effort: nothing that needs it will work')
    if rest.strength < 1e-3:
        return Finding(CHECK, 'unclear', 'gravity loads no joint in these poses; take others')
    if rest.as_configured.error <= EXACT and not rest.mounting:
        return Finding(CHECK, 'right', rest.as_configured.text, {}, rest.table())
    return _chosen(rest, sorted(rest.explanations(), key=lambda x: (x.complexity, x.error)))


def _chosen(rest: _Rest, candidates: Sequence[Explanation]) -> Finding:
    """Return the simplest good explanation, unless a more complex explanation is much better."""
    best: Explanation | None = None
    for candidate in candidates:
        good = candidate.error <= EXPLAINED
        better = best is None or (best.error > EXACT and candidate.error < MUCH_BETTER * best.error)
        if good and better:
            best = candidate
    if best is None:
        nearest = min(candidates, key=lambda x: x.error)
        words = (
            f'nothing explains the efforts; the best explanation leaves an error of {nearest.error:.0%}: {nearest.text}'
        )
        return Finding(CHECK, 'unclear', words, {}, rest.table())
    limit, new_only = max(1.5 * best.error, EXACT), rest.model.new_only
    others = [
        x for x in candidates
        if x.complexity == best.complexity and x.error <= limit and x is not best
        and (best.complexity or new_only(x.parameters) != new_only(best.parameters))
    ]  # fmt: skip
    if others:
        words = f'two explanations fit, add another pose to decide: {best.text}; or: {others[0].text}'
        return Finding(CHECK, 'unclear', words, {}, rest.table())
    changes = rest.model.new_only(rest.mounting | best.parameters)
    text = f'{best.text}; {rest.seen}' if rest.mounting else best.text
    verdict: Verdict = 'change' if changes else 'wrong' if best.outside else 'right'
    return Finding(CHECK, verdict, text, changes, rest.table())


class _Rest:
    """Efforts in m poses, and the torques that hold the arm there."""

    def __init__(self, model: ArmModel, samples: Sequence[RestSample], down: Array | None) -> None:
        self.model, self.samples, self.seen_down = model, samples, down is not None
        self.effort = np.array([sample.effort for sample in samples])
        self.known = np.isfinite(self.effort).all(axis=0)
        self.columns = np.array([model.gravity_columns(sample.q) for sample in samples])  # (m, n, 3)
        self.gravity = model.gravity
        self.mounting: dict[str, Any] = {}
        if down is not None and angle(down, model.gravity) > np.pi / 4:
            self.gravity = EARTH * down / np.linalg.norm(down)
            self.mounting = {'gravity': plain_gravity(self.gravity)}
        self.torque = self.columns @ self.gravity  # (m, n)
        self.strength = _rms(self.torque[:, self.known])
        self.loaded = self.known & (np.abs(self.torque).max(axis=0) > LOADED * np.abs(self.torque).max())

    @property
    def seen(self) -> str:
        """The mounting that a person sees, as text."""
        return f'the base is mounted so that gravity is {plain_gravity(self.gravity)}, unlike in the node'

    def _error(self, predicted: Array) -> float:
        """Return the error of predicted efforts (m, n) over the smaller of two RMS: theirs and the gravity torque's."""
        strength = min(self.strength, _rms(predicted[:, self.known]) or self.strength)
        return _rms((self.effort - predicted)[:, self.known]) / strength

    @property
    def as_configured(self) -> Explanation:
        """The explanation that the node's parameters are right."""
        torque = np.array([self.model.torque(sample) for sample in self.samples])
        wanted = 0 * self.torque if self.model.source == 'external' else self.torque
        error = _rms((torque - wanted)[:, self.known]) / self.strength
        words = f'effort has the meaning that the node assumes, with an error of {error:.0%}{self._size(torque)}'
        return Explanation(words + self._unloaded_text(), error, 0)

    def _unloaded_text(self) -> str:
        """Return the joints with too little load in these poses, as text."""
        names = _names(self.model, self.known & ~self.loaded)
        return f'; not checked, without load in these poses: {_listed(names)}' if names else ''

    def explanations(self) -> Iterator[Explanation]:
        """Yield all explanations to try."""
        yield self.as_configured
        yield from self._with_gravity()
        yield from self._without_gravity()
        yield from self._signs()
        yield from self._swapped_efforts()
        yield from self._swapped_names()
        yield from self._other_mounting()
        yield from self._scales()

    def _slope(self) -> Array:
        """Return for each joint (n) the effort per torque, by least squares; NaN without load."""
        slope = np.full(len(self.known), np.nan)
        g, e = self.torque[:, self.loaded], self.effort[:, self.loaded]
        slope[self.loaded] = (g * e).sum(axis=0) / (g * g).sum(axis=0)
        return slope

    def _unscaled(self) -> dict[str, Any]:
        """Return the parameters of readings that are torques without conversion, gravity included."""
        names, scale = self.model.names, self.model.scale
        found = {f'joints.{n}.effort_scale': 1.0 for n, s in zip(names, scale, strict=True) if s != 1}
        return found | self._gravity_in()

    def _gravity_in(self) -> dict[str, Any]:
        """Return the parameters of readings that contain gravity."""
        found: dict[str, Any] = {}
        if 'gravity' in self.model.without:
            found['effort_without'] = [name for name in self.model.without if name != 'gravity'] or ['']
        if self.model.source == 'external':
            found['effort_source'] = 'motor'
        return found

    def _with_gravity(self) -> Iterator[Explanation]:
        words = 'effort contains gravity, and its sign is right'
        words += self._size(self.effort) + self._unloaded_text()
        yield Explanation(words, self._error(self.torque), 0, self._unscaled())

    def _size(self, torque: Array) -> str:
        """Return the size of torques (m, n) as text, if it is not as expected."""
        size = float((self.torque * torque)[:, self.known].sum() / (self.torque[:, self.known] ** 2).sum())
        wrong_size = 1 - SIZE_TOLERANCE > size > 0.5 or size > 1 + SIZE_TOLERANCE
        why = 'is a payload or tool missing in the model?' if size > 1 else 'are masses of the model too large?'
        return f', but it is {size:.2f} times as large: {why}' if wrong_size else ''

    def _without_gravity(self) -> Iterator[Explanation]:
        share, slope = self._error(0 * self.torque), self._slope()
        residual = _rms((self.effort - np.nan_to_num(slope) * self.torque)[:, self.known]) / self.strength
        signs = np.sign(slope[self.loaded])
        one_sign = bool((signs == signs[0]).all())
        in_another_unit = share > MIN_GRAVITY_SHARE and residual < MAX_RESIDUAL * share and one_sign
        if share > EXPLAINED or in_another_unit or self.model.source == 'external':
            return
        without = list(dict.fromkeys(['gravity', *self.model.without]))
        words = f'effort is without gravity: it is {share:.1%} of the torque that holds the arm'
        yield Explanation(words, min(share, EXACT), 0, {'effort_without': without})

    def _signs(self) -> Iterator[Explanation]:
        slope = self._slope()
        inverted = slope < 0
        if not inverted.any():
            return
        every = bool(inverted[self.loaded].all())
        sign = np.where(inverted, -1.0, 1.0)
        joints = self.model.names if every else _names(self.model, inverted)
        words = f'effort has the opposite sign in {"all joints" if every else _listed(joints)}'
        if every and not self.seen_down:
            words += f' (or the arm hangs the other way up: gravity {plain_gravity(-self.gravity)})'
        scales = self._unscaled() | {f'joints.{name}.effort_scale': -1.0 for name in joints}
        yield Explanation(words, self._error(sign * self.torque), 1 if every else 2, scales)

    def _swapped_efforts(self) -> Iterator[Explanation]:
        for i, k in combinations(np.flatnonzero(self.known), 2):
            order = np.arange(len(self.known))
            order[[i, k]] = k, i
            words = (
                f'the efforts of {self.model.names[i]} and {self.model.names[k]} are swapped, their positions are not: '
                'correct the order of efforts in the driver'
            )
            yield Explanation(words, self._error(self.torque[:, order]), 3, outside=True)

    def _swapped_names(self) -> Iterator[Explanation]:
        for i, k in combinations(np.flatnonzero(self.known), 2):
            order = np.arange(len(self.known))
            order[[i, k]] = k, i
            torque = [self.model.gravity_columns(s.q[order])[order] @ self.gravity for s in self.samples]
            names = self.model.names[i], self.model.names[k]
            words = f"{names[0]} and {names[1]} have each other's name in joint_states: their values are swapped"
            renamed = self._renamed(*names)
            yield Explanation(words, self._error(np.array(torque)), 3, renamed, not renamed)

    def _renamed(self, name: str, other: str) -> dict[str, Any]:
        """Return the parameters that exchange the names of two joints, if the node has such a parameter."""
        if not self.model.has('joint_names'):
            return {}
        prefix = self.model.values.get('joint_prefix', '')
        pairs = dict(text.split('=') for text in self.model.values['joint_names'] if '=' in text)
        of_urdf = {joint: urdf for urdf, joint in pairs.items()}
        first, second = (of_urdf.get(joint, joint.removeprefix(prefix)) for joint in (name, other))
        pairs |= {first: other, second: name}
        return self._unscaled() | {'joint_names': [f'{a}={b}' for a, b in pairs.items()]}

    def _other_mounting(self) -> Iterator[Explanation]:
        rows = self.columns[:, self.known].reshape(-1, 3)
        if np.linalg.cond(rows) > 1e3:
            return
        found = np.linalg.lstsq(rows, self.effort[:, self.known].ravel(), rcond=None)[0]
        strength = np.linalg.norm(found) / EARTH
        if (
            abs(strength - 1) > GRAVITY_TOLERANCE
            or min(angle(found, self.gravity), angle(-found, self.gravity)) < MIN_TILT
        ):
            return
        flip = -1.0 if self.seen_down and found @ self.gravity < 0 else 1.0
        gravity, error = plain_gravity(flip * found), self._error(self.columns @ found)
        words = f'the base is mounted in another way: gravity is {gravity} in the axes of {self.model.base}'
        changes = self._unscaled() | {'gravity': gravity}
        if flip < 0:
            words += ', and effort has the opposite sign'
            changes |= {f'joints.{name}.effort_scale': -1.0 for name in self.model.names}
        yield Explanation(words, error, 3 if flip > 0 else 4, changes)

    def _scales(self) -> Iterator[Explanation]:
        slope, share = self._slope(), self._error(0 * self.torque)
        factor = np.abs(slope[self.loaded])
        if share < MIN_GRAVITY_SHARE or not ((factor < 1 / OTHER_UNIT) | (factor > OTHER_UNIT)).any():
            return
        residuals = self.effort - np.nan_to_num(slope) * self.torque
        sizes = np.array([_rms(self.effort[:, k]) for k in range(len(slope))])
        error = float(np.max([_rms(residuals[:, k]) / max(sizes[k], 1e-9) for k in np.flatnonzero(self.loaded)]))
        scales = {
            f'joints.{self.model.names[k]}.effort_scale': rounded(1 / slope[k])
            for k in np.flatnonzero(self.loaded) if abs(slope[k]) > 1e-9
        }  # fmt: skip
        words = (
            'effort is proportional to gravity, with a factor for each joint: another unit (amperes, counts)'
            + self._unloaded_text()
        )
        yield Explanation(words, error, 5, self._gravity_in() | scales)

    def table(self) -> list[str]:
        """Return a line for each joint: effort and torque in each pose."""
        lines = ['effort as read (torque that holds the arm, N m), pose by pose:']
        for k, name in enumerate(self.model.names):
            pairs = [f'{e:.3g} ({g:.3g})' for e, g in zip(self.effort[:, k], self.torque[:, k], strict=True)]
            lines.append(f'{name}: {", ".join(pairs)}')
        return lines


def plain_gravity(gravity: Array) -> list[float]:
    """Return gravity of the Earth's strength in this direction, along an axis of the base if it is near."""
    unit = gravity / np.linalg.norm(gravity)
    k = int(np.abs(unit).argmax())
    axis = np.sign(unit[k]) * np.eye(3)[k]
    if angle(unit, axis) < SNAP:
        unit = axis
    return [round(float(EARTH * x), 3) + 0.0 for x in unit]


def angle(a: Array, other: Array) -> float:
    """Return the angle between two vectors, rad."""
    cosine = a @ other / (np.linalg.norm(a) * np.linalg.norm(other) + 1e-300)
    return float(np.arccos(np.clip(cosine, -1.0, 1.0)))


def _rms(values: Array) -> float:
    return float(np.sqrt(np.mean(values**2))) if values.size else 0.0


def _names(model: ArmModel, chosen: NDArray[np.bool_]) -> list[str]:
    return [name for name, yes in zip(model.names, chosen, strict=True) if yes]


def _listed(names: Sequence[str]) -> str:
    return ', '.join(names)
