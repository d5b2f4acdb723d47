"""For whom commands are enabled: one endpoint, by the name of its node, or because it is the only one there is."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from ..core.errors import ArgumentError, listed

NAME_WITHIN = 3.0  # s: an endpoint that has not said its name by then is taken for a controller
TOOLS = re.compile(r'rosbag2|_ros2cli|ros2cli|krang_record|krang_first_run|rqt|plotjuggler|foxglove', re.IGNORECASE)
NAMELESS = 'a node that has not said its name yet'


class Endpoint(NamedTuple):
    """A subscription to `effort_commands`: its identity, and its node's full name; empty while it is not known."""

    gid: str
    node: str

    @property
    def is_tool(self) -> bool:
        """Whether it is a recorder, a plot or a command line: by the name of its node."""
        return bool(TOOLS.match(self.node.rpartition('/')[2]))


class Change(NamedTuple):
    """What has happened to the endpoint that commands are enabled for: `left`, `back` or `second`, and why in words."""

    what: str
    why: str


class ControllerWatch:
    """Who subscribes, and which endpoint the commands are meant for. Times are seconds by a steady clock."""

    def __init__(self, name: str = '') -> None:
        """`name` is the controller's node, with or without its namespace; empty: the only subscriber there is."""
        self.name = name
        self.endpoints: dict[str, Endpoint] = {}
        self.bound: Endpoint | None = None  # what commands are or were enabled for, until the next enabling
        self._seen: dict[str, float] = {}  # since when each endpoint is there
        self._allowed: frozenset[str] = frozenset()  # those that were there when commands were enabled
        self._present = False  # whether the bound one is there

    def update(self, endpoints: Sequence[Endpoint], now: float) -> Change | None:
        """Take in who subscribes now; return what that means for the commands."""
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
                return Change('second', f'a second subscription of {bound.node} came: it was started again')
            if not self.name and not endpoint.is_tool and self._known_or_old(endpoint, now):
                who = endpoint.node or NAMELESS
                return Change('second', f'{who} subscribed as well; name the controller: command_controller')
        return None

    def _known_or_old(self, endpoint: Endpoint, now: float) -> bool:
        return bool(endpoint.node) or now - self._seen[endpoint.gid] >= NAME_WITHIN

    def choose(self, now: float) -> Endpoint:
        """Return the endpoint to enable commands for, or raise `ArgumentError` with the names there are."""
        unknown = [e for e in self.endpoints.values() if not self._known_or_old(e, now)]
        if unknown:
            raise ArgumentError(f'{NAMELESS} subscribes to effort_commands: try again within {NAME_WITHIN:g} s')
        others = [e for e in self.endpoints.values() if not e.is_tool]
        meant = [e for e in others if self._is_named(e)] if self.name else others
        if len(meant) == 1:
            return meant[0]
        there = f'; there are {listed([e.node or NAMELESS for e in others])}' if others else ''
        if not meant:
            what = f'command_controller {self.name} does not subscribe' if self.name else 'no controller subscribes'
            raise ArgumentError(f'{what} to effort_commands{there}; start the controller first')
        which = f'{len(meant)} subscriptions' + (f' of {self.name}' if self.name else '')
        raise ArgumentError(f'{which} to effort_commands{there}; must be one: name it by command_controller')

    def _is_named(self, endpoint: Endpoint) -> bool:
        return endpoint.node == self.name if self.name.startswith('/') else endpoint.node.endswith(f'/{self.name}')

    def bind(self, endpoint: Endpoint) -> None:
        """Mean this endpoint from now on."""
        self.bound, self._present = endpoint, True
        self._allowed = frozenset(self.endpoints)
