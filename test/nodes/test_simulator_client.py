"""Requests of the page to a simulator: to the only node that publishes the robot's state, once its name is known."""

from __future__ import annotations

import pytest

pytest.importorskip('rclpy', reason='rclpy is not installed: the node cannot run')

from std_srvs.srv import Trigger

from krang_dynamics_ros.nodes.endpoints import NAMELESS
from krang_dynamics_ros.nodes.page.clients import Calls, SimulatorClient

from ..ros import Client, domain


def test_a_simulator_without_a_known_name_is_not_called() -> None:
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


def test_a_call_that_waits_fails_when_its_service_is_forgotten() -> None:
    """So the page shows a refusal if the simulator ends while a bag is hung."""
    with domain() as number:
        page, simulator = Client(number), Client(number, namespace='other')
        simulator.node.create_service(Trigger, '/reset', lambda _, response: response)
        calls, answers, failures = Calls(page.node), [], []
        calls.client_of(Trigger, '/reset')
        page.until(lambda: calls.ready('/reset'), why='the service')
        calls.ask(Trigger, '/reset', Trigger.Request(), answers.append, failures.append)  # it is never spun: no answer
        calls.forget('/reset')
        assert failures == ['no service /reset']
        assert not answers
        calls.give_up()
        assert len(failures) == 1
        for client in (simulator, page):
            client.close()
