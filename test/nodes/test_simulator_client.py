"""What the page asks of a simulator: of the one node that publishes the robot's state, once that has said its name."""

from __future__ import annotations

import pytest

pytest.importorskip('rclpy', reason='rclpy is not installed: the node cannot run')

from std_srvs.srv import Trigger

from krang_dynamics_ros.nodes.endpoints import NAMELESS
from krang_dynamics_ros.nodes.page.clients import SimulatorClient

from ..ros import Client, domain


def test_nobody_is_asked_who_has_not_said_his_name_yet() -> None:
    with domain() as number:
        page, simulator = Client(number), Client(number, namespace='other')
        simulator.node.create_service(Trigger, '/reset', lambda _, response: response)
        simulator.node.declare_parameters('', [('coulomb', 2.0), ('coulomb_share', 0.02), ('viscous', 0.0)])
        asked = SimulatorClient(page.node)
        page.until(lambda: asked.available, why='the service of the simulator')
        asked.poll([NAMELESS], [])
        assert asked.friction == ''

        def look() -> None:
            asked.poll([simulator.node.get_fully_qualified_name()], [])
            simulator.spin(0.01)

        page.until(lambda: asked.friction == '2 N m and 2% of its effort limit', look, 'what it adds')
        for client in (simulator, page):
            client.close()
