"""Controls on the page: loads, terms, simulation and pose."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from typing import Any, Literal, Protocol

import numpy as np
import viser

from ..core.text import to_html
from ..dynamics.terms import COMMON, SUMMED, TERMS
from ..robot.hands import hand_links, hand_name
from ..robot.robot import Limits, Robot
from .snapshot import Load, Snapshot


class Controls(Protocol):
    """What the page can ask for; called on the thread that calls `Page.act`."""

    def call_simulator(self, name: str) -> None:
        """Call `pause`, `resume` or `reset`."""

    def pose(self, joint: str, position: float) -> None:
        """Set the position of a joint (rad or m)."""

    def choose_terms(self, terms: Sequence[str]) -> None:
        """Set the terms of `torque/total`."""

    def hang(self, hand: str, mass: float) -> None:
        """Hang a bag (kg) on a simulated hand, without changing the dynamics node."""

    def set_payload(self, hand: str, mass: float) -> None:
        """Set the payload of a hand in the dynamics node to a bag (kg)."""

    def make_hand(self, link: str) -> None:
        """Make a link a hand."""

    def remove_hand(self, hand: str) -> None:
        """Make a hand a link again."""

    def zero_sensor(self, hand: str) -> None:
        """Zero the sensor of a hand."""

    def guide(self, *, on: bool) -> None:
        """Start or stop the guiding mode."""


Ask = Callable[[Callable[[Controls], None]], None]  # queues a request


BAG = 2.0  # kg


class HandFolder:
    """The folder of a hand: its bag, payload and sensor."""

    def __init__(self, gui: viser.GuiApi, hand: str, link: str, ask: Ask) -> None:
        """A hand that is named after its link, as those that are made on the page, can be removed."""
        self._hand = hand
        self._remove: viser.GuiButtonHandle | None = None
        with gui.add_folder(f'{_spoken(hand)}: bag, sensor', expand_by_default=False):
            self._mass = gui.add_number(
                'bag (kg)', BAG, min=0.0, step=0.1, hint="a point at the origin of the hand's frame; 0: none"
            )
            self._hang = gui.add_button(
                'Hang it on', disabled=True, hint='in the simulator alone: the node does not know, and the hand sinks'
            )
            self._tell = gui.add_button(
                'Tell the node', disabled=True, hint=f'sets {hand}.payload of the dynamics node: the hand holds'
            )
            self._zero = gui.add_button(
                'Zero the sensor', disabled=True, color='gray',
                hint=f'calls wrench/{hand}/zero: what the sensor reads now is nothing but known weight',
            )  # fmt: skip
            if hand == hand_name(link):
                self._remove = gui.add_button('Remove the hand', color='gray', hint=f'{link} stays a link of the robot')
                self._remove.on_click(lambda _: ask(lambda controls: controls.remove_hand(hand)))
            self._words = gui.add_html('')
        # The mass is read when the request is executed: an input just before the click may not have arrived yet.
        self._hang.on_click(lambda _: ask(lambda controls: controls.hang(hand, self._mass.value)))
        self._tell.on_click(lambda _: ask(lambda controls: controls.set_payload(hand, self._mass.value)))
        self._zero.on_click(lambda _: ask(lambda controls: controls.zero_sensor(hand)))

    def show(self, loads: Mapping[str, Load]) -> None:
        """Show the masses in the simulator and in the node; disable unavailable controls."""
        load = loads.get(self._hand, Load())
        for control, known in ((self._hang, load.hung), (self._tell, load.known_mass), (self._zero, load.known_mass)):
            _enable(control, known is not None)
        if self._remove is not None:
            _enable(self._remove, load.known_mass is not None)
        words = f'<p class="note">{_words(load)}</p>'
        if self._words.content != words:
            self._words.content = words


def _spoken(hand: str) -> str:
    return hand if 'hand' in hand.lower() else f'{hand} hand'


def _words(load: Load) -> str:
    hung = '' if load.hung is None else f'{load.hung:g} kg hang on it. '
    known = 'No dynamics node.' if load.known_mass is None else f'The node knows of {load.known_mass:g} kg.'
    return hung + known + (f' Sensor: {to_html(load.zeroed)}.' if load.zeroed else '')


MANY = 20  # joints: up to this number they are a single group


class HandMaker:
    """The folder that makes a link a hand."""

    def __init__(self, gui: viser.GuiApi, links: Sequence[str], first: str, ask: Ask) -> None:
        """`links` are moving links that are not hands; `first` is selected initially, if it is among them."""
        self._links = links
        with gui.add_folder('make a link a hand', expand_by_default=False):
            self._chosen = gui.add_dropdown(
                'link',
                tuple(links) or ('',),
                initial_value=first if first in links else None,
                hint='choose it here, or click on it: it gets a ball, a bag and a sensor',
            )
            self._make = gui.add_button('Make it a hand', disabled=True)
        self._make.on_click(lambda _: ask(lambda controls: controls.make_hand(self._chosen.value)))

    def choose(self, link: str) -> None:
        """Choose a link that was clicked."""
        if link in self._links:
            _set(self._chosen, link)

    def show(self, now: Snapshot) -> None:
        """Disable the button while there is no dynamics node."""
        _enable(self._make, bool(self._links) and now.terms is not None)


FEW = 8  # maximum number of links to grip


def limits_of(robot: Robot) -> dict[str, Limits]:
    """Return the limits of every joint with a coordinate, by name; followers narrow its range. None: unknown."""
    ranges = [[None if np.isinf(end) else float(end) for end in ends] for ends in robot.position_limits.T]
    return {
        joint.name: replace(joint.limits or Limits(None, None), lower=lower, upper=upper)
        for joint, (lower, upper) in zip(robot.moving_joints, ranges, strict=True)
    }


def leaves(robot: Robot) -> list[str]:
    """Return links to pull a robot without hands by: the ends of its arms and legs."""
    return hand_links(robot)[:FEW]


def movers(robot: Robot) -> dict[str, str]:
    """Return, by link, the joint that moves it: the last before it, or the joint that this follows.

    Fixed links have none.
    """
    names = set(robot.joint_names)
    of: dict[str, str] = {}
    for joint in robot.outward:
        own = robot.mimics[joint.name].joint if joint.name in robot.mimics else joint.name
        if mover := own if own in names else of.get(joint.parent, ''):
            of[joint.child] = mover
    return of


def groups_of(robot: Robot) -> dict[str, list[str]]:
    """Return the joints by group: a group per unbranched part of the tree, if there are many joints."""
    if robot.n <= MANY:
        return {'joints': list(robot.joint_names)}
    moving = {joint.name for joint in robot.moving_joints}
    carried: dict[str, int] = {}  # by link: number of branches with moving joints
    for joint in reversed(robot.outward):
        carried[joint.parent] = carried.get(joint.parent, 0) + (joint.name in moving or carried.get(joint.child, 0) > 0)
    groups: dict[str, list[str]] = {}
    of_link = {robot.base: ''}  # group that continues at a link
    for joint in robot.outward:
        group = of_link[joint.parent] if carried[joint.parent] == 1 else ''
        if joint.name in moving:
            group = group or joint.name
            groups.setdefault(group, []).append(joint.name)
        of_link[joint.child] = group
    return {_title(names): names for names in groups.values()}


def _title(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f'{names[0]} ... {names[-1]}'


USER_HOLD_OFF = 1.0  # s: after an input of a visitor, controls are not updated
CLOSE = 0.01  # rad, m: a slider that is this near is right
BUTTONS: tuple[tuple[str, Literal['gray'] | None], ...] = (('Reset', None), ('Pause', 'gray'), ('Resume', 'gray'))
MODES = {'driven': 'runs', 'braked': 'brakes closed', 'slack': 'joints slack'}  # the others as they are
KEYS = {'Reset': 'R', 'Pause': 'P', 'Resume': 'G'}


class Panel:
    """The controls of the simulator and of the dynamics node; disabled if the node is missing.

    Inputs are read by coroutines, which viser runs as soon as they arrive. Other callbacks wait for a thread; meanwhile
    `show` could put the value of the node back.
    """

    def __init__(self, gui: viser.GuiApi, ask: Ask) -> None:
        self._ask = ask
        self._touched, self.posed = 0.0, False  # when a control was used last, and whether a slider was
        self._sliders: dict[str, viser.GuiSliderHandle[float]] = {}  # in the order of positions
        self._terms_folder = gui.add_folder('torque/total is the sum of')
        with self._terms_folder:
            self._terms = {
                term: gui.add_checkbox(
                    term,
                    False,
                    disabled=True,
                    visible=term in COMMON,
                    hint=f'{TERMS[term].meaning}: {TERMS[term].formula}',
                )
                for term in SUMMED
            }
        self._simulation_folder = gui.add_folder('simulation')
        with self._simulation_folder:
            self._buttons = {
                name: gui.add_button(name, disabled=True, color=color, hint=f'key {KEYS[name]}')
                for name, color in BUTTONS
            }
        for box in self._terms.values():
            box.on_update(self._on_terms)
        for name, button in self._buttons.items():
            button.on_click(self._on_button(name))
            gui.add_command(name, hotkey=KEYS[name]).on_trigger(self._on_button(name))  # type: ignore[arg-type]

    def add_sliders(self, gui: viser.GuiApi, groups: Mapping[str, Sequence[str]], limits: Mapping[str, Limits]) -> None:
        """Add a slider for each joint, in a folder per group if there are several.

        `limits` are in the order of the positions in `show`.
        """
        sliders: dict[str, viser.GuiSliderHandle[float]] = {}
        with gui.add_folder('pose: set the joints (rad, m)', expand_by_default=False):
            for group, names in groups.items():
                with gui.add_folder(group, expand_by_default=False) if len(groups) > 1 else nullcontext():
                    sliders |= {name: _slider(gui, name, limits[name]) for name in names}
        self._sliders = {name: sliders[name] for name in limits}
        for name, slider in self._sliders.items():
            slider.on_update(self._on_slider(name))

    def _by_user(self, event: Any) -> bool:
        if event.client is None:  # an update by the page itself
            return False
        self._touched = time.monotonic()
        return True

    async def _on_terms(self, event: Any) -> None:
        if self._by_user(event):
            chosen = [term for term, box in self._terms.items() if box.value]
            self._ask(lambda controls: controls.choose_terms(chosen))

    def _on_button(self, name: str) -> Callable[[Any], None]:
        def asked(_: Any) -> None:
            if not self._buttons['Reset'].disabled:
                self._ask(lambda controls: controls.call_simulator(name.lower()))

        return asked

    def _on_slider(self, joint: str) -> Callable[[Any], Any]:
        async def moved(event: Any) -> None:
            if self._by_user(event):
                position, self.posed = float(event.target.value), True
                self._ask(lambda controls: controls.pose(joint, position))

        return moved

    def show(self, now: Snapshot) -> None:
        """Show positions, terms of the total, and the mode of the simulator; disable controls without effect."""
        q, terms = now.latest.q, now.terms
        for slider in self._sliders.values():
            _enable(slider, now.simulated)
        useful = {'Pause': now.mode != 'paused', 'Resume': now.mode in ('paused', '')}
        for name, button in self._buttons.items():
            _enable(button, now.simulated and useful.get(name, True))
        for term, box in self._terms.items():
            _enable(box, terms is not None)
            _set_visible(box, term in now.possible_terms or term in (terms or ()))
        by_total = now.simulated and now.obeyed
        _label(self._terms_folder, 'motors get (torque/total)' if by_total else 'torque/total is the sum of')
        _label(self._simulation_folder, f'simulation: {MODES.get(now.mode, now.mode)}' if now.mode else 'simulation')
        if time.monotonic() - self._touched < USER_HOLD_OFF:
            return
        for term, box in self._terms.items():
            _set(box, term in (terms or ()))
        for slider, position in zip(self._sliders.values(), [] if q is None else q.tolist(), strict=q is not None):
            if abs(slider.value - position) > CLOSE:
                _set(slider, min(max(position, slider.min), slider.max))


def _label(folder: viser.GuiFolderHandle, words: str) -> None:
    if folder.label != words:
        folder.label = words


def _enable(control: Any, enabled: bool) -> None:
    if control.disabled == enabled:
        control.disabled = not enabled


def _set_visible(control: Any, visible: bool) -> None:
    if control.visible != visible:
        control.visible = visible


def _set(control: Any, value: Any) -> None:
    if control.value != value:
        control.value = value


def _slider(gui: viser.GuiApi, name: str, limits: Limits) -> viser.GuiSliderHandle[float]:
    lower = -math.pi if limits.lower is None else limits.lower
    upper = math.pi if limits.upper is None else limits.upper
    start = min(max(0.0, lower), upper)
    return gui.add_slider(name, min=lower, max=max(upper, lower + 1e-3), step=1e-3, initial_value=start, disabled=True)
