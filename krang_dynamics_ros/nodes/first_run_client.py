"""The ROS side of `krang first_run`: subscribes to an arm and its dynamics node, enables and disables commands."""

from __future__ import annotations

import signal
import time
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from types import TracebackType
from typing import Any

import numpy as np
import rclpy
from diagnostic_msgs.msg import DiagnosticArray
from geometry_msgs.msg import WrenchStamped
from rclpy.executors import SingleThreadedExecutor
from rclpy.parameter import Parameter
from rclpy.signals import SignalHandlerOptions
from sensor_msgs.msg import Imu, JointState
from std_msgs.msg import Float64MultiArray
from std_srvs.srv import SetBool

from ..calibration.first_commands import RunawayError
from ..calibration.first_run import ArmModel, MotionRow, PushRow, RestSample
from ..core.errors import ArgumentError, KrangDynamicsError
from ..core.spatial import Array
from ..live.command_checks import ACKNOWLEDGE_TIMEOUT
from ..live.command_supervisor import ENDED, STATUS, WAITING
from ..live.engine import Engine, engine_of
from ..live.messages import ImuMessage, imu_of, stamp_of, wrench_of
from .endpoints import DISCOVERY_TIMEOUT
from .remote import SERVICE_TIMEOUT, RemoteError, RemoteNode
from .run import late_interrupt
from .topics import INPUT

NAME = 'krang_first_run'  # by this name the dynamics node knows that it is no controller
SPIN = 0.02  # s: period of the check for pressed keys
STILL_SECONDS, STILL_TRAVEL = 1.0, 0.005  # s; rad, m: duration and maximum travel of a rest
MIN_ROWS = 10  # joint states in a rest
MAX_TRAVEL = 0.25  # rad, m: during a check of commands; beyond it they are disabled
MAX_SPEED = 0.6  # rad/s, m/s: the same for speed
FALL_TIMEOUT = 15.0  # s: the longest ramp, the zeros after it, and a margin
SILENCE = 0.3  # s without a command: commands are off
RETRIES = 20  # attempts to enable, while node names and the sender are not ready


class AbortedError(KrangDynamicsError):
    """A check that was stopped by a key, a signal, or an unexpected motion of the arm."""


