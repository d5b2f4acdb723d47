"""Effort commands of the dynamics node: the link to the sender process, and the service that enables them."""

from __future__ import annotations

import fcntl
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
from rcl_interfaces.srv import GetParameters
from rclpy.clock import Clock, ClockType
from rclpy.node import Node
from rclpy.parameter import Parameter, parameter_value_to_python
from rclpy.qos_overriding_options import QoSOverridingOptions
from std_msgs.msg import Float64MultiArray
from std_srvs.srv import SetBool

from ...core.errors import ArgumentError
from ...core.spatial import Array
from ...dynamics.terms import Torques
from ...live.command_supervisor import STATUS, CommandSupervisor
from ...live.controller_watch import Endpoint
from ...live.guiding import HOLD_TOPIC
from ..diagnostics import ERROR, OK, WARN, Status
from ..endpoints import named_publishers, publishers
from ..run import stop_requested
from ..topics import OUTPUT
from .command_sender import Config, Frame
from .real_time import NODE_PRIORITY, set_real_time

REPORT_TIMEOUT = 0.5  # s without a report while commands are sent: the sender hangs
START_TIMEOUT = 30.0  # s, until its first report
CLOSE_TIMEOUT = 0.6  # s
PIPE_BYTES = 1 << 20  # 0.7 s of commands of 60 joints at 1 kHz: a delayed sender loses none


def _environment() -> dict[str, str]:
    """Return the environment of the process, in which modules of the working folder cannot hide those of Python."""
    package = str(Path(__file__).parents[3])
    paths = [package, *filter(None, [os.environ.get('PYTHONPATH')])]
    return os.environ | {'PYTHONSAFEPATH': '1', 'PYTHONPATH': os.pathsep.join(paths)}


class SenderLink:
    """A running `command_sender`: sends it commands and reads its reports. Times are seconds by a steady clock."""

    def __init__(self, config: Config, now: float) -> None:
        command = [sys.executable, '-m', 'krang_dynamics_ros.nodes.dynamics.command_sender', json.dumps(config)]
        self._process = subprocess.Popen(  # noqa: S603 (our own module; a new session, so that it gets no signals of ours)
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True, env=_environment()
        )
        self._in, self._out = self._fd(self._process.stdin), self._fd(self._process.stdout)
        with suppress(OSError):  # more than the system grants
            fcntl.fcntl(self._in, fcntl.F_SETPIPE_SZ, PIPE_BYTES)
        self._buffer = b''
        self._started, self._reported = now, -1.0
        self.first_report = np.inf  # time at which it was ready
        self.subscribers: Sequence[Endpoint] = ()
        self.own: set[str] = set()  # GIDs of its publishers
        self.acknowledged = 0  # number of the latest start of which all subscribers have acknowledged a zero
        self.falls = ''  # why it reduces the commands to zero on its own
        self.sent: Array = np.zeros(config.joints)  # its last command in that fall (k)
        self.ended = False
        self.end = 'has died'

    @staticmethod
    def _fd(pipe: Any) -> int:
        os.set_blocking(pipe.fileno(), False)
        return int(pipe.fileno())

    @property
    def ready(self) -> bool:
        """Whether it can send: it has reported, has not ended, and does not take commands to zero on its own."""
        return self._reported > 0 and not self.ended and not self.falls

    @property
    def was_ready(self) -> bool:
        """Whether it has reported the subscribers at least once."""
        return self._reported > 0

    def send(self, frame: Frame) -> None:
        """Send a command."""
        try:
            os.write(self._in, frame.packed())
        except BlockingIOError:
            self.kill('read nothing for seconds')
        except BrokenPipeError:
            return  # the process has ended; `poll` reads the reason

    def poll(self, now: float, sending: bool) -> None:
        """Read its reports; kill it if it hangs: no report for too long, at its start or while commands are sent."""
        if self.ended:
            return
        with suppress(BlockingIOError):
            while raw := os.read(self._out, 1 << 16):
                self._buffer += raw
            self.ended = True
        *lines, self._buffer = self._buffer.split(b'\n')
        for line in lines:
            self._on_report(json.loads(line), now)
        silent = now - max(self._reported, self._started)
        if not self.falls and silent > (REPORT_TIMEOUT if sending and self._reported > 0 else START_TIMEOUT):
            self.kill(f'sent no report for {silent:.2g} s')

    def _on_report(self, report: dict[str, Any], now: float) -> None:
        self._reported, self.first_report = now, min(self.first_report, now)
        if 'falls' in report:
            self.falls, self.sent = report['falls'], np.array(report['sent'])
        elif 'acknowledged' in report:
            self.acknowledged = report['acknowledged']
        else:
            self.subscribers = [Endpoint(*endpoint) for endpoint in report['subscribers']]
            self.own = set(report['own'])

    def kill(self, why: str) -> None:
        """Kill the process at once."""
        self.end = why
        with suppress(OSError):
            self._process.kill()
        self.ended = True

    def close(self) -> None:
        """Close the pipes, so that it reduces commands to zero and exits; wait for it, at most `CLOSE_TIMEOUT`."""
        for pipe in (self._process.stdin, self._process.stdout):
            with suppress(OSError):
                if pipe is not None:
                    pipe.close()
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(CLOSE_TIMEOUT if not self.ended else 0.0)


