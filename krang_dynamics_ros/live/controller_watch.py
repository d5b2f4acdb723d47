"""Choice and supervision of the controller: the endpoint that commands are enabled for."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from ..core.errors import ArgumentError, listed

NAME_TIMEOUT = 3.0  # s: after this time, an endpoint without a node name counts as a controller
TOOLS = re.compile(r'rosbag2|_ros2cli|ros2cli|krang_record|krang_first_run|rqt|plotjuggler|foxglove', re.IGNORECASE)
NAMELESS = 'a node whose name is not known yet'


class Endpoint(NamedTuple):
    """A subscription to `effort_commands`: its GID, the full name of its node, and why it receives nothing."""

    gid: str
    node: str  # '' while unknown
    mismatch: str = ''  # of its quality of service or type; '': it receives commands

    @property
    def is_tool(self) -> bool:
        """Whether the name of the node is that of a recorder, plotter or command line tool."""
        return bool(TOOLS.match(self.node.rpartition('/')[2]))


class Change(NamedTuple):
    """Change at the endpoint that commands are enabled for: `left`, `back` or `second`, with a message."""

    what: str
    why: str


class ControllerWatch:
    """The subscribers to the commands, and the endpoint that commands are enabled for. Times in s, steady clock."""

    def __init__(self, name: str = '') -> None:
        """`name` is the controller's node, with or without namespace; '': the only subscriber."""
        self.name = name
        self.endpoints: dict[str, Endpoint] = {}
        self.bound: Endpoint | None = None  # the endpoint of the present commands, or of the last ones
        self.joints: dict[str, tuple[str, ...] | None] = {}  # parameter `joints` by node that answered; None: none
        self._seen: dict[str, float] = {}  # time at which each endpoint appeared
        self._allowed: frozenset[str] = frozenset()  # GIDs that were present when commands were enabled
        self._present = False  # whether the bound endpoint is present

    def update(self, endpoints: Sequence[Endpoint], now: float) -> Change | None:
        """Store the present subscribers; return the change that concerns the commands, if any."""
        self.endpoints = {endpoint.gid: endpoint for endpoint in endpoints}
        self._seen = {gid: self._seen.get(gid, now) for gid in self.endpoints}
        bound = self.bound
        if bound is None:
            return None
        was, self._present = self._present, bound.gid in self.endpoints
        if self._present != was:
            return Change('back', f'{bound.node} is back') if self._present else Change('left', f'{bound.node} left')
        return self._intruder(bound, now) if self._present else None

    def _intruder(self, bound: Endpoint, now: float) -> Change | None:
        for endpoint in self.endpoints.values():
            if endpoint.gid in self._allowed:
                continue
            if endpoint.node and endpoint.node == bound.node:
                return Change('second', f'a second subscription of {bound.node}: it was started again')
            if not self.name and not endpoint.is_tool and self._known_or_old(endpoint, now):
                name = endpoint.node or NAMELESS
                return Change('second', f'{name} subscribed as well; set command_controller')
        return None

    def _known_or_old(self, endpoint: Endpoint, now: float) -> bool:
        return bool(endpoint.node) or now - self._seen[endpoint.gid] >= NAME_TIMEOUT

    def choose_for(self, joint_names: tuple[str, ...], now: float, *, falling: bool) -> Endpoint:
        """Return the endpoint to enable commands of these joints for, or raise `ArgumentError` with the reason.

        Commands that fall can rise again only for the endpoint that they fall for.
        """
        endpoint, bound = self._choose(now), self.bound
        if endpoint.mismatch:
            raise ArgumentError(f'{endpoint.node or NAMELESS} cannot receive effort_commands: {endpoint.mismatch}')
        if falling and bound is not None and endpoint.gid != bound.gid:
            raise ArgumentError(f'commands still fall for {bound.node}; enable for {endpoint.node} when they are off')
        joints = self.joints.get(endpoint.node)
        if joints is not None and joints != joint_names:
            raise ArgumentError(
                f'{endpoint.node} has joints [{", ".join(joints)}], command_joints is '
                f'[{", ".join(joint_names)}]: must be the same, in the same order'
            )
        return endpoint

    def joints_note(self, endpoint: Endpoint) -> str:
        """Return a note if the order of the joints of an endpoint is not known, or ''."""
        if self.joints.get(endpoint.node) is not None:
            return ''
        why = 'it has no parameter `joints`' if endpoint.node in self.joints else 'its node has not answered'
        return f'the order of its joints could not be checked: {why}'

    def _choose(self, now: float) -> Endpoint:
        """Return the only controller, or raise `ArgumentError` with the names of the subscribers."""
        unknown = [e for e in self.endpoints.values() if not self._known_or_old(e, now)]
        if unknown:
            raise ArgumentError(f'{NAMELESS} subscribes to effort_commands: try again within {NAME_TIMEOUT:g} s')
        others = [e for e in self.endpoints.values() if not e.is_tool]
        candidates = [e for e in others if self._is_named(e)] if self.name else others
        if len(candidates) == 1:
            return candidates[0]
        present = f'; subscribers: {listed([e.node or NAMELESS for e in others])}' if others else ''
        if not candidates:
            fault = f'command_controller {self.name} does not subscribe' if self.name else 'no controller subscribes'
            raise ArgumentError(f'{fault} to effort_commands{present}; start the controller first')
        found = f'{len(candidates)} subscriptions' + (f' of {self.name}' if self.name else '')
        raise ArgumentError(f'{found} to effort_commands{present}, must be one; set command_controller')

    def _is_named(self, endpoint: Endpoint) -> bool:
        return endpoint.node == self.name if self.name.startswith('/') else endpoint.node.endswith(f'/{self.name}')

    @property
    def subscribers(self) -> list[str]:
        """Names of the nodes that subscribe to the commands, tools too."""
        return [endpoint.node or NAMELESS for endpoint in self.endpoints.values()]

    def bind(self, endpoint: Endpoint) -> None:
        """Supervise this endpoint from now on."""
        self.bound, self._present = endpoint, True
        self._allowed = frozenset(self.endpoints)
