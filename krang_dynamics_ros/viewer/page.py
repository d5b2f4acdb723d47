"""The page as a whole: one robot, what is known of it now, and what was touched."""

from __future__ import annotations

import contextlib
import queue
import socket
from collections.abc import Callable, Mapping
from html import escape
from typing import Any

import numpy as np
import viser

from ..core.errors import TakenError
from ..core.spatial import Array
from ..dynamics.dynamics import Dynamics
from . import texts as words
from .access import Access
from .figure import Figure
from .hands import Hand
from .panel import Controls, Panel
from .server import guarded_server, quietly_stop
from .shapes import bounds_of, shapes_of
from .snapshot import Now
from .torques import Torques

RIGHT = 380  # pixels
FROM, DISTANCE, FIELD = np.array([0.8, 0.5, 0.3]), 4.5, 0.8  # where the camera stands, and what it takes in (rad)
SELDOM = 5  # one picture in so many brings the text and the curves up to date as well


class Page:
    """A server with one page. Call `act` and `show` from one thread, again and again."""

    def __init__(self, host: str, port: int, access: Access, refused: Callable[[str], None]) -> None:
        """Serve at this address to whom `access` allows, and call `refused` with a reason, on any thread, for others.

        Raise `TakenError` if the port cannot be had, and `MissingError` if the page cannot be guarded.
        """
        _try(host, port)
        self._server = guarded_server(host, port, access, refused)
        self._asked: queue.SimpleQueue[Callable[[Controls], None]] = queue.SimpleQueue()
        self._figure: Figure | None = None
        self._hands: list[Hand] = []
        self._count, self._seen = 0, False
        self._server.gui.configure_theme(show_logo=False, show_share_button=False)
        self._server.on_client_disconnect(self._on_disconnect)
        self._dock()
        self._server.gui.add_markdown(words.WAITING)

    def close(self) -> None:
        """End the server."""
        quietly_stop(self._server)

    def _on_disconnect(self, client: viser.ClientHandle) -> None:
        for hand in self._hands:
            hand.let_go(client.client_id)

    def _dock(self) -> None:
        self._server.gui.main_panel.dock_right()
        self._server.gui.main_panel.set_width(RIGHT)

    def draw(self, urdf: str, dynamics: Dynamics, hands: Mapping[str, str]) -> None:
        """Show another robot: its URDF, the dynamics of that, and its hands' links by name."""
        bounds = bounds_of(urdf)
        self._name = escape(dynamics.name)
        gui, scene, names = self._server.gui, self._server.scene, dynamics.joint_names
        gui.reset()
        scene.reset()
        self._dock()
        scene.configure_default_lights(cast_shadow=True)
        self._figure = Figure(scene, dynamics, shapes_of(urdf))
        self._hands = [Hand(scene, dynamics, name, link) for name, link in hands.items()]
        self._seen = False  # where its joints are
        self._look_at_it(self._figure)
        self._intro, self._health = gui.add_markdown(''), gui.add_html('')
        self._panel = Panel(gui, names, bounds, self._asked.put)
        self._torques = Torques(gui, dynamics, bounds, next(iter(hands.values()), ''))

    def _look_at_it(self, figure: Figure) -> None:
        """Let everybody see all of the robot, as it stands."""
        middle, size = figure.box
        own: list[Any] = [client.camera for client in self._server.get_clients().values()]
        for camera in [self._server.initial_camera, *own]:
            camera.fov, camera.position = FIELD, middle + DISTANCE * size * FROM
            camera.look_at = middle  # last, for a camera that is moved looks elsewhere

    def act(self, controls: Controls) -> None:
        """Do what was asked for on the page since the last time."""
        with contextlib.suppress(queue.Empty):
            while True:
                self._asked.get_nowait()(controls)

    def tell(self, title: str, body: str) -> None:
        """Show everybody who has the page open a word that goes away by itself."""
        for client in self._server.get_clients().values():
            client.add_notification(title, body, auto_close_seconds=6.0)

    def pushes(self, q: Array, dq: Array) -> dict[str, Array]:
        """Return the forces (3, in the hand's own axes) that somebody gives hands now, by name."""
        return {hand.name: force for hand in self._hands if (force := hand.push(q, dq)) is not None}

    def show(self, now: Now) -> None:
        """Draw what is known now."""
        if self._figure is None:
            return
        self._count += 1
        self._torques.remember(now.torques, now.q, now.dq)
        if self._seen and not self._server.get_clients():
            return  # nobody has the page open
        with self._server.atomic():
            if now.q is not None:
                self._figure.pose(now.q)
                if not self._seen:
                    self._seen = True
                    self._look_at_it(self._figure)
                for hand in self._hands:
                    hand.show(now.q, now.readings.get(hand.name), can_be_pushed=now.simulated)
            if self._count % SELDOM == 0:
                self._write(now)

    def _write(self, now: Now) -> None:
        text = words.SIMULATED if now.simulated else words.REAL
        tries = words.WITH_HANDS if self._hands else words.WITHOUT_HANDS
        _change(self._intro, text.format(robot=self._name, tries=tries))
        _change(self._health, words.health(now.health))
        self._panel.show(now.q, now.terms, simulated=now.simulated)
        self._torques.draw(now.torques)


def _try(host: str, port: int) -> None:
    """Raise `TakenError` if the port cannot be had: viser would take the next one without a word."""
    family = socket.AF_INET6 if ':' in host else socket.AF_INET
    with socket.socket(family) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError as error:
            reason = f'host {host}, port {port}: {error.strerror}'
            raise TakenError(f'{reason}; end what is there, or choose another one (parameter port)') from None


def _change(handle: Any, content: str) -> None:
    if handle.content != content:
        handle.content = content
