"""Hand guiding on the page: its folder, and the joints that a fault names."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from typing import NamedTuple, Protocol

import viser

from ..core.text import to_html


class GuidingState(NamedTuple):
    """Commands and guiding mode of the dynamics node."""

    stage: str = ''  # of the commands, as diagnostics name it; empty: the node commands no joints, or there is none
    entered: bool = False  # whether this page has started the mode
    fault: str = ''  # message of the fault that ended commands
    status: str = ''  # what diagnostics say of damping and stops

    @property
    def commanding(self) -> bool:
        """Whether commands go out, and do not end now."""
        return self.stage in ('rising', 'on')

    @property
    def line(self) -> str:
        """Text for the coloured line while commands go out, or ''."""
        return '' if self.stage in ('', 'off') else f'effort commands: {self.stage}; guiding: {self.status}'


def tripped(fault: str, joint_names: Collection[str]) -> list[str]:
    """Return the joints that the message of a fault names, in the robot's order."""
    words = set(re.findall(r'[^\s,;:()\[\]]+', fault)) if fault else set()
    return [name for name in joint_names if name in words]


class GuidingControls(Protocol):
    """Requests of the folder."""

    def guide(self, *, on: bool) -> None:
        """Start or stop the guiding mode."""


class GuideFolder:
    """The folder of the guiding mode."""

    def __init__(self, gui: viser.GuiApi, ask: Callable[[Callable[[GuidingControls], None]], None]) -> None:
        with gui.add_folder('guide by hand'):
            self._start = gui.add_button(
                'Guide', disabled=True,
                hint='sets the parameters of hand guiding and enables effort_commands: the arm floats, is damped, and '
                'stops before its position limits',
            )  # fmt: skip
            self._stop = gui.add_button(
                'Stop guiding', disabled=True, color='gray',
                hint='disables effort_commands and restores the parameters: the arm sinks, unless brakes hold it',
            )  # fmt: skip
            self._words = gui.add_html('')
        self._start.on_click(lambda _: ask(lambda controls: controls.guide(on=True)))
        self._stop.on_click(lambda _: ask(lambda controls: controls.guide(on=False)))

    def show(self, guiding: GuidingState, known: bool) -> None:
        """Show the mode; `known` is whether there is a dynamics node."""
        idle = not guiding.entered and not guiding.commanding
        for button, useful in ((self._start, idle), (self._stop, guiding.commanding)):
            if button.disabled == (known and useful):
                button.disabled = not (known and useful)
        content = f'<p class="note">{to_html(_words(guiding))}</p>' if known else ''
        if self._words.content != content:
            self._words.content = content


def _words(guiding: GuidingState) -> str:
    if guiding.fault:
        return f'Commands are {guiding.fault}.'
    if guiding.commanding and not guiding.entered:
        return 'Commands were not enabled here. Stopping them leaves all parameters as they are.'
    if guiding.commanding:
        return 'Commands go out. Take the arm by the hand and lead it; to end, hold it and press Stop guiding.'
    if guiding.entered:
        return f'Commands: {guiding.stage or "off"}. The parameters are restored when they have ended.'
    return 'Take hold of the arm, then press Guide.'
