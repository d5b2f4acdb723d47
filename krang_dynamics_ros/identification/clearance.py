"""Distance of a moving robot to itself, to its base, to the floor and to keep-out boxes, along a whole path.

coal computes the distances of the true shapes. Between two samples of a path a point of a shape moves at most by its
travel, so a few distances prove a whole path:

    d(t) >= (d(a) + d(b) - travel(a, b)) / 2     for all t between a and b

Links that a joint connects touch by design and are not compared. Neither are shapes that are never far apart and touch
in most poses. Other shapes that are never far apart must keep half of their usual distance.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import coal
import numpy as np

from ..core.errors import KrangDynamicsError
from ..core.spatial import Array
from ..robot.robot import Robot
from .collision_shapes import Bodies, CollisionShape, Shapes

MARGIN = 0.03  # m: default clearance
POSES = 100  # random poses that show how far apart two shapes can be
TOUCHING = 0.002  # m: shapes that are usually nearer, and never far apart, touch by design
SHARE = 0.5  # of the usual distance of two shapes, where the largest is less than twice the margin
KNOTS = 8  # intervals of a path, at first
SPREAD = 1.5  # rad or m: range of a joint without limits, for the random poses
ARCS = 1.001  # arc length over chord between samples of a path
RESOLUTION = 5e-4  # m, of the least distance along a path
HULL_SLACK = 0.02  # m: if hulls are farther apart than needed by this, the meshes in them are not compared
_REQUEST = coal.DistanceRequest()


@dataclass(eq=False)
class Pair:
    """Two shapes of different bodies, and the distance (m) that they must keep."""

    first: CollisionShape
    second: CollisionShape
    required: float
    reduced: bool = False  # the design allows less than the margin
    blocked: int = 0  # number of motions that the pair stopped

    def __post_init__(self) -> None:
        self._hull = coal.ComputeDistance(self.first.hull, self.second.hull)
        self._exact = coal.ComputeDistance(self.first.geometry, self.second.geometry)
        flat = np.isinf(self.first.radius)  # a plane touches a mesh where it touches its hull
        self._convex = flat or all(x.hull is x.geometry for x in (self.first, self.second))
        self._result = coal.DistanceResult()

    @property
    def names(self) -> tuple[str, str]:
        """Names of the links, boxes or the floor."""
        return self.first.name, self.second.name

    def distance(self, at: Poses, k: int, enough: float) -> float:
        """Return the distance in state k (m), or a lower bound if that is at least `enough`."""
        first, second = at.transform(self.first, k), at.transform(self.second, k)
        self._result.clear()
        far = float(self._hull(first, second, _REQUEST, self._result))
        if self._convex or far >= enough:
            return far
        self._result.clear()
        return float(self._exact(first, second, _REQUEST, self._result))


class Poses:
    """Poses of the bodies in some states: along a path, or single poses."""

    def __init__(self, bodies: Bodies, q: Array) -> None:
        self.rotations, self.origins = bodies.poses(q)
        self.states = len(q)
        self._centres: dict[int, Array] = {}

    def transform(self, shape: CollisionShape, k: int) -> coal.Transform3s:
        """Return the placement of a shape in state k."""
        return coal.Transform3s(self.rotations[shape.body, k], self.origins[shape.body, k]) * shape.placement

    def centre(self, shape: CollisionShape) -> Array:
        """Return the centre (states, 3) of the sphere about a shape."""
        found = self._centres.get(id(shape))
        if found is None:
            found = self._centres[id(shape)] = self.origins[shape.body] + self.rotations[shape.body] @ shape.centre
        return found

    def sphere_distance(self, pair: Pair) -> Array:
        """Return the distance (states) between the spheres about two shapes: a lower bound of the distance."""
        first, second = pair.first, pair.second
        if np.isinf(first.radius):
            plane = first.geometry
            return np.asarray(self.centre(second) @ plane.n - plane.d - second.radius)
        apart = np.linalg.norm(self.centre(first) - self.centre(second), axis=1)
        return np.asarray(apart - first.radius - second.radius)

    def travel(self, pair: Pair) -> Array:
        """Return a bound (states; 0 at the first) of the path of any point of a shape, seen from the other's body."""
        own, other = (pair.second, pair.first) if pair.second.radius <= pair.first.radius else (pair.first, pair.second)
        back = np.swapaxes(self.rotations[other.body], 1, 2)
        centre = (back @ (self.centre(own) - self.origins[other.body])[:, :, None])[:, :, 0]
        turn = back @ self.rotations[own.body]
        # |R' - R| (Frobenius) = 2 sqrt(2) sin(angle / 2): a chord
        chord = np.linalg.norm(np.diff(turn, axis=0), axis=(1, 2)) / np.sqrt(2)
        steps = np.linalg.norm(np.diff(centre, axis=0), axis=1) + own.radius * chord
        return np.concatenate([[0.0], np.cumsum(ARCS * steps)])


