"""Camera positions that show the whole robot in a window of any shape."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import viser
from viser import _messages

from ..core.spatial import Array

FIELD = 0.8  # rad: vertical field of view
FILLED = 0.9  # of the width or height of the picture
OBLIQUE = np.array([0.8, 0.5, 0.3])  # to the camera, along the horizontal directions and up
ALONG = np.array([0.85, 0.3, 0.3])  # the same, if all joints turn about a common horizontal direction
ONE = 0.95  # share of all axes that a common direction must have


@dataclass(frozen=True)
class Window:
    """Shape of the picture: width over height, and the share that is covered from below (0 to 1)."""

    aspect: float = 1.0
    covered: float = 0.0


def frame_of(up: Array) -> Array:
    """Return rotation (3, 3): two horizontal directions and up. If up is z, the identity."""
    z = up / np.linalg.norm(up)
    x = _horizontal(np.eye(3)[(int(np.argmax(np.abs(z))) + 1) % 3], z)
    return np.column_stack([x, np.cross(z, x), z])


def to_camera(up: Array, axes: Sequence[Array] = ()) -> Array:
    """Return the direction (3) from the robot to the camera: oblique.

    If all joints turn about a common horizontal axis, nearly along this axis, with positive coordinates on the right.
    """
    frame = frame_of(up)
    only = _only_axis(axes) if len(axes) else None
    if only is None or abs(only @ frame[:, 2]) > 1 - ONE:
        return np.asarray(frame @ OBLIQUE)
    x = _horizontal(only, frame[:, 2])
    right = np.cross(frame[:, 2], x)  # for a view along -x
    x = x if right[np.argmax(np.abs(right))] > 0 else -x
    return np.asarray(np.column_stack([x, np.cross(frame[:, 2], x), frame[:, 2]]) @ ALONG)


def _only_axis(axes: Sequence[Array]) -> Array | None:
    """Return the common direction (3) of all axes, or None."""
    values, vectors = np.linalg.eigh(sum(np.outer(axis, axis) for axis in axes))
    return vectors[:, -1] if values[-1] > ONE * values.sum() else None


def _horizontal(vector: Array, up: Array) -> Array:
    flat = vector - up * (vector @ up)
    return np.asarray(flat / np.linalg.norm(flat))


def framed(points: Array, direction: Array, up: Array, window: Window) -> tuple[Array, Array]:
    """Return position (3) and target (3) of a camera that sees all points (m, 3) from a direction (3).

    A point is in the picture if |a - x| <= t (c + d): a its coordinate to the right (or up), c its depth, x and d the
    camera's, t the tangent of half the field. So d is at least A - x/t and B + x/t for two numbers A and B.
    """
    forward = -direction / np.linalg.norm(direction)
    right = np.cross(forward, up)
    right /= np.linalg.norm(right)
    above = np.cross(right, forward)
    a, b, c = points @ right, points @ above, points @ forward
    t = np.tan(FIELD / 2) * FILLED
    x, across = _between(a, c, t * window.aspect, t * window.aspect)
    y, along = _between(b, c, t, t * (1 - 2 * window.covered))
    d = max(across, along, 0.05 - float(c.min()))
    if d > along:  # centre it
        y = _middle(b, c, d, t, t * (1 - 2 * window.covered))
    if d > across:
        x = _middle(a, c, d, t * window.aspect, t * window.aspect)
    position = x * right + y * above - d * forward
    return position, position + forward * (d + float(np.median(c)))


def _between(a: Array, c: Array, t_over: float, t_under: float) -> tuple[float, float]:
    """Return the coordinate of the camera and the minimum distance at which all points are visible."""
    over, under = float((a / t_over - c).max()), float((-a / t_under - c).max())
    x = (over - under) / (1 / t_over + 1 / t_under)
    return x, over - x / t_over


def _middle(a: Array, c: Array, d: float, t_over: float, t_under: float) -> float:
    """Return the middle of the camera coordinates from which all points are visible at a distance."""
    return (float((a - t_over * (c + d)).max()) + float((a + t_under * (c + d)).min())) / 2


PHONE = 576  # pixels: up to this width viser's page has a sheet at the bottom instead of panels
SHEET = 0.42  # of such a window's height, as in page.css
NARROW = 460  # pixels: minimum width for a robot between panels
TRIES = 10  # how often a camera that the browser has put back is set again
OFF = 0.15  # of its distance: a smaller move of the camera is not by the visitor


@dataclass
class Viewer:
    """A visitor: the sizes (pixels) of the first and the last picture, and the camera poses that we have set."""

    first: tuple[int, int]
    size: tuple[int, int]
    put: list[tuple[Array, float]]  # position, and distance from the target, m
    folded: bool = False
    tries: int = 0  # how often the browser has put the camera back

    def add(self, position: Array, target: Array) -> None:
        """Remember a position (3) and a target (3) of the camera that we have set."""
        self.put = [*self.put[-9:], (position, float(np.linalg.norm(position - target)))]

    def has_not_moved(self, position: Array) -> bool:
        """Return whether the camera is where we put it; viser's page places it with an error of a few per cent."""
        return any(np.linalg.norm(position - where) < OFF * distance for where, distance in self.put)

    def was_put_back(self, position: Array) -> bool:
        """Tell whether the browser has put the camera where it stood before; it may, while it loads the page."""
        where, distance = self.put[-1]
        back = self.has_not_moved(position) and float(np.linalg.norm(position - where)) > OFF * distance
        self.tries += back
        return back and self.tries <= TRIES

    def has_shape_of(self, width: int, height: int) -> bool:
        """Return whether a picture size has the last aspect ratio: viser's page reduces the resolution when slow."""
        return abs(width * self.size[1] - height * self.size[0]) < 0.01 * width * self.size[1]

    @property
    def window(self) -> Window:
        """Shape of the picture. A window that is narrow from the start is a phone, with a sheet over the picture."""
        width, height = self.size
        phone = self.size == self.first and width <= PHONE and height > width
        return Window(width / max(height, 1), SHEET if phone else 0.0)


