"""Publishers of `dynamics_node`: torques, matrices, estimated wrenches and contact, with their diagnostics."""

from __future__ import annotations

from collections.abc import Iterator

from rclpy.node import Node
from rclpy.parameter import Parameter
from std_msgs.msg import Bool, String
from std_srvs.srv import SetBool

from ...core.errors import ArgumentError, listed
from ...core.parameters import Settings
from ...dynamics.contact import Contact
from ...dynamics.hand_wrenches import HandWrenchEstimate
from ...dynamics.terms import TERMS, Torques
from ...live.engine import Engine
from ...live.support_wrench import TOPIC, SupportWrench
from ..diagnostics import OK, WARN, Status
from ..topics import LATCHED, NumbersTopic, PointTopic, Topic, TorqueTopic, WrenchTopic
from .command_output import CommandOutput


class SupportWrenchTopics:
    """Publishes what the robot applies to its support. Without a subscriber it computes nothing."""

    def __init__(self, node: Node, support_wrench: SupportWrench, base: str) -> None:
        """`base` is the base link, in whose frame wrench and point are given."""
        self._base_wrench, self._base = support_wrench, base
        self.has_subscriber = False  # whether a topic has a subscriber
        self._wrench = WrenchTopic(node, TOPIC, self._on_subscribers)
        self._point = PointTopic(node, 'zero_moment_point', base, self._on_subscribers)
        self._pressed = True  # whether the latest wrench has a zero moment point

    def _on_subscribers(self) -> None:
        self.has_subscriber = self._wrench.has_subscriber or self._point.has_subscriber

    def publish(self, torques: Torques, stamp: int) -> None:
        """Publish the wrench and the zero moment point of a state, with the stamp (ns) of its joint state."""
        floor = self._point.has_subscriber and self._base_wrench.has_floor
        if not (self._wrench.has_subscriber or floor):
            return
        wrench = self._base_wrench.wrench(torques)
        if wrench is None:
            return
        if self._wrench.has_subscriber:
            self._wrench.send(wrench, self._base, stamp)
        if floor:
            point = self._base_wrench.zero_moment_point(wrench)
            self._pressed = point is not None
            if point is not None:
                self._point.send(point, stamp)

    def status(self) -> Status:
        """Return the present status."""
        if not self.has_subscriber:
            return Status('support', OK, 'no subscribers')
        if not self._base_wrench.has_floor and self._point.has_subscriber:
            return Status('support', WARN, 'no zero_moment_point: base.floor is not set')
        if not self._pressed and self._point.has_subscriber:
            return Status('support', WARN, 'no zero_moment_point: the robot does not press on the floor')
        if self._base_wrench.is_static:
            return Status('support', WARN, 'static, without accelerations: no velocities')
        return Status('support', OK, 'accelerations from the observer, behind its low pass')