class Near(NamedTuple):
    """Two shapes, by the names of their links, and their distance (m), which is never overestimated."""

    names: tuple[str, str]
    distance: float


class Clearance:
    """The pairs of shapes of a robot that must keep apart.

    Attributes:
        pairs: the pairs that are checked.
        always: names of shapes that touch by design and are not checked.
    """

    def __init__(
        self, robot: Robot, shapes: Shapes, margin: float = MARGIN, touching: Sequence[tuple[str, str]] = ()
    ) -> None:
        """`robot`: only the joints of paths move (`with_fixed_joints`); `touching`: pairs of links that may touch."""
        self.margin, self._bodies = margin, shapes.bodies
        self.always: list[tuple[str, str]] = []
        self.pairs: list[Pair] = []
        allowed = {frozenset(names) for names in touching}
        at = Poses(self._bodies, _random_poses(robot))
        for first, second in shapes.pairs():
            if frozenset((first.name, second.name)) not in allowed:
                self._add(Pair(first, second, margin), at)

    def _add(self, pair: Pair, at: Poses) -> None:
        distances = _distances(pair, at, self.margin / SHARE)
        largest = max(distances)
        usual = largest if pair.first.obstacle else float(np.median(distances))
        if usual < TOUCHING and pair.first.obstacle and not pair.first.body:
            raise KrangDynamicsError(
                f'{pair.first.name}: {pair.second.name} is inside in every pose (largest distance {largest:.3f} m); '
                'correct the floor by --floor, a box by --keep-out'
            )
        if usual < TOUCHING and largest < self.margin / SHARE:
            self.always.append(pair.names)
            return
        pair.required = self.margin if largest >= self.margin / SHARE else min(self.margin, SHARE * usual)
        pair.reduced = pair.required < self.margin
        self.pairs.append(pair)

    def blocked(self, q: Array) -> Near | None:
        """Return the first pair that is too near along a path (states, n) of small steps, or in a state; else None."""
        at = Poses(self._bodies, q)
        for k, pair in enumerate(self.pairs):
            bound = _least_distance(pair, at, pair.required, pair.required)
            if bound < pair.required:
                pair.blocked += 1
                self.pairs.insert(0, self.pairs.pop(k))  # the pair that stopped this motion is likely to stop the next
                return Near(pair.names, bound)
        return None

    def nearest(self, q: Array) -> tuple[Near | None, list[Near]]:
        """Return the least distance along a path, and those of pairs that are nearer than the margin by design."""
        at = Poses(self._bodies, q)
        least: Near | None = None
        near: dict[tuple[str, str], float] = {}
        for pair in sorted(self.pairs, key=lambda pair: float(at.sphere_distance(pair).min())):
            enough = near.get(pair.names, self.margin) if pair.reduced else least.distance if least else np.inf
            bound = _least_distance(pair, at, -np.inf, enough) - RESOLUTION
            if pair.reduced and bound < self.margin:
                near[pair.names] = min(near.get(pair.names, np.inf), bound)
            elif least is None or bound < least.distance:
                least = Near(pair.names, bound)
        return least, sorted((Near(*item) for item in near.items()), key=lambda near: near.distance)

    def obstacles(self) -> list[tuple[str, str]]:
        """Return the names of pairs that stopped motions, the most frequent first."""
        return [pair.names for pair in sorted(self.pairs, key=lambda pair: -pair.blocked) if pair.blocked]