class Views:
    """The cameras of all visitors; each follows the robot and the window until the visitor moves it."""

    def __init__(self, server: viser.ViserServer) -> None:
        self._server = server
        self._points: Array = np.zeros((1, 3))
        self._to_camera, self._up = np.array([0.8, 0.5, 0.3]), np.array([0.0, 0.0, 1.0])
        self._panel: viser.PanelHandle | None = None
        self._viewers: dict[int, Viewer] = {}
        server.on_client_connect(self._on_connect)
        server.on_client_disconnect(self._on_disconnect)

    def look(self, points: Array, direction: Array, up: Array) -> None:
        """Set all cameras to show points (m, 3) from a direction (3)."""
        self._points, self._to_camera, self._up = points, direction, up
        first = self._server.initial_camera
        first.fov, (first.position, first.look_at) = FIELD, framed(points, direction, up, Window())
        for viewer in self._viewers.values():  # a browser that had no first camera takes it later, in place of ours
            viewer.add(first.position, first.look_at)
        for client in self._server.get_clients().values():
            self._frame(client)

    def fold_when_narrow(self, panel: viser.PanelHandle) -> None:
        """Fold a panel for visitors with a narrow window."""
        self._panel = panel
        for client in self._server.get_clients().values():
            if viewer := self._viewers.get(client.client_id):
                viewer.folded = False
                self._fold(client, viewer)

    def turn(self, client: viser.ClientHandle, points: Array, side: Sequence[float] | None) -> None:
        """Show points (m, 3) to a visitor from a side (3: two horizontal directions and up); None: the default."""
        self._points = points
        self._frame(client, self._to_camera if side is None else frame_of(self._up) @ side)

    def _on_connect(self, client: viser.ClientHandle) -> None:
        size = (client.camera.image_width, client.camera.image_height)
        first = self._server.initial_camera
        put = [(first.position, float(np.linalg.norm(first.position - first.look_at)))]
        self._viewers[client.client_id] = Viewer(size, size, put)
        self._frame(client)
        client.camera.on_update(lambda _: self._on_camera(client))
        self._on_camera(client)  # its window may have changed meanwhile

    def _on_disconnect(self, client: viser.ClientHandle) -> None:
        self._viewers.pop(client.client_id, None)

    def _on_camera(self, client: viser.ClientHandle) -> None:
        viewer, camera = self._viewers.get(client.client_id), client.camera
        if viewer is None:
            return
        if viewer.has_shape_of(camera.image_width, camera.image_height):
            if viewer.was_put_back(camera.position):
                self._frame(client)
            return
        viewer.size = (camera.image_width, camera.image_height)
        self._fold(client, viewer)
        if viewer.has_not_moved(camera.position):
            self._frame(client)

    def _fold(self, client: viser.ClientHandle, viewer: Viewer) -> None:
        """Fold the panel for a single visitor, once; viser would fold it for all."""
        if self._panel is None or viewer.folded or viewer.size[0] >= NARROW:
            return
        viewer.folded = True
        gui = self._server.gui
        message = _messages.GuiSetPanelCollapsedMessage(
            self._panel._impl.uuid, True, counter=gui._next_layout_counter(), run_id=gui._layout_run_id
        )
        client.gui._websock_interface.queue_message(message)

    def _frame(self, client: viser.ClientHandle, direction: Array | None = None) -> None:
        viewer = self._viewers.get(client.client_id)
        if viewer is None:
            return
        direction = self._to_camera if direction is None else direction
        position, target = framed(self._points, direction, self._up, viewer.window)
        viewer.add(position, target)
        camera = client.camera
        with client.atomic():
            camera.fov, camera.up_direction = FIELD, self._up
            camera.position = position
            camera.look_at = target  # last: moving a camera changes its target