class ExternalTopics:
    """External torques, wrenches at the hands and contact, computed only for subscribers."""

    def __init__(self, node: Node, engine: Engine, torque: Topic) -> None:
        """`torque` is the topic of the external torques."""
        self._node, self._external, self._hands, self._torque = node, engine.external, engine.inputs.hands, torque
        self._states = engine.inputs.states
        changed = self._on_subscribers
        self._estimated = {name: WrenchTopic(node, f'wrench/{name}/estimated', changed) for name in self._hands}
        self._contact = Topic(node, Bool, 'contact', changed)
        self._contacts = {name: Topic(node, Bool, f'contact/{name}', changed) for name in self._hands}
        self._wrenches_subscribed = self._contact_subscribed = self._observes = False
        self._last: Torques | None = None  # the latest since diagnostics were last sent
        self._estimates: dict[str, HandWrenchEstimate] = {}
        self._touched: Contact | None = None
        node.create_service(SetBool, 'contact/learn', self._on_learn)

    def compute(self, torques: Torques) -> None:
        """Compute the outputs that have subscribers."""
        wrenches, contact = self._wrenches_subscribed, self._contact_subscribed
        observes = wrenches or contact or self._torque.has_subscriber or self._external.learner is not None
        if observes and not self._observes:  # else the time without a subscriber would be reported as a gap
            self._external.observer.forget()
        self._observes = observes
        if observes:
            self._last = torques
            self._external.learn(torques)
        self._estimates = self._external.wrenches(torques) if wrenches else {}
        self._touched = self._external.contact(torques) if contact else None

    def _on_subscribers(self) -> None:
        self._wrenches_subscribed = any(topic.has_subscriber for topic in self._estimated.values())
        self._contact_subscribed = any(topic.has_subscriber for topic in (self._contact, *self._contacts.values()))

    def publish(self, stamp: int) -> None:
        """Publish the results that are known, with the stamp (ns) of their joint state."""
        if not self._wrenches_subscribed and not self._contact_subscribed:
            return
        for name, estimate in self._estimates.items():
            if estimate.wrench is not None and self._estimated[name].has_subscriber:
                hand = self._hands[name]
                by_world = 1.0 if hand.sense == 'applied_on_robot' else -1.0
                self._estimated[name].send(by_world * estimate.wrench, hand.link, stamp)
        if self._touched is not None:
            _send(self._contact, self._touched.anywhere)
            for name, touched in self._touched.hands.items():
                _send(self._contacts[name], touched)

    def _on_learn(self, request: SetBool.Request, response: SetBool.Response) -> SetBool.Response:
        if request.data:
            self._external.begin_learning()
            response.success = True
            response.message = 'move the robot without contact; then call contact/learn with data: false'
            return response
        try:
            thresholds = self._external.end_learning()
        except ArgumentError as error:
            response.success, response.message = False, str(error)
            return response
        result = self._node.set_parameters_atomically([Parameter(name, value=x) for name, x in thresholds.items()])
        least, most = min(thresholds.values()), max(thresholds.values())
        numbers = f'{len(thresholds)} thresholds, {least:.3g} to {most:.3g} N m (N)'
        response.success, response.message = result.successful, numbers if result.successful else result.reason
        return response

    # Diagnostics ------------------------------------------------------------------------------------------------------

    def statuses(self) -> Iterator[Status]:
        """Yield the present statuses; outputs without subscribers are OK."""
        last, self._last = self._last, None
        yield self._torque_status(last)
        for name, topic in self._estimated.items():
            yield self._wrench_status(name, topic.has_subscriber and last is not None)
        yield self._contact_status(last is not None and self._contact_subscribed)

    def _torque_status(self, last: Torques | None) -> Status:
        observer, external = self._external.observer, self._external
        values: dict[str, object] = {'effort source': observer.efforts.source, 'gain (1/s)': observer.gain}
        if last is None:
            return Status('external torque', OK, 'no subscriber, or no joint states', values)
        missing, left = external.without_effort(last.state), observer.seconds_to_settle(last.state)
        values |= {'without effort': ', '.join(missing), 'settles for (s)': f'{left:.2f}'}
        if self._states.is_too_old and observer.efforts.source != 'external':
            behind = listed(self._states.delayed_joints())
            return Status('external torque', WARN, f'none: {behind} cannot be aligned in time with the others', values)
        if last.state.dq is None and observer.efforts.source != 'external':
            return Status('external torque', WARN, 'none: no velocities', values)
        if missing:
            return Status('external torque', WARN, f'joints without effort are omitted: {", ".join(missing)}', values)
        if left and observer.gap:
            reason = f'stamps {observer.gap:.2g} s apart, must be within {observer.max_gap:g} s (state_timeout)'
            return Status('external torque', WARN, f'restarted, settles for {left:.2f} s: {reason}', values)
        return Status('external torque', OK, f'settles for {left:.2f} s' if left else 'known', values)

    def _wrench_status(self, name: str, active: bool) -> Status:
        title, estimate = f'estimated wrench {name}', self._estimates.get(name)
        if not active:
            return Status(title, OK, 'no subscriber, or no joint states')
        if self._external.silent:
            silent = ', '.join(self._external.silent)
            return Status(title, WARN, f'none: `subtract_from_external` is set, but there are no readings of {silent}')
        if estimate is None:
            return Status(title, WARN, 'none: the external torques are not known yet')
        smallest = f'{estimate.smallest_singular_value:.4f}'
        values = {'smallest singular value (m)': smallest, 'weakest direction': estimate.weakest_direction}
        if estimate.wrench is None:
            weakest = f'{estimate.weakest_direction}: singular value {smallest} m'
            message = f'none: not observable along {weakest}, must be at least external.min_singular_value'
            return Status(title, WARN, message, values)
        return Status(title, OK, 'known', values)

    def _contact_status(self, active: bool) -> Status:
        if self._external.learner is not None:
            return Status('contact', OK, f'learning from a free run: {self._external.learner.states} states')
        if not self._external.detector.ready:
            return Status('contact', OK, 'not detected: no thresholds; contact/learn learns them from a free run')
        if not active:
            return Status('contact', OK, 'no subscriber, or no joint states')
        if self._touched is None:
            return Status('contact', WARN, 'not detected: the external torques are not known yet')
        joints = ', '.join(self._touched.joints)
        return Status('contact', OK, f'at {joints}' if joints else 'none', {'beyond the threshold': joints})


