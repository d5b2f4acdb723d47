"""Poses, Jacobians and relative motion of links, and bodies and wrenches in other frames, by Pinocchio."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
import pinocchio as pin
from numpy.typing import ArrayLike

from ..core.errors import ArgumentError, unknown_name
from ..core.inertia import Inertia
from ..core.spatial import Array, hat
from ..core.wrench import LEVER, Wrench
from .pinocchio_model import PinocchioModel

Frame = Literal['base', 'link']
_REFERENCE = {'base': pin.LOCAL_WORLD_ALIGNED, 'link': pin.LOCAL}


class Kinematics(PinocchioModel):
    """The kinematics of the links of a robot, a part of `Dynamics`."""

    def pose(self, q: ArrayLike, link: str) -> tuple[Array, Array]:
        """Return the pose of a link in the base frame, 0T_j of the report.

        Args:
            q: joint positions (n,), rad or m.
            link: name of the link.

        Returns:
            Rotation (3, 3), and origin (3,) in m.

        Raises:
            ArgumentError: `q` has another shape, or the link is unknown.
        """
        frame = self._frame(link)
        pin.forwardKinematics(self._model, self._data, self._position_in(q))
        placement = pin.updateFramePlacement(self._model, self._data, frame)
        return placement.rotation.copy(), placement.translation.copy()

    def jacobian(self, q: ArrayLike, link: str, frame: Frame = 'base') -> Array:
        """Return the Jacobian J of a link's origin: [v; omega] = J dq.

        Args:
            q: joint positions (n,), rad or m.
            link: name of the link.
            frame: axes of v and omega, those of the base or of the link.

        Returns:
            J (6, n), linear velocity first.

        Raises:
            ArgumentError: `q` has another shape, or link or frame is unknown.
        """
        return self._columns(
            pin.computeFrameJacobian(
                self._model, self._data, self._position_in(q), self._frame(link), _reference(frame)
            )
        )

    def relative_pose(self, q: ArrayLike, link: str, seen_from: str) -> tuple[Array, Array]:
        """Return the pose of a link in the frame of any other link.

        Args:
            q: joint positions (n,), rad or m.
            link: name of the link.
            seen_from: name of the other link.

        Returns:
            Rotation (3, 3), and origin (3,) in m.

        Raises:
            ArgumentError: `q` has another shape, or a link is unknown.
        """
        (R, p), (R_from, p_from) = self.pose(q, link), self.pose(q, seen_from)
        return R_from.T @ R, R_from.T @ (p - p_from)

    def relative_jacobian(self, q: ArrayLike, link: str, seen_from: str) -> Array:
        """Return the Jacobian J of a link as an observer on another link sees it: [v; omega] = J dq.

        Args:
            q: joint positions (n,), rad or m.
            link: name of the link.
            seen_from: name of the observer's link; v and omega are in its axes.

        Returns:
            J (6, n); v is the velocity of the link's origin.

        Raises:
            ArgumentError: `q` has another shape, or a link is unknown.
        """
        J, J_from = self.jacobian(q, link), self.jacobian(q, seen_from)
        (R_from, p_from), (_, p) = self.pose(q, seen_from), self.pose(q, link)
        v, omega = (J - J_from).reshape(2, 3, self.n)
        return np.vstack([R_from.T @ (v + hat(p - p_from) @ J_from[3:]), R_from.T @ omega])

    def jacobian_rate(self, q: ArrayLike, dq: ArrayLike, link: str, frame: Frame = 'base') -> Array:
        """Return (dJ/dt) dq: how fast [v; omega] of a link changes by the velocities alone.

        In the axes of the base, this is the acceleration of the link's frame. The axes of the link turn: in them, the
        linear part is that acceleration less omega x v.

        Args:
            q: joint positions (n,), rad or m.
            dq: joint velocities (n,), rad/s or m/s.
            link: name of the link.
            frame: axes of the result, those of the base or of the link.

        Returns:
            Linear and angular part (6,), m/s^2 and rad/s^2.

        Raises:
            ArgumentError: a vector has another shape, or link or frame is unknown.
        """
        pin.forwardKinematics(self._model, self._data, self._position_in(q), self._vector_in(dq), self._zero)
        acceleration = pin.getFrameClassicalAcceleration if frame == 'base' else pin.getFrameAcceleration
        return np.array(acceleration(self._model, self._data, self._frame(link), _reference(frame)).vector)

    def scaled_jacobians(self, q: ArrayLike, links: Sequence[str]) -> Array:
        """Return the Jacobians (6 x links, n) of links in their own axes, the rows of omega times LEVER: all in m."""
        J = np.array([self.jacobian(q, link, 'link') for link in links]).reshape(-1, 2, 3, self.n)
        J[:, 1] *= LEVER
        return J.reshape(-1, self.n)

    def fixed_together(self, link: str, other: str) -> bool:
        """Return whether two links are one rigid body: no moving joint is between them.

        Args:
            link: name of a link.
            other: name of another link.

        Returns:
            True if they move together.

        Raises:
            ArgumentError: a link is unknown.
        """
        here, there = (self._model.frames[self._frame(name)].parentJoint for name in (link, other))
        return bool(here == there)

    def inertia_at_link(self, inertia: Inertia, link: str, given_in: str, q: ArrayLike | None = None) -> Inertia:
        """Transform a body from the frame in which it is given to the frame of the link that carries it.

        Args:
            inertia: the body, in the frame of `given_in`.
            link: name of the link that carries the body.
            given_in: name of the link in whose frame the body is given.
            q: joint positions (n,) at which the frames are compared, rad or m; not needed if no moving joint is between
                the two links.

        Returns:
            The same body in the frame of `link`. It moves with this link from then on.

        Raises:
            ArgumentError: `q` is needed and missing, or has another shape, or a link is unknown.
        """
        here, there = (self._model.frames[self._frame(name)] for name in (link, given_in))
        if self.fixed_together(link, given_in):
            pose = here.placement.actInv(there.placement)
        elif q is None:
            raise ArgumentError(f"inertia in the frame of '{given_in}', which moves relative to '{link}': must have q")
        else:
            pin.forwardKinematics(self._model, self._data, self._position_in(q))
            carrier, other = (self._data.oMi[frame.parentJoint] * frame.placement for frame in (here, there))
            pose = carrier.actInv(other)
        return inertia.in_parent(pose.rotation, pose.translation)

    def wrench_at_link(self, q: ArrayLike, wrench: Wrench) -> Array:
        """Return a wrench in the axes of its link, about the origin of its link.

        Args:
            q: joint positions (n,), rad or m.
            wrench: wrench in any axes, about the origin of any link.

        Returns:
            [force; moment] (6,), N and N m.

        Raises:
            ArgumentError: `q` has another shape, or the wrench names an unknown link.
        """
        return self._at_link(self._position_in(q), self._frame(wrench.link), wrench)

    def _at_link(self, position: Array, link: int, wrench: Wrench) -> Array:
        """Return a wrench (6) in the axes of its link, about the origin of its link."""
        f = wrench.vector
        axes = self._frame(wrench.axes) if wrench.axes else link
        about = self._frame(wrench.about) if wrench.about else link
        if axes == link and about == link:
            return f
        pin.forwardKinematics(self._model, self._data, position)  # the Jacobian computes the poses of its chain only
        pose = [pin.updateFramePlacement(self._model, self._data, frame).copy() for frame in (link, axes, about)]
        given = pin.SE3(pose[1].rotation, pose[2].translation)
        return np.array(pose[0].actInv(given).act(pin.Force(f)).vector)


def _reference(frame: Frame) -> pin.ReferenceFrame:
    if frame not in _REFERENCE:
        raise unknown_name('frame', frame, _REFERENCE)
    return _REFERENCE[frame]
