"""What one can touch: pause and reset, the terms of `torque/total`, and a slider for each joint."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, Protocol

import viser

from ..core.spatial import Array
from ..dynamics.terms import SUMMED, TERMS, Term
from .shapes import Bounds

PATIENCE = 1.0  # s: for so long what a user set is not overwritten by what is said to be so
CLOSE = 0.01  # rad, m: a slider that is this near is right


class Controls(Protocol):
    """What the page asks for; called on the thread that calls `Page.act`."""

    def command(self, name: str) -> None:
        """Do `pause`, `resume` or `reset`."""

    def pose(self, joint: str, position: float) -> None:
        """Put a joint (rad or m)."""

    def choose_terms(self, terms: Sequence[str]) -> None:
        """Let `torque/total` be the sum of these."""


Ask = Callable[[Callable[[Controls], None]], None]  # puts something to be done on the list


class Panel:
    """The controls of the simulator and of the dynamics node; grey where there is none."""

    def __init__(self, gui: viser.GuiApi, joint_names: Sequence[str], bounds: Mapping[str, Bounds], ask: Ask) -> None:
        self._ask = ask
        self._touched = 0.0
        with gui.add_folder('motors get (torque/total)'):
            self._terms = {
                name: gui.add_checkbox(name, False, disabled=True, hint=_hint(TERMS[name])) for name in SUMMED
            }
        with gui.add_folder('simulation'):
            self._buttons = {
                'reset': gui.add_button('Reset', disabled=True, hint='back to where it started, at rest'),
                'pause': gui.add_button('Pause', disabled=True, color='gray'),
                'resume': gui.add_button('Resume', disabled=True, color='gray'),
            }
        with gui.add_folder('pose: put the joints (rad)', expand_by_default=False):
            self._sliders = [_slider(gui, name, bounds[name]) for name in joint_names]
        for box in self._terms.values():
            box.on_update(self._on_terms)
        for name, button in self._buttons.items():
            button.on_click(self._on_command(name))
        for name, slider in zip(joint_names, self._sliders, strict=True):
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
        return lambda _: self._ask(lambda controls: controls.command(name))

    def _on_slider(self, joint: str) -> Callable[[Any], None]:
        def moved(event: Any) -> None:
            if self._by_user(event):
                position = float(event.target.value)
                self._ask(lambda controls: controls.pose(joint, position))

        return moved

    def show(self, q: Array | None, terms: Collection[str] | None, *, simulated: bool) -> None:
        """Say what is so: positions (n), terms in the total (None: no dynamics node), whether there is a simulator."""
        for control in (*self._buttons.values(), *self._sliders):
            _enable(control, simulated)
        for box in self._terms.values():
            _enable(box, terms is not None)
        if time.monotonic() - self._touched < PATIENCE:
            return
        for term, box in self._terms.items():
            _set(box, term in (terms or ()))
        for slider, position in zip(self._sliders, [] if q is None else q.tolist(), strict=q is not None):
            if abs(slider.value - position) > CLOSE:
                _set(slider, min(max(position, slider.min), slider.max))


def _hint(term: Term) -> str:
    return f'{term.formula}: {term.meaning}'


def _enable(control: Any, enabled: bool) -> None:
    if control.disabled == enabled:
        control.disabled = not enabled


def _set(control: Any, value: float) -> None:
    control.value = value


def _slider(gui: viser.GuiApi, name: str, bounds: Bounds) -> viser.GuiSliderHandle[float]:
    lower = -math.pi if bounds.lower is None else bounds.lower
    upper = math.pi if bounds.upper is None else bounds.upper
    start = min(max(0.0, lower), upper)
    return gui.add_slider(name, min=lower, max=max(upper, lower + 1e-3), step=1e-3, initial_value=start, disabled=True)