def _send(topic: Topic, value: bool) -> None:
    if topic.has_subscriber:
        topic.message.data = value
        topic.publish()


class DynamicsOutputs:
    """Publishers. Results without subscribers are not computed."""

    def __init__(self, node: Node, settings: Settings, engine: Engine) -> None:
        self._engine, self._dynamics, model = engine, engine.dynamics, engine.model
        names, frame_id = self._dynamics.joint_names, engine.torque_frame
        torques = {term: TorqueTopic(node, f'torque/{term}', names, frame_id) for term in TERMS}
        self._torques = tuple(torques.items())
        self.external = ExternalTopics(node, engine, torques['external'])
        self._total = TorqueTopic(node, 'torque/total', names, frame_id)
        self._firmware = TorqueTopic(node, 'torque/robot', names, frame_id)
        self.commands = CommandOutput(node, engine.supervisor)
        self._inertia = NumbersTopic(node, 'dynamics/inertia', self._dynamics.n)
        self._coriolis = NumbersTopic(node, 'dynamics/coriolis', self._dynamics.n)
        self._com = PointTopic(node, 'center_of_mass', self._dynamics.base)
        self.support_wrench = SupportWrenchTopics(node, engine.support_wrench, self._dynamics.base)
        if not settings['robot_description_topic']:  # else another node publishes it
            self._description = node.create_publisher(String, 'robot_description', LATCHED)
            self._description.publish(String(data=model.urdf))

    def publish(self, torques: Torques, stamp: int) -> None:
        """Publish the results that have subscribers and are known, with the stamp (ns) of their joint state.

        Torques and estimates are computed first: messages published close together wake a subscriber only once.
        """
        self.external.compute(torques)
        known = [(topic, torques.term(term)) for term, topic in self._torques if topic.has_subscriber]
        if self._total.has_subscriber:
            known.append((self._total, torques.total(self._engine.total_terms)))
        if self._firmware.has_subscriber:
            known.append((self._firmware, self._engine.firmware.torque(torques.state.q, torques.state.dq)))
        self.commands.on_torques(torques)
        for topic, torque in known:
            if torque is not None:
                topic.send(torque, stamp)
        self.external.publish(stamp)
        if self.support_wrench.has_subscriber:
            self.support_wrench.publish(torques, stamp)
        q, dq = torques.state.q, torques.state.dq
        if self._com.has_subscriber:
            self._com.send(self._dynamics.center_of_mass(q), stamp)
        if self._inertia.has_subscriber:
            self._inertia.send(self._dynamics.A(q))
        if self._coriolis.has_subscriber and dq is not None:
            self._coriolis.send(self._dynamics.C(q, dq))