TOPIC = 'effort_commands'
TICK = 0.01  # s, period of commands without joint states
PUBLISHERS_PERIOD = 1.0  # s, of the check for other publishers
REACH_TIMEOUT = 5.0  # s in which a replacement process must find the controller, after its first report
RESTART_AFTER, RETRY_AFTER = 1.0, 10.0  # s, from the start of a process that died, or could not start, to the next
UNSTARTED = 'the sender process cannot be started'
LEVELS = {'ok': OK, 'warning': WARN, 'error': ERROR}


class CommandOutput:
    """Passes events to the supervisor, and its commands to the sender process, which it replaces when that ends."""

    def __init__(self, node: Node, supervisor: CommandSupervisor) -> None:
        self._node, self._supervisor, self._commands = node, supervisor, supervisor.commands
        self._link: SenderLink | None = None
        self._sending = False  # whether the last frame was a command
        self._not_real_time = ''  # why commands are sent without a real-time priority
        self._replacing = False  # whether a replacement process must find the controller of the dead one
        self._unstarted = ''  # why the process could not be started
        self._logged = ''  # the last fault in the log
        self._mirrored = False
        self._clients: dict[str, Any] = {}
        self._own: set[str] = set()  # GIDs of the publishers of all senders so far: DDS reports dead ones for a while
        self._asked: set[str] = set()  # GIDs of endpoints whose node was asked for its joints
        node.create_service(SetBool, f'{TOPIC}/enable', self._on_enable)
        if supervisor.enabled_in_file:
            node.get_logger().warning(
                f'command_enabled: true in a file or on the command line is ignored; only {TOPIC}/enable enables'
            )
            node.set_parameters([Parameter('command_enabled', value=False)])
        if self._commands.joint_names:
            self._config = self._sender_config()
            self._start_sender()
            steady = Clock(clock_type=ClockType.STEADY_TIME)
            node.create_timer(TICK, self._on_tick, clock=steady)
            node.create_timer(PUBLISHERS_PERIOD, self._check_publishers, clock=steady)

    def _sender_config(self) -> Config:
        """Return the configuration of the process; QoS overrides are read from a temporary publisher."""
        node = self._node
        options = QoSOverridingOptions.with_default_policies()
        publisher = node.create_publisher(Float64MultiArray, TOPIC, OUTPUT, qos_overriding_options=options)
        qos, topic = publisher.qos_profile, publisher.topic_name
        node.destroy_publisher(publisher)
        enclave = ['--ros-args', *_following(sys.argv, '-e', '--enclave')]
        return Config(
            f'{node.get_name()}_commands', node.get_namespace(), topic, len(self._commands.joint_names),
            qos.depth, int(qos.history), int(qos.reliability), int(qos.durability), enclave,
        )  # fmt: skip

    def _start_sender(self) -> None:
        self._started = time.monotonic()
        try:
            self._link = SenderLink(self._config, self._started)
        except OSError as error:  # no memory, or no free handle
            self._note_unstarted(str(error))

    def _note_unstarted(self, why: str) -> None:
        if not self._unstarted:
            self._node.get_logger().error(f'{TOPIC}: {UNSTARTED}: {why}')
        self._unstarted = why

    # Torques and ticks ---------------------------------------------------------------------------------------------

    def on_torques(self, torques: Torques) -> None:
        """Pass the torques of a joint state to the supervisor, and send its command."""
        if self._commands.joint_names:
            self._send(self._supervisor.on_torques(torques))

    def _on_tick(self) -> None:
        self._poll_sender(time.monotonic())
        self._send(self._supervisor.tick())
        self._log()

    def _send(self, command: Array | None) -> None:
        link = self._link
        if link is None:
            return
        commands = self._commands
        if command is not None:
            seconds = commands.fall_seconds(time.monotonic()), commands.rate_seconds
            link.send(Frame(True, commands.starts, *seconds, command, *self._supervisor.unguided_and_rates))
        if self._sending and commands.idle:
            link.send(Frame(False, commands.starts, 0.0, 0.0, commands.sent, *self._supervisor.unguided_and_rates))
        sending = command is not None and not commands.idle
        if sending != self._sending:
            self._set_priority(sending)
        self._sending = sending

    def _set_priority(self, sending: bool) -> None:
        """Set a real-time priority while commands are sent, and none otherwise: building a robot keeps a core busy."""
        why = set_real_time(NODE_PRIORITY if sending else 0)
        if why and not self._not_real_time:
            self._node.get_logger().info(
                f'{TOPIC}: no real-time priority: {why}; on a busy machine a fault may end commands (docs/commands.md)'
            )
        self._not_real_time = why

    def _poll_sender(self, now: float) -> None:
        """Process the reports of the sender; start another one if it has ended."""
        link, supervisor = self._link, self._supervisor
        if link is None:
            self._start_again(now)
            return
        link.poll(now, not self._commands.idle)
        if link.falls:
            supervisor.on_sender_fell(f'the sender process reduces commands on its own: {link.falls}', link.sent)
        if link.ended:
            self._on_sender_ended(link, now)
        elif link.ready and (not self._replacing or self._reached(link, now)):
            self._unstarted = ''
            supervisor.on_endpoints(link.subscribers)
            supervisor.on_acknowledged(link.acknowledged)
            self._ask_for_joints()

    def _on_sender_ended(self, link: SenderLink, now: float) -> None:
        if link.falls and not link.sent.any():
            self._commands.sender_ended()
        elif not self._commands.idle and not self._replacing:
            self._commands.sender_lost(f'the sender process {link.end}')
            self._replacing = True
        if not link.was_ready:
            self._note_unstarted(f'it {link.end}; see its output')
        self._start_again(now)

    def _start_again(self, now: float) -> None:
        waits = RETRY_AFTER if self._unstarted and self._commands.idle else RESTART_AFTER
        if now - self._started >= waits:
            if self._link is not None:
                self._link.close()
            self._start_sender()

    def _reached(self, link: SenderLink, now: float) -> bool:
        """Return whether a replacement process has found the controller, or timed out; start the fall or switch off."""
        bound = self._supervisor.controllers.bound
        if bound is not None and bound.gid in {endpoint.gid for endpoint in link.subscribers}:
            self._commands.sender_found(now)
        elif now - link.first_report < REACH_TIMEOUT:
            return False
        else:
            self._commands.sender_ended()
        self._replacing = False
        return True

    # Controller ----------------------------------------------------------------------------------------------------

    def _check_publishers(self) -> None:
        """Find other nodes that publish commands."""
        if self._link is not None:
            self._own |= self._link.own
        own_name = f'{self._node.get_namespace().rstrip("/")}/{self._config.node}'
        found = named_publishers(self._node, TOPIC)
        starting = self._link is None or not self._link.ready
        others = [name for gid, name in found if gid not in self._own and not (starting and name == own_name)]
        self._supervisor.on_other_publishers(sorted(others))
        if self._supervisor.hold.required:
            self._supervisor.hold.publishers = publishers(self._node, HOLD_TOPIC)

    def _ask_for_joints(self) -> None:
        """Ask the nodes of new subscriptions for their parameter `joints`."""
        for endpoint in self._supervisor.controllers.endpoints.values():
            if endpoint.node and not endpoint.is_tool and endpoint.gid not in self._asked:
                self._asked.add(endpoint.gid)
                client = self._node.create_client(GetParameters, f'{endpoint.node}/get_parameters')
                self._clients[endpoint.node] = client
        for node, client in [*self._clients.items()]:
            if client.service_is_ready():
                future = client.call_async(GetParameters.Request(names=['joints']))
                future.add_done_callback(lambda done, node=node: self._on_joints(node, done))
                del self._clients[node]

    def _on_joints(self, node: str, done: Any) -> None:
        joints = None
        with suppress(Exception):  # the node has no such parameter, or is gone
            values = [parameter_value_to_python(value) for value in done.result().values]
            joints = tuple(values[0]) if values and isinstance(values[0], list) else None
        self._supervisor.on_controller_joints(node, joints)

    # Enabling ------------------------------------------------------------------------------------------------------

    def _on_enable(self, request: SetBool.Request, response: SetBool.Response) -> SetBool.Response:
        try:
            response.message = self._enable() if request.data else self._supervisor.disable()
            response.success = True
        except ArgumentError as error:
            response.success, response.message = False, str(error)
        self._mirror()
        return response

    def _enable(self) -> str:
        if self._commands.joint_names:
            if self._unstarted:
                raise ArgumentError(f'{UNSTARTED}: {self._unstarted}')
            if self._link is None or not self._link.ready:
                raise ArgumentError('the sender process is starting; try again in a second')
            self._check_publishers()
        answer, self._logged = self._supervisor.enable(), ''
        return answer

    def _log(self) -> None:
        fault = self._commands.fault
        if fault and fault != self._logged:
            self._node.get_logger().error(f'effort_commands ended by a fault: {fault}; enable them again')
        self._logged = fault
        self._mirror()

    def _mirror(self) -> None:
        """Update the ROS parameter `command_enabled`."""
        enabled = self._commands.enabled
        if enabled != self._mirrored:
            self._mirrored = enabled
            self._node.set_parameters([Parameter('command_enabled', value=enabled)])

    # Shutdown ------------------------------------------------------------------------------------------------------

    def begin_stop(self) -> None:
        """Start to take commands to zero, fast enough for a shutdown; they follow the pose while joint states come."""
        self._commands.end(time.monotonic())

    def resume_commands(self) -> None:
        """Allow enabling again."""
        self._commands.closing = False

    @property
    def stopped(self) -> bool:
        """Whether commands are off, or a shutdown has begun and the sender process takes them to zero on its own."""
        return self._commands.idle or (stop_requested() and self._link is not None and bool(self._link.falls))

    def close(self) -> None:
        """Close the link; the sender process reduces commands that are still sent to zero."""
        if self._link is not None:
            self._link.close()

    def statuses(self) -> Iterator[Status]:
        """Yield the status of the commands."""
        if self._commands.joint_names:
            level, message, values = self._supervisor.status()
            if self._unstarted:
                level, message = 'error', f'{UNSTARTED}: {self._unstarted}'
            priority = 'off' if not self._sending else self._not_real_time or 'on'
            yield Status(STATUS, LEVELS[level], message, values | {'real-time priority': priority})


def _following(words: list[str], *options: str) -> list[str]:
    """Return the first of these options with its value, or []."""
    for k, word in enumerate(words[:-1]):
        if word in options:
            return [word, words[k + 1]]
    return []
