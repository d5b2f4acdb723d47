"""Pulling links with the mouse by a spring from a point of a link to the pointer; clicks on links."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import viser

from ..core.spatial import Array
from ..simulation.pulls import Pull
from .figure import Figure

FARTHEST = 1e4  # m: a pointer that is farther away is a fault of the browser's


class Pulls:
    """The pulls of all visitors, by client; inactive unless `allowed`."""

    def __init__(self) -> None:
        self._of: dict[int, Pull] = {}
        self.allowed = False

    def grip(self, client: int, link: str, grip: Array, target: Array) -> None:
        """Pull a link at a point (3) in its axes towards a point (3) in the axes of the base."""
        if np.abs([grip, target]).max() < FARTHEST:  # NaN is not
            self._of[client] = Pull(link, grip, target)

    def move(self, client: int, target: Array) -> None:
        """Move the target (3) of this client's pull."""
        if pull := self._of.get(client):
            self.grip(client, pull.link, pull.grip, target)

    def let_go(self, client: int) -> None:
        """End the pull of this client, if any."""
        self._of.pop(client, None)

    def of_link(self, link: str) -> Pull | None:
        """Return a present pull on a link, or None."""
        return next((pull for pull in list(self._of.values()) if self.allowed and pull.link == link), None)

    def by_link(self) -> dict[str, list[Pull]]:
        """Return the present pulls by link."""
        found: dict[str, list[Pull]] = {}
        for pull in list(self._of.values()) if self.allowed else []:
            found.setdefault(pull.link, []).append(pull)
        return found


STRING, GRIP = (220, 60, 20), 0.012  # colour; radius of the ball at the grip, share of the robot's size
CTRL = 'cmd/ctrl'


class Touch:
    """Links that can be clicked and pulled."""

    def __init__(
        self, scene: viser.SceneApi, figure: Figure, pulls: Pulls,
        clicked: Callable[[str], None], gripped: Callable[[str], None],
    ) -> None:  # fmt: skip
        """`clicked` and `gripped` are called with the link, on the server's thread."""
        self._scene, self._figure, self._pulls = scene, figure, pulls
        self._gripped = gripped
        self._by: dict[int, str] = {}  # pulled link by client
        self._radius = GRIP * figure.size
        self._string = scene.add_line_segments(
            '/pull/string', np.zeros((1, 2, 3)), STRING, thickness=0.5 * self._radius, visible=False
        )
        self._grip = scene.add_icosphere('/pull/grip', radius=self._radius, color=STRING, visible=False)
        self._label = scene.add_label('/pull/label', '', anchor='bottom-center')
        self._label.visible = False
        for drawn in figure.visual:
            drawn.handle.on_click(self._on_click(drawn.link, clicked))
            drawn.handle.on_drag('left', modifier=CTRL)(self._on_drag(drawn.link))

    def _on_click(self, link: str, clicked: Callable[[str], None]) -> Callable[[Any], Any]:
        async def on_click(_: Any) -> None:
            clicked(link)

        return on_click

    def _on_drag(self, link: str) -> Callable[[viser.SceneNodeDragEvent[Any]], Any]:
        async def on_drag(event: viser.SceneNodeDragEvent[Any]) -> None:
            if event.phase == 'end' or not self._pulls.allowed:
                self._by.pop(event.client_id, None)
                self._pulls.let_go(event.client_id)
            elif event.phase == 'start':
                rotation, origin = self._figure.pose_of(link)
                grip = rotation.T @ (np.array(event.start_position) - origin)
                self._by[event.client_id] = link
                self._pulls.grip(event.client_id, link, grip, np.array(event.end_position))
                self._gripped(link)
            else:
                self._pulls.move(event.client_id, np.array(event.end_position))

        return on_drag

    def show(self, forces: Mapping[str, float]) -> None:
        """Draw a line from the gripped point of a link to the pointer, with the force (N, by link)."""
        pull = next((found for link in list(self._by.values()) if (found := self._pulls.of_link(link))), None)
        for handle in (self._string, self._grip, self._label):
            if handle.visible != (pull is not None):
                handle.visible = pull is not None
        if pull is not None:
            rotation, origin = self._figure.pose_of(pull.link)
            grip = origin + rotation @ pull.grip
            self._grip.position = self._label.position = grip
            self._string.points = np.array([[grip, pull.target]], dtype=np.float32)
            self._label.text = f'{forces.get(pull.link, 0.0):.0f} N'
