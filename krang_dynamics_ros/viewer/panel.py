"""What one can touch: the terms of `torque/total`, reset and pause, what is drawn, and a slider for each joint."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import nullcontext
from typing import Any, Literal

import viser

from ..core.spatial import Array
from ..dynamics.terms import SUMMED, TERMS
from ..robot.robot import Limits
from .controls import Ask

PATIENCE = 1.0  # s: for so long what a user set is not overwritten by what is said to be so
CLOSE = 0.01  # rad, m: a slider that is this near is right
COMMANDS: tuple[tuple[str, Literal['gray'] | None], ...] = (('Reset', None), ('Pause', 'gray'), ('Resume', 'gray'))
KEYS = {'Reset': 'R', 'Pause': 'P', 'Resume': 'G'}


class Panel:
    """The controls of the simulator and of the dynamics node; grey where there is none."""

    def __init__(self, gui: viser.GuiApi, ask: Ask) -> None:
        self._ask = ask
        self._touched = 0.0
        self._sliders: dict[str, viser.GuiSliderHandle[float]] = {}  # in the order of positions
        self._terms_folder = gui.add_folder('torque/total is the sum of')
        with self._terms_folder:
            self._terms = {
                term: gui.add_checkbox(term, False, disabled=True, hint=f'{TERMS[term].meaning}: {TERMS[term].formula}')
                for term in SUMMED
            }
        with gui.add_folder('simulation (keys R, P, G)'):
            self._buttons = [gui.add_button(name, disabled=True, color=color) for name, color in COMMANDS]
        for box in self._terms.values():
            box.on_update(self._on_terms)
        for button in self._buttons:
            name = button.label
            button.on_click(self._on_command(name))
            gui.add_command(name, hotkey=KEYS[name]).on_trigger(self._on_command(name))  # type: ignore[arg-type]

    def add_sliders(self, gui: viser.GuiApi, groups: Mapping[str, Sequence[str]], limits: Mapping[str, Limits]) -> None:
        """Add a slider for each joint; in folders by the name of a group, if there are many.

        `limits` are in the order of the positions that `show` gets; the groups need not be.
        """
        sliders: dict[str, viser.GuiSliderHandle[float]] = {}
        with gui.add_folder('pose: put the joints (rad, m)', expand_by_default=False):
            for group, names in groups.items():
                with gui.add_folder(group, expand_by_default=False) if len(groups) > 1 else nullcontext():
                    sliders |= {name: _slider(gui, name, limits[name]) for name in names}
        self._sliders = {name: sliders[name] for name in limits}
        for name, slider in self._sliders.items():
            slider.on_update(self._on_slider(name))

    def _by_user(self, event: Any) -> bool:
        if event.client is None:  # the page itself brought it up to date
            return False
        self._touched = time.monotonic()
        return True

    def _on_terms(self, event: Any) -> None:
        if self._by_user(event):
            chosen = [term for term, box in self._terms.items() if box.value]
            self._ask(lambda controls: controls.choose_terms(chosen))

    def _on_command(self, name: str) -> Callable[[Any], None]:
        def asked(_: Any) -> None:
            if not self._buttons[0].disabled:
                self._ask(lambda controls: controls.command(name.lower()))

        return asked

    def _on_slider(self, joint: str) -> Callable[[Any], None]:
        def moved(event: Any) -> None:
            if self._by_user(event):
                position = float(event.target.value)
                self._ask(lambda controls: controls.pose(joint, position))

        return moved

    def show(self, q: Array | None, terms: Collection[str] | None, *, simulated: bool, obeyed: bool) -> None:
        """Say what is so: positions (n), terms in the total (None: no dynamics node), whether there is a simulator.

        `obeyed`: whether that simulator's motors give `torque/total`.
        """
        for control in (*self._buttons, *self._sliders.values()):
            _enable(control, simulated)
        for box in self._terms.values():
            _enable(box, terms is not None)
        label = 'motors get (torque/total)' if simulated and obeyed else 'torque/total is the sum of'
        if self._terms_folder.label != label:
            self._terms_folder.label = label
        if time.monotonic() - self._touched < PATIENCE:
            return
        for term, box in self._terms.items():
            _set(box, term in (terms or ()))
        for slider, position in zip(self._sliders.values(), [] if q is None else q.tolist(), strict=q is not None):
            if abs(slider.value - position) > CLOSE:
                _set(slider, min(max(position, slider.min), slider.max))


def _enable(control: Any, enabled: bool) -> None:
    if control.disabled == enabled:
        control.disabled = not enabled


def _set(control: Any, value: float) -> None:
    if control.value != value:
        control.value = value


def _slider(gui: viser.GuiApi, name: str, limits: Limits) -> viser.GuiSliderHandle[float]:
    lower = -math.pi if limits.lower is None else limits.lower
    upper = math.pi if limits.upper is None else limits.upper
    start = min(max(0.0, lower), upper)
    return gui.add_slider(name, min=lower, max=max(upper, lower + 1e-3), step=1e-3, initial_value=start, disabled=True)