class FirstRunClient:
    """A node that subscribes, and calls the dynamics node for what a person confirmed. Use it in a `with`."""

    def __init__(self, target: str, stop: Callable[[], bool], ros_arguments: Sequence[str] = ()) -> None:
        """`target` is the name of the dynamics node; `stop` returns whether a person stops the check."""
        rclpy.init(args=list(ros_arguments), signal_handler_options=SignalHandlerOptions.NO)
        self._node, self._stop = rclpy.create_node(NAME), stop
        self._remote = RemoteNode(self._node, target)
        self._enable = self._node.create_client(SetBool, self._remote.name_of('effort_commands/enable'))
        self._executor = SingleThreadedExecutor()
        self.commands: list[tuple[float, Array]] = []  # s, as sent: since commands were enabled, or it was cleared
        self._rows: list[MotionRow] = []
        self._pushes: list[PushRow] = []
        self._pushed = ''  # the hand that is pushed
        self._external: Array | None = None
        self._forces: dict[str, Array] = {}
        self._status: dict[str, str] = {}  # values of the diagnostics of the commands since they were enabled
        self._subscribed = False
        self._sent: Any = None  # the subscription to the commands
        self.values: dict[str, Any] = {}
        self._state = ''

    def __enter__(self) -> FirstRunClient:
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        self._node.destroy_node()
        rclpy.shutdown()

    # The node -------------------------------------------------------------------------------------------------------

    def connect(self) -> ArmModel:
        """Ask the node for its parameters; return the model that it computes with, or raise `RemoteError`."""
        self._remote.find()
        self.values = self._remote.values()
        if self.values.get('use_sim_time'):
            self._node.set_parameters([Parameter('use_sim_time', value=True)])
        return self.model_with({})

    def model_with(self, changes: dict[str, Any]) -> ArmModel:
        """Return the model of a node with changed values of some parameters, and use it for messages."""
        self.values |= changes
        given = self._remote.with_description(self.values)
        if (mode := given.get('base_motion', 'fixed')) != 'fixed':
            raise ArgumentError(f'base_motion: {mode}, must be fixed for a first run: its poses need one gravity')
        self._engine: Engine = engine_of(given)
        self._model = ArmModel(self._engine, self.values)
        if not self._subscribed:
            self._subscribe()
        return self._model

    def set(self, values: dict[str, Any]) -> None:
        """Set parameters of the node, or raise `RemoteError` with its reason."""
        self._remote.set(values)

    # Listening ------------------------------------------------------------------------------------------------------

    def _subscribe(self) -> None:
        self._subscribed = True
        node, remote, topics = self._node, self._remote, self._engine.inputs.topics
        self._listen(JointState, topics.joint_states, self._on_joint_state)
        for hand in self._model.hands:
            self._listen(WrenchStamped, topics.wrenches[hand], partial(self._on_wrench, hand))
        if self._engine.inputs.uses_imu:
            self._listen(Imu, topics.imu, self._on_imu)
        node.create_subscription(JointState, remote.name_of('torque/external'), self._on_external, INPUT)
        if any(self.values.get('command_joints', ())):
            topic = remote.sent_topic('Float64MultiArray', 'effort_commands', '_commands')
            self._sent = node.create_subscription(Float64MultiArray, topic, self._on_command, 100)
            node.create_subscription(DiagnosticArray, '/diagnostics', self._on_diagnostics, INPUT)

    def _listen(self, kind: type[Any], usual: str, callback: Callable[[Any], None]) -> None:
        """Subscribe to the topic of this type that the running node uses."""
        self._node.create_subscription(kind, self._remote.subscribed_topic(kind.__name__, usual), callback, INPUT)

    def _on_joint_state(self, message: JointState) -> None:
        columns = (np.asarray(message.position), np.asarray(message.velocity), np.asarray(message.effort))
        with suppress(ArgumentError):
            now = int(self._node.get_clock().now().nanoseconds)
            torques = self._engine.on_joint_state(message.name, *columns, stamp_of(message), now)
            if torques is not None:
                state, unknown = torques.state, np.full(len(self._model.names), np.nan)
                dq = unknown if state.dq is None else state.dq.copy()
                effort = unknown if state.effort is None else state.effort.copy()
                self._rows.append(MotionRow(time.monotonic(), state.q.copy(), dq, effort))

    def _on_imu(self, message: Imu) -> None:
        with suppress(ArgumentError):
            now = int(self._node.get_clock().now().nanoseconds)
            self._engine.inputs.on_imu(ImuMessage(*imu_of(message), stamp_of(message), now))

    def _on_external(self, message: JointState) -> None:
        found = dict(zip(message.name, message.effort, strict=False))
        self._external = np.array([found.get(name, np.nan) for name in self._model.names])
        self._note_push()

    def _on_wrench(self, hand: str, message: WrenchStamped) -> None:
        frame, force, _ = wrench_of(message)
        frame = self.values.get(f'{hand}.sensor.frame') or frame
        if self._rows:
            with suppress(ArgumentError):
                axes = self._model.axes_of(self._rows[-1].q, frame or self._model.hands[hand])
                self._forces[hand] = axes @ np.array(force)
                self._note_push()

    def _note_push(self) -> None:
        if self._rows:
            self._pushes.append(PushRow(self._rows[-1].q, self._external, self._forces.get(self._pushed)))

    def _on_command(self, message: Float64MultiArray) -> None:
        self.commands.append((time.monotonic(), np.array(message.data)))

    def _on_diagnostics(self, message: DiagnosticArray) -> None:
        name = f'{self._remote.full_name[1:]}: {STATUS}'
        for status in message.status:
            if status.name == name:
                self._status = {pair.key: pair.value for pair in status.values}

    def _spin(self, seconds: float, until: Callable[[], bool] = lambda: False, stoppable: bool = True) -> None:
        """Spin for a time (s), or until a condition holds; raise `AbortedError` if a person stops it."""
        self._executor.add_node(self._node)
        try:
            end = time.monotonic() + seconds
            while time.monotonic() < end and not until():
                looked = time.monotonic()
                while time.monotonic() - looked < SPIN:
                    with late_interrupt():
                        self._executor.spin_once(timeout_sec=SPIN)
                if stoppable and self._stop():
                    raise AbortedError('stopped by a key')
        finally:
            self._executor.remove_node(self._node)

    def motion(self, seconds: float, until: Callable[[Sequence[MotionRow]], bool] | None = None) -> list[MotionRow]:
        """Return the joint states of the next seconds; stop early when `until` is true for them."""
        self._rows.clear()
        self._spin(seconds, lambda: until is not None and until(self._rows))
        return list(self._rows)

    @property
    def rows(self) -> list[MotionRow]:
        """The joint states since the last motion began, also those while commands ended."""
        return list(self._rows)

    def motion_until_key(self, seconds: float) -> list[MotionRow]:
        """Return the joint states until a key is pressed, for `seconds` at most."""
        self._rows.clear()
        self._spin(seconds, self._stop, stoppable=False)
        return list(self._rows)

    def rest(self, seconds: float = 30.0) -> RestSample:
        """Wait until the arm stands still for a second; return the mean of that second."""
        rows = self.motion(seconds, _still)
        if not _still(rows):
            raise RemoteError(self._unrest(rows, seconds))
        last = _last_second(rows)
        effort = np.array([row.effort for row in last])
        return RestSample(np.mean([row.q for row in last], axis=0), effort.mean(axis=0), effort.std(axis=0))

    def _unrest(self, rows: Sequence[MotionRow], seconds: float) -> str:
        if rows:
            return f'the arm was not at rest for {STILL_SECONDS:g} s within {seconds:g} s'
        missing = self._engine.inputs.states.missing(int(self._node.get_clock().now().nanoseconds))
        reason = self._engine.inputs.states.refusals.reason
        return f'no complete joint state for {seconds:g} s: {", ".join(missing[:5])} {reason}'.strip()

    def push(self, hand: str, seconds: float) -> list[PushRow]:
        """Return the rows of a push on a hand in the next seconds."""
        self._pushed, self._external = hand, None
        self._forces.clear()
        self._pushes.clear()
        self._spin(seconds)
        return list(self._pushes)

    # Commands -------------------------------------------------------------------------------------------------------

    @contextmanager
    def enabled(self) -> Iterator[str]:
        """Enable commands by the node's service; the end of the context disables them, or raises `RemoteError`."""
        self._state = 'COMMANDS MAY STILL BE SENT: use the emergency stop'
        try:
            yield self._call_enable()
        finally:
            with _uninterrupted():
                self.end_commands()

    @property
    def command_state(self) -> str:
        """State of commands that were enabled since the last call; '' if none were."""
        state, self._state = self._state, ''
        return state

    def _call_enable(self) -> str:
        for attempt in range(RETRIES):
            success, message = self._ask(True)
            if success:
                self._see_commands()
                return message
            if 'try again' not in message or attempt == RETRIES - 1:
                break
            self._spin(0.5)
        raise RemoteError(f'commands are not enabled: {message}')

    def _see_commands(self) -> None:
        """Wait for the first command: the end of commands can be seen only if they are received."""
        self.commands.clear()
        self._spin(SERVICE_TIMEOUT, lambda: bool(self.commands))
        if not self.commands:
            topic = self._sent.topic_name if self._sent else 'effort_commands'
            raise RemoteError(f'no commands on {topic}; remap their topic: --ros-args -r effort_commands:=...')
        self._status = {}

    def _ask(self, value: bool) -> tuple[bool, str]:
        if not self._enable.wait_for_service(DISCOVERY_TIMEOUT):
            raise RemoteError(f'there is no service {self._enable.srv_name}: is the dynamics node running?')
        future = self._enable.call_async(SetBool.Request(data=value))
        self._spin(SERVICE_TIMEOUT, future.done, stoppable=value)
        if not future.done():
            raise RemoteError(f'{self._enable.srv_name} does not answer within {SERVICE_TIMEOUT:g} s')
        answer = future.result()
        return bool(answer.success), str(answer.message)

    def end_commands(self) -> None:
        """Disable commands and wait until they are off; raise `RemoteError` if they do not end."""
        with suppress(RemoteError):  # the node is gone: its sender ends them
            self._ask(False)
        began = time.monotonic()
        self._spin(FALL_TIMEOUT, lambda: self._silent(began), stoppable=False)
        if not self._silent(began):
            raise RemoteError(f'commands are still sent after {FALL_TIMEOUT:g} s: use the emergency stop')
        self._state = 'commands are off'

    def _silent(self, since: float) -> bool:
        last = self.commands[-1][0] if self.commands else since
        return time.monotonic() - max(last, since) > SILENCE

    def run(self, seconds: float, until: Callable[[Sequence[MotionRow]], bool] | None = None) -> list[MotionRow]:
        """Return the joint states while commands are sent; raise `RunawayError` if the arm moves far or fast."""

        def ends(rows: Sequence[MotionRow]) -> bool:
            if rows and (why := self._runs_away(rows)):
                raise RunawayError(why)
            return until is not None and until(rows)

        if not (rows := self.motion(seconds, ends)):
            raise AbortedError('joint states stopped')
        return rows

    def rise(self, seconds: float) -> None:
        """Run until the ramp has begun, by the node's diagnostics, then for a time (s)."""
        self.run(ACKNOWLEDGE_TIMEOUT + SERVICE_TIMEOUT, lambda _: self._status.get(WAITING) == 'no')
        if not self._status:
            raise RemoteError(f'no diagnostics of {self._remote.full_name} on /diagnostics: is the topic remapped?')
        if fault := self._status.get(ENDED):
            raise RemoteError(f'commands have ended: {fault}')
        self.check_acknowledged()
        self.run(seconds)

    def check_acknowledged(self) -> None:
        """Raise `RemoteError` if commands wait for the acknowledgement of a subscriber."""
        if self._status.get(WAITING) == 'yes':
            raise RemoteError('a subscriber of the commands has not acknowledged them: stop the one that hangs')

    def _runs_away(self, rows: Sequence[MotionRow]) -> str:
        travel, speed = np.abs(rows[-1].q - rows[0].q), np.nan_to_num(np.abs(rows[-1].dq))
        for values, limit, unit in ((travel, MAX_TRAVEL, 'rad (m)'), (speed, MAX_SPEED, 'rad/s (m/s)')):
            k = int(values.argmax())
            if values[k] > limit:
                return f'{self._model.names[k]} moved by {values[k]:.3g} {unit}, must be below {limit:g}: commands off'
        return ''

    def until_dead(self, seconds: float) -> list[MotionRow]:
        """Wait until the node is gone and its commands are off; return the joint states of that time."""
        began = time.monotonic()
        rows = self.motion(seconds, lambda _: self._is_gone() and self._silent(began))
        if not self._is_gone():
            raise RemoteError(f'the node still runs after {seconds:g} s')
        return rows + self.motion(2.0)

    def _is_gone(self) -> bool:
        return not self._enable.service_is_ready()


@contextmanager
def _uninterrupted() -> Iterator[None]:
    """Ignore signals, so that commands are always ended."""
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)
    before = {number: signal.signal(number, signal.SIG_IGN) for number in numbers}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _still(rows: Sequence[MotionRow]) -> bool:
    """Return whether the arm was at rest for the last second."""
    if not rows or rows[-1].time - rows[0].time < STILL_SECONDS:
        return False
    last = [row.q for row in _last_second(rows)]
    return len(last) >= MIN_ROWS and bool(np.ptp(last, axis=0).max() < STILL_TRAVEL)


def _last_second(rows: Sequence[MotionRow]) -> Sequence[MotionRow]:
    return rows[bisect_left(rows, rows[-1].time - STILL_SECONDS, key=lambda row: row.time) :]
