"""The page: a robot with its present data, and the requests of its visitors."""

from __future__ import annotations

import contextlib
import queue
import socket
import time
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import viser

from ..core.errors import TakenError
from ..core.spatial import Array
from ..core.text import shown, to_markdown
from ..dynamics.dynamics import Dynamics
from ..robot.hands import finger_joints, hand_name
from ..robot.mesh_files import MeshFiles
from ..robot.robot import Robot
from ..simulation.pulls import Pull, pull_wrench
from . import snapshot as texts
from .camera import Views, to_camera
from .figure import LIT, TRIPPED, Figure
from .guiding import GuideFolder, tripped
from .hands import Hand, ball_radius
from .overlays import Overlays
from .panel import Controls, HandFolder, HandMaker, Panel, groups_of, leaves, limits_of, movers
from .pulls import Pulls, Touch
from .server import Access, Said, guarded_server, quietly_stop
from .snapshot import Snapshot
from .torques import TorqueView
from .tour import WITH_HANDS, WITHOUT_HANDS, Moment, Tour

PANEL_WIDTH = 330  # pixels
UPDATES_APART = 5  # pictures between updates of text and curves
BLINK = 0.5  # s: a link that blinks is red for this time, then not red for the same time


class Page:
    """A server with a page. Call `act` and `show` periodically, from the same thread."""

    def __init__(self, host: str, port: int, access: Access, refused: Callable[[str], None], meshes: MeshFiles) -> None:
        """Serve the page at this address. Call `refused`, on any thread, with the reason of each refused request.

        Raise `TakenError` if the port is in use, and `MissingError` if the page cannot be guarded.
        """
        _try(host, port)
        self._asked: queue.SimpleQueue[Callable[[Controls], None]] = queue.SimpleQueue()
        self._figure: Figure | None = None
        self._server = guarded_server(host, port, access, refused, self._on_said)
        if self._server.get_port() != port:  # another process uses the port now
            quietly_stop(self._server)
            raise _taken(host, port, 'Address already in use')
        self._meshes = meshes
        self._pulls: Pulls | None = None
        self._torques: TorqueView
        self._hands: list[Hand] = []
        self._count, self._has_positions = 0, False
        self._tripped: list[str] = []  # joints that a fault names
        self._blinks = False  # whether they are red now
        self._now, self._name = Snapshot(), ''
        self._tour, self._done = Tour(), set[str]()  # steps that were done, of every robot
        self._server.gui.configure_theme(show_logo=False, show_share_button=False)
        self._server.on_client_disconnect(self._on_disconnect)
        self._views = Views(self._server)
        self._begin()
        self._server.gui.add_markdown(texts.WAITING)

    def close(self) -> None:
        """Stop the server."""
        quietly_stop(self._server)

    def _on_disconnect(self, client: viser.ClientHandle) -> None:
        self._let_go(client.client_id)

    def _let_go(self, client: int) -> None:
        if self._pulls is not None:
            self._pulls.let_go(client)

    def _on_said(self, said: Said) -> None:
        self._asked.put(lambda controls: self._hear(said, controls))

    def _hear(self, said: Said, controls: Controls) -> None:
        """Apply a message of our script in the page, on the thread of `act`."""
        if self._figure is None:
            return
        if said.get('prepare', '').isdecimal():
            self._tour.prepare(int(said['prepare']), self._now, controls)
        if 'plot' in said:
            self._torques.plot.toggle(said['plot'])
        if 'over' in said:
            self._over = said['over']
            self._light()

    def _on_link(self, link: str) -> None:
        self._asked.put(lambda _: self._on_clicked(link))

    def _on_clicked(self, link: str) -> None:
        self._mark(self._mover.get(link, ''))
        self._maker.choose(link)

    def _mark(self, joint: str) -> None:
        """Mark the row of a joint whose link was clicked; remove the mark at a second click."""
        self._torques.marked = '' if joint == self._torques.marked else joint
        self._light()

    def _light(self) -> None:
        """Highlight the links of the joint under the pointer, or of the marked row; those of a fault blink."""
        joint, red = self._over or self._torques.marked, self._tripped if self._blinks else []
        if self._figure is not None:
            lit = {link: LIT for link, mover in self._mover.items() if mover == joint}
            self._figure.light(lit | {link: TRIPPED for link, mover in self._mover.items() if mover in red})

    def _blink(self, now: Snapshot) -> None:
        """Let the links of the joints that a fault names blink."""
        joints = tripped(now.guiding.fault, self._dynamics.joint_names)
        blinks = bool(joints) and int(time.monotonic() / BLINK) % 2 == 0
        if (joints, blinks) != (self._tripped, self._blinks):
            self._tripped, self._blinks = joints, blinks
            self._light()

    def _begin(self) -> None:
        """Reset the page to an empty one."""
        self._server.gui.reset()
        self._server.scene.reset()
        self._server.gui.main_panel.dock_right()
        self._server.gui.main_panel.set_width(PANEL_WIDTH)
        self._beat = self._server.gui.add_html(texts.beat(0))

    def draw(self, robot: Robot, dynamics: Dynamics, hands: Mapping[str, str], up: Array) -> None:
        """Show another robot: its data and dynamics, the links of its hands by name, and the upward unit vector (3).

        Without hands, balls at the ends of its tree can be dragged.
        """
        grips = hands or {hand_name(link): link for link in leaves(robot)}
        self._name, self._up, self._dynamics = dynamics.name, up, dynamics
        self._tour = Tour(WITH_HANDS if hands else WITHOUT_HANDS, self._done)
        self._server.gui.set_panel_label(shown(dynamics.name))
        scene = self._server.scene
        self._begin()
        scene.configure_default_lights(cast_shadow=True)
        self._pulls = Pulls()
        self._figure = figure = Figure(scene, robot, dynamics, self._meshes, up)
        self._mover, self._over = movers(robot), ''
        self._add_panels(robot, figure, hands, next(iter(grips.values()), ''))
        gripped = self._torques.suggest
        self._touch = Touch(scene, figure, self._pulls, self._on_link, gripped)
        self._hands = [
            Hand(scene, dynamics, name, link, self._pulls, radius=self._radius(figure, link), gripped=gripped)
            for name, link in grips.items()
        ]
        self._has_positions = False  # of this robot: whether its joint positions have come
        self._tripped = []
        self._aim_camera(figure)
        self._views.fold_when_narrow(self._torques.side)

    def _radius(self, figure: Figure, link: str) -> float:
        """Return the radius of the ball on a link, m."""
        together = [other for other, mover in self._mover.items() if mover == self._mover.get(link)]
        return ball_radius(figure.size, figure.depth(link, together))

    def _add_panels(self, robot: Robot, figure: Figure, hands: Mapping[str, str], plotted: str) -> None:
        """Add the panels, from top to bottom; the plot starts with joints that move the link `plotted`."""
        gui, limits = self._server.gui, limits_of(robot)
        self._health, self._card = gui.add_html(''), gui.add_html('')
        self._panel = Panel(gui, self._asked.put)
        self._guide = GuideFolder(gui, self._asked.put)
        self._hand_folders = [HandFolder(gui, hand, link, self._asked.put) for hand, link in hands.items()]
        links = [link for link in self._mover if link not in hands.values()]
        self._maker = HandMaker(gui, links, plotted, self._asked.put)
        self._overlays = Overlays(self._server, robot, self._dynamics, figure)
        self._overlays.add_looks(gui, self._views)
        self._panel.add_sliders(gui, groups_of(robot), limits)
        self._intro, self._diagnostics = gui.add_markdown(''), gui.add_html('')
        gui.add_html(texts.not_drawn(figure.missing))
        self._torques = TorqueView(gui, self._dynamics, limits, plotted, finger_joints(robot))

    def _aim_camera(self, figure: Figure) -> None:
        """Set all cameras to show the whole robot, also with hands that are lifted, and arms that hang."""
        reach = figure.reach([hand.link for hand in self._hands], self._up)
        self._views.look(np.concatenate([figure.points, reach]), to_camera(self._up, _axes(self._dynamics)), self._up)

    @property
    def observing(self) -> bool:
        """Whether external torques are shown to a visitor."""
        return self._figure is not None and self._overlays.observing and bool(self._server.get_clients())

    def act(self, controls: Controls) -> None:
        """Execute the requests since the last call."""
        rings = self._figure is not None and self._overlays.has_rings
        _change(self._beat, texts.beat(int(time.monotonic()), self._name, rings=rings))
        with contextlib.suppress(queue.Empty):
            while True:
                self._asked.get_nowait()(controls)

    def notify(self, title: str, body: str) -> None:
        """Show a notification to all visitors, for six seconds."""
        for client in self._server.get_clients().values():
            client.add_notification(title, body, auto_close_seconds=6.0)

    def pulls(self) -> dict[str, list[Pull]]:
        """Return the present pulls by link of the simulated robot."""
        return {} if self._pulls is None else self._pulls.by_link()

    def show(self, now: Snapshot) -> None:
        """Draw the present data."""
        if self._figure is None or self._pulls is None:
            return
        self._count += 1
        self._now, self._pulls.allowed = now, now.simulated
        self._torques.remember(now.latest)
        if self._has_positions and not self._server.get_clients():
            return  # no visitors
        with self._server.atomic():
            if now.latest.q is not None:
                self._move(self._figure, now.latest.q, now)
            self._blink(now)
            if self._count % UPDATES_APART == 0:
                self._write(now)

    def _move(self, figure: Figure, q: Array, now: Snapshot) -> None:
        figure.pose(q)
        if not self._has_positions:
            self._has_positions = True
            self._aim_camera(figure)
        self._overlays.draw(q, now.latest)
        forces = self._forces(now)
        self._touch.show(forces)
        for hand in self._hands:
            readings = now.latest.readings.get(hand.name), now.latest.estimates.get(hand.name)
            hand.show(q, *readings, forces.get(hand.link, 0.0), self._up)

    def _write(self, now: Snapshot) -> None:
        _change(self._intro, texts.intro(to_markdown(self._name), now))
        _change(self._health, texts.health(now.health, now.guiding.line))
        _change(self._diagnostics, texts.diagnostics(now.health))
        self._panel.show(now)
        self._guide.show(now.guiding, now.terms is not None)
        self._write_tour(now)
        self._maker.show(now)
        for folder in self._hand_folders:
            folder.show(now.loads)
        self._torques.draw(now.latest, now.terms or ())

    def _write_tour(self, now: Snapshot) -> None:
        moment = Moment(now, self._forces(now), self.observing, self._panel.posed)
        self._tour.update(moment)
        _change(self._card, self._tour.html(moment))

    def _forces(self, now: Snapshot) -> dict[str, float]:
        """Return the force (N) of the strongest pull on each link."""
        q, dq = now.latest.q, now.latest.dq
        if q is None or dq is None:
            return {}
        return {
            link: max(float(np.linalg.norm(pull_wrench(self._dynamics, pull, q, dq).force)) for pull in pulls)
            for link, pulls in self.pulls().items()
        }


def _axes(dynamics: Dynamics) -> list[Array]:
    """Return the axes (3) of all revolute joints, at q = 0."""
    turns = np.array([dynamics.jacobian(np.zeros(dynamics.n), link)[3:] for link in dynamics.link_names])
    sizes = np.linalg.norm(turns, axis=1)  # links, joints
    return [turns[link, :, k] for k, link in enumerate(sizes.argmax(axis=0)) if sizes[link, k] > 0]


def _try(host: str, port: int) -> None:
    """Raise `TakenError` if the port is in use: viser would silently use the next port."""
    family = socket.AF_INET6 if ':' in host else socket.AF_INET
    with socket.socket(family) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError as error:
            raise _taken(host, port, str(error.strerror)) from None


def _taken(host: str, port: int, reason: str) -> TakenError:
    return TakenError(f'host {host}, port {port}: {reason}; end what is there, or choose another one (parameter port)')


def _change(handle: Any, content: str) -> None:
    if handle.content != content:
        handle.content = content
