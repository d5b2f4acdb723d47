"""What `dynamics_node` says: torques by term, commands, A and C, the centre of mass, the robot description."""

from __future__ import annotations

from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, QoSProfile
from std_msgs.msg import String

from ..dynamics.terms import TERMS, Torques
from ..pipeline.pipeline import Pipeline
from ..pipeline.settings import Settings
from .command_output import CommandOutput
from .external_topics import ExternalTopics
from .topics import NumbersTopic, PointTopic, TorqueTopic

LATCHED = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)


class DynamicsOutputs:
    """Topics. What nobody listens to is neither computed nor sent."""

    def __init__(self, node: Node, settings: Settings, pipeline: Pipeline) -> None:
        self._pipeline, self._dynamics, model = pipeline, pipeline.dynamics, pipeline.model
        names, frame_id = self._dynamics.joint_names, settings['frame_id']
        self._torques = {term: TorqueTopic(node, f'torque/{term}', names, frame_id) for term in TERMS}
        self.external = ExternalTopics(node, pipeline, self._torques['external'])
        self._total = TorqueTopic(node, 'torque/total', names, frame_id)
        self.commands = CommandOutput(node, pipeline.supervisor)
        self._inertia = NumbersTopic(node, 'dynamics/inertia', self._dynamics.n)
        self._coriolis = NumbersTopic(node, 'dynamics/coriolis', self._dynamics.n)
        self._com = PointTopic(node, 'center_of_mass', self._dynamics.base)
        if not settings['robot_description_topic']:  # else somebody else says it
            self._description = node.create_publisher(String, 'robot_description', LATCHED)
            self._description.publish(String(data=model.urdf))

    def publish(self, torques: Torques, stamp: int) -> None:
        """Publish what somebody listens to and can be known, with the stamp (ns) of the joint state it comes from.

        All is computed first: messages that go out close together wake those who listen once.
        """
        known = [(topic, torques.term(term)) for term, topic in self._torques.items() if topic.wanted]
        if self._total.wanted:
            known.append((self._total, torques.total(self._pipeline.summed)))
        self.external.compute(torques)
        self.commands.follow(torques)
        for topic, torque in known:
            if torque is not None:
                topic.send(torque, stamp)
        self.external.publish(stamp)
        q, dq = torques.state.q, torques.state.dq
        if self._com.wanted:
            self._com.send(self._dynamics.center_of_mass(q), stamp)
        if self._inertia.wanted:
            self._inertia.send(self._dynamics.A(q))
        if self._coriolis.wanted and dq is not None:
            self._coriolis.send(self._dynamics.C(q, dq))
