"""Walks the tour of the page to its end, as its card says, and sees that each step does what it says."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from krang_dynamics_ros import Robot

from .world import UNKNOWN, World

CARD = """
const card = [...document.querySelectorAll('.tour section')].find(section => section.checkVisibility());
return card ? [Number(card.dataset.step), 'done' in card.dataset, card.innerText] : [0, false, '']
"""
UP, LEFT = 110, 1  # pixels; the ball of the left hand, which is on the right for a person who faces the robot


class TourWalk:
    """A person who follows the card with the first hand of a robot."""

    def __init__(
        self, world: World, robot: Robot, look: Callable[[], None] = lambda: None, *, up: int = UP, least: float = 0.1
    ) -> None:
        """`look` is called at each moment that is worth a picture.

        The hand is pulled by `up` (pixels), and then moves by at least `least` (m).
        """
        self._up = up
        self._world, self._robot, self._page, self._look = world, robot, world.page, look
        self._least, hands = least, list(robot.end_effectors)
        self._alone = len(hands) == 1
        self._folder = f'{hands[0]}{"" if self._alone else " hand"}: bag, sensor'
        self._yielded = 0.0  # m: how far the hand went in the first step

    @property
    def _card(self) -> tuple[int, bool, str]:
        number, done, text = self._page.script(CARD)
        return int(number), bool(done), str(text)

    def _begin(self, number: int, words: str) -> None:
        """Turn to a step, and let the page do what must be so before it."""
        if self._card[0] != number:
            self._page.press('Next')
        self._page.until(lambda: self._card[0] == number and words in self._card[2], f'step {number}: {words}')
        assert 'You should see:' in self._card[2]
        if 'Do it for me' in self._card[2]:
            self._page.press('Do it for me')
            self._page.until(lambda: 'Do it for me' not in self._card[2], f'step {number} to be ready')
        self._look()

    def _end(self, number: int) -> None:
        self._page.until(lambda: self._card[:2] == (number, True), f'step {number} to be ticked')
        self._look()

    def _height(self) -> float:
        """Return how high the hand is, m."""
        return float(self._world.heights(self._robot)[0])

    def _lift(self) -> float:
        """Drag the ball of the hand up and let go; return how far it has gone (m) while it is pulled."""
        before = self._world.settled(self._robot)[0]
        assert self._world.pull((0, -self._up), 0 if self._alone else LEFT, self._look) > 0
        self._look()
        settled = self._world.settled(self._robot)[0]
        self._look()
        self._page.let_go()
        return float(settled - before)

    def walk(self, last: int = 6) -> None:
        """Go from the first step to the last."""
        steps = (self.pull_hand, self.resist, self.hang, self.tell, self.observe, self.fall)
        for step in steps[:last]:
            step()

    def pull_hand(self) -> None:
        """Pull a hand, which yields."""
        self._begin(1, 'Pull a hand')
        self._yielded = self._lift()
        assert self._yielded > self._least
        self._end(1)

    def resist(self) -> None:
        """Let the hand resist: it yields less."""
        self._begin(2, 'Let the hand resist')
        self._page.tick('wrench')
        self._world.client.until(lambda: 'wrench' in self._world.terms(), why='wrench in the total')
        yielded = abs(self._lift())
        assert yielded < 0.3 * self._yielded, f'{yielded:.3f} m, and {self._yielded:.3f} m before'
        self._end(2)

    def hang(self) -> None:
        """Hang a bag on the hand: it sinks, and the other one stays."""
        self._begin(3, 'Hang a bag on it')
        before = self._world.settled(self._robot)
        self._page.unfold(self._folder)
        self._page.press('Hang it on')
        self._world.client.until(lambda: before[0] - self._height() > 0.1, self._look, 'the hand to sink')
        self._end(3)
        sunk = self._world.settled(self._robot)
        assert np.abs(sunk[1:] - before[1:]).max(initial=0) < 0.05, 'the trunk stays where it is'

    def tell(self) -> None:
        """Tell the node of the bag: the hand stays where it is put, bag and all."""
        self._begin(4, 'Tell the node of the bag')
        self._page.press('Tell the node')
        self._page.until(lambda: 'The node knows of 2 kg' in self._page.text, 'the node to know')
        assert self._lift() > self._least
        raised = self._height()
        assert abs(self._world.settled(self._robot)[0] - raised) < 0.05
        self._end(4)
        self._page.unfold(self._folder)

    def observe(self) -> None:
        """Pull a link, and see the external torque."""
        page = self._page
        self._begin(5, 'See what pushes it')
        page.unfold('show')
        page.tick('what pushes it')
        x, y = page.until(page.balls, 'a ball')[0] if self._alone else page.trunk()
        page.hold((x, y), (x - self._up, y - 40) if self._alone else (x + 100, y - 40), ctrl=not self._alone)
        page.until(lambda: set(page.numbers('external').values()) - {UNKNOWN}, 'the column')
        self._end(5)
        page.let_go(ctrl=not self._alone)
        page.tick('what pushes it')
        page.unfold('show')

    def fall(self) -> None:
        """Switch gravity off: the robot falls."""
        self._begin(6, 'Switch gravity off')
        self._page.press('Reset')
        before = self._world.settled(self._robot)
        self._page.tick('gravity')
        self._world.client.until(
            lambda: np.abs(self._world.heights(self._robot) - before).max() > 0.1, why='the robot to fall'
        )
        self._end(6)
        self._page.tick('gravity')
        self._page.press('Reset')
