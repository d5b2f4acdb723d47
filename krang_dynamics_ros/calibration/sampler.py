"""Samples that take themselves, whenever the arm stands still in a new orientation: live or from a recording."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np

from ..core.inertia import Inertia
from ..core.spatial import Array, frozen
from ..core.wrench import Load
from ..inputs.end_effector import EndEffector
from ..inputs.standstill import Average, Standstill
from ..pipeline.pipeline import Pipeline
from . import orientations
from .fit import Sample

SECONDS = 1.0  # how long it must have stood still
LOOK = 0.1  # s between two looks: a look goes through all readings of a second

UNIT = [Inertia(1.0), *(Inertia(0.0, frozen(row)) for row in np.eye(3))]  # m, MX, MY, MZ, one each


class Sampler:
    """One hand's samples so far, and what it waits for."""

    def __init__(self, pipeline: Pipeline, hand: str) -> None:
        """`pipeline` is told each message first; `sense` and `moment_about` of the hand count, its bias does not."""
        self._inputs, self._dynamics = pipeline.inputs, pipeline.dynamics
        self.hand: EndEffector = pipeline.inputs.hands[hand]
        self._still = Standstill(pipeline.dynamics.joint_names, SECONDS)
        self._looked = 0
        self.samples: list[Sample] = []
        self.averages: list[Average] = []  # what they were made of
        self.status = 'waiting for joint states and readings'
        self.direction: Array | None = None  # of gravity in the hand's frame now

    def look(self, now: int) -> Sample | None:
        """Look at the latest reading, which came now (ns); return a sample if it makes one."""
        states, reading = self._inputs.states, self.hand.reading
        if reading is None or self.hand.arrival != now:  # what came now was refused
            return None
        if not states.complete(now):
            self.status = f'not all joints are known: {", ".join(states.missing(now)[:5])}'
            return None
        self._still.add(now, reading, states.position, states.velocity if states.moving else None)
        if now - self._looked < LOOK * 1e9 and now >= self._looked:
            return None
        self._looked = now
        return self._consider(now)

    def _consider(self, now: int) -> Sample | None:
        self.direction = self._gravity(self._inputs.states.position)
        if trouble := self._still.trouble(now):
            self.status = trouble
            return None
        average = self._still.average()
        sample = self._sample(average)
        if not orientations.is_new(sample.direction, [known.direction for known in self.samples]):
            self.status = 'standing still where a sample was taken; turn the hand'
            return None
        self.samples.append(sample)
        self.averages.append(average)
        self.status = f'sample {len(self.samples)} taken; turn the hand'
        return sample

    def _sample(self, average: Average) -> Sample:
        """Return a sample: readings of a hand that stood still at joint positions (n)."""
        weigh = partial(self._dynamics.weights, average.q)
        reading = average.reading
        columns = weigh([Load(self.hand.link, body, reading.axes, reading.about) for body in UNIT])
        basis = -self.hand.sign * np.column_stack(columns)
        gravity = weigh([Load(self.hand.link, UNIT[0])])[0][:3]
        return Sample(reading.numbers, average.deviation, average.readings, gravity, basis)

    def _gravity(self, q: Array) -> Array:
        weight = self._dynamics.weights(q, [Load(self.hand.link, UNIT[0])])[0][:3]
        return np.asarray(weight / np.linalg.norm(weight))

    def take_up(self, averages: Sequence[Average]) -> None:
        """Go on with what was sampled before."""
        self.averages += averages
        self.samples += [self._sample(average) for average in averages]
