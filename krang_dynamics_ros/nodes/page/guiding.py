"""Hand guiding by the page: its parameters, enabling and disabling of the commands, and restoring of the parameters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from std_srvs.srv import SetBool

from ...core.errors import KrangDynamicsError
from ...core.files import share
from ...live.parameter_file import read_parameters
from ...page.guiding import GuidingState
from ...page.snapshot import Line
from ..settings import plain
from .clients import Calls, Done, ParametersOf

ENABLE = 'effort_commands/enable'
COMMANDS, GUIDING = 'effort commands', 'guiding'  # statuses of the dynamics node
ENABLED, HOLD = 'command_enabled', 'guiding.hold_required'
OFF = 'off'


def guiding_file(given: str) -> Path:
    """Return the parameter file of the mode: `given`, or the file of the package."""
    return Path(given) if given else share('config', 'guiding.yaml')


def network_refusal(host: str) -> str:
    """Return why a page that is served on `host` must not enable commands, or '' where only this machine has access."""
    if host == 'localhost' or host.startswith('127.') or host == '::1':
        return ''
    return (
        f"host: '{host}', must be 127.0.0.1 to enable commands from the page: anyone on the network could do it; "
        'come through SSH (docs/demo.md), or call effort_commands/enable'
    )


class GuidingClient:
    """The guiding mode of the dynamics node: only a person's request starts it.

    To start: set the values of the file that differ, then enable commands; if that is refused, restore the values.
    Commands may end for any reason (a person, the switch, a fault); then the values from before are restored, except of
    parameters that no longer have the file's.
    """

    def __init__(self, calls: Calls, parameters: ParametersOf, node: str, file: Path, refusal: str = '') -> None:
        """`node` is the name of the dynamics node, for the sections of the file; `refusal` why it is never started."""
        self._refusal = refusal
        self._calls, self._parameters, self._node, self._file = calls, parameters, node, file
        calls.client_of(SetBool, ENABLE)
        self._before: dict[str, Any] = {}  # values to restore
        self._set: dict[str, Any] = {}  # values of the file, as they were set
        self._starting = self._enabled = self._restoring = False
        self._unwanted = False  # whether an enabling without an answer is to be taken back

    @property
    def entered(self) -> bool:
        """Whether this page has started the mode, and not yet restored what was set before."""
        return self._starting or self._enabled or self._restoring

    def start(self, done: Done) -> None:
        """Set the parameters of the file, then enable commands."""
        if self._refusal or self.entered:
            done(self._refusal or 'guiding is on already; stop it first')
            return
        try:
            values = read_parameters(self._file, self._node)
        except (KrangDynamicsError, OSError) as error:
            done(str(error))
            return
        self._starting = True

        def failed(reason: str) -> None:
            self._starting = False
            done(reason)

        self._parameters.get([*values], lambda present: self._change(values, present, failed, done), failed)

    def _change(self, values: Mapping[str, Any], present: Sequence[Any], failed: Done, done: Done) -> None:
        """Set what differs from the present values."""
        if not present:
            failed(f'the dynamics node lacks a parameter of {self._file}, must have all of {", ".join(values)}')
            return
        now = dict(zip(values, map(plain, present), strict=True))
        wanted = {name: value for name, value in values.items() if value != now[name]}
        if now.get(HOLD):
            wanted.pop(HOLD, None)  # a switch that the node requires stays required
        before = {name: now[name] for name in wanted}

        def answered(reason: str) -> None:
            self._set, self._before = dict(wanted), before
            if reason:  # without an answer the values may be set all the same
                failed(reason)
                self._restore()
            else:
                self._enable(done)

        if wanted:
            self._parameters.set(wanted, answered)
        else:
            answered('')

    def _enable(self, done: Done) -> None:
        def answered(response: SetBool.Response) -> None:
            self._starting, self._enabled = False, bool(response.success)
            done('' if response.success else response.message)
            if not response.success:
                self._restore()

        def failed(reason: str) -> None:  # it may enable later: disable, and wait until commands have ended
            self._starting = False
            self._enabled = self._unwanted = True
            done(reason)
            self.stop(_ignored)

        self._calls.ask(SetBool, ENABLE, SetBool.Request(data=True), answered, failed)

    def stop(self, done: Done) -> None:
        """Disable commands; what was set before is restored when they have ended."""
        self._calls.ask(
            SetBool, ENABLE, SetBool.Request(data=False),
            lambda response: done('' if response.success else response.message), done,
        )  # fmt: skip

    def poll(self, stage: str) -> None:
        """Restore the parameters once commands have ended; call it once a second with their diagnosed stage."""
        if not self._enabled or self._restoring:
            return

        def answered(values: Sequence[Any]) -> None:
            if values and values[0] and self._unwanted:
                self.stop(_ignored)
            elif values and not values[0] and stage == OFF:
                self._restore()

        self._parameters.get([ENABLED], answered, _ignored)

    def _restore(self) -> None:
        """Restore the values from before, of parameters that still have the file's."""
        names, self._restoring = [*self._before], True

        def answered(present: Sequence[Any]) -> None:
            now = dict(zip(names, map(plain, present), strict=False))
            ours = {name: self._before[name] for name, value in now.items() if value == self._set[name]}
            if ours:
                self._parameters.set(ours, self._forget)
            else:
                self._forget('')

        if names:
            self._parameters.get(names, answered, self._forget)
        else:
            self._forget('')

    def _forget(self, _: str) -> None:
        """End the mode. A node that refuses the old values, or has gone, keeps what it has."""
        self._set, self._before = {}, {}
        self._enabled = self._restoring = self._unwanted = False

    def state(self, lines: Sequence[Line], stage: str) -> GuidingState:
        """Return what the page shows; `lines` are the diagnostics of the dynamics node."""
        words = {line.about: line for line in lines}
        commands, guiding = words.get(COMMANDS), words.get(GUIDING)
        fault = commands.words if commands is not None and commands.level == 'error' else ''
        return GuidingState(stage, self.entered, fault, guiding.words if guiding is not None else '')


def _ignored(_: str) -> None:
    """Ignore a failure: the next poll asks again."""