def _random_poses(robot: Robot) -> Array:
    lower, upper = np.nan_to_num(robot.position_limits, posinf=SPREAD, neginf=-SPREAD)
    q = np.random.default_rng(0).uniform(lower, upper, (POSES, robot.n))
    q[0], q[1] = np.clip(0.0, lower, upper), (lower + upper) / 2
    return np.asarray(q)


def _distances(pair: Pair, at: Poses, enough: float) -> list[float]:
    """Return the distances in the poses, up to the first that is `enough`."""
    spheres = at.sphere_distance(pair)
    if spheres.max() >= enough:
        return [float(spheres.max())]
    found: list[float] = []
    while len(found) < at.states and max(found, default=-np.inf) < enough:
        found.append(pair.distance(at, len(found), enough))
    return found


def _least_distance(pair: Pair, at: Poses, needed: float, enough: float) -> float:
    """Return a lower bound of a pair's distance along a path.

    It is within `RESOLUTION` of the least distance, or any bound that is `enough`, or the first one below `needed`.
    """
    spheres = at.sphere_distance(pair)
    if at.states == 1:
        return float(spheres[0]) if spheres[0] >= enough else pair.distance(at, 0, enough)
    travel = at.travel(pair)
    if (bound := float(spheres.min() - np.diff(travel).max() / 2)) >= enough:
        return bound
    return _Path(pair, at, travel, enough).least(needed)


class _Path:
    """Distances of a pair along a path: computed in few states, bounded between them."""

    def __init__(self, pair: Pair, at: Poses, travel: Array, enough: float) -> None:
        self._pair, self._at, self._travel, self._enough = pair, at, travel, enough
        self._known: dict[int, float] = {}  # distance by state
        self._intervals: list[tuple[float, int, int]] = []  # a heap: lower bound, and the states at the ends

    def least(self, needed: float) -> float:
        """Split the interval with the lowest bound until that bound is enough or tight, or a distance is too small."""
        ends = np.unique(np.linspace(0, self._at.states - 1, KNOTS + 1).astype(int)).tolist()
        if (bound := min(map(self._look, ends))) < needed:
            return bound
        for a, b in pairwise(ends):
            self._push(a, b)
        while True:
            bound, a, b = self._intervals[0]
            if bound >= self._enough or b - a == 1 or min(self._known.values()) - bound < RESOLUTION:
                return bound
            new = self._lowest_between(a, b)
            if self._look(new) < needed:
                return self._known[new]
            heapq.heappop(self._intervals)
            self._push(a, new)
            self._push(new, b)

    def _look(self, k: int) -> float:
        self._known[k] = self._pair.distance(self._at, k, self._enough + HULL_SLACK)
        return self._known[k]

    def _lowest_between(self, a: int, b: int) -> int:
        """Return the state in which the distance can be as low as its bound."""
        way = 0.5 * (self._travel[a] + self._travel[b] + self._known[a] - self._known[b])
        return int(np.clip(np.searchsorted(self._travel, way), a + 1, b - 1))

    def _push(self, a: int, b: int) -> None:
        at_a, at_b, travel = self._known[a], self._known[b], float(self._travel[b] - self._travel[a])
        heapq.heappush(self._intervals, (min(at_a, at_b, 0.5 * (at_a + at_b - travel)), a, b))
