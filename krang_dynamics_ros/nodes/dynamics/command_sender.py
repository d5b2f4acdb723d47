"""The process that publishes `effort_commands`, so that commands reach zero even if the node dies or hangs.

The node sends it every command through a pipe. If the pipe is closed, or silent for `SILENCE` while commands are sent,
the process reduces the last command to zero on its own, and exits. It reports subscribers and falls in lines of JSON.
It imports little, so that it starts fast and stays small.
"""

from __future__ import annotations

import json
import os
import select
import signal
import struct
import sys
import time
from array import array
from contextlib import suppress
from typing import Any, NamedTuple

import numpy as np
import rclpy
from rclpy.duration import Duration
from rclpy.node import Node
from rclpy.qos import (
    DurabilityPolicy,
    HistoryPolicy,
    QoSCompatibility,
    QoSProfile,
    ReliabilityPolicy,
    qos_check_compatible,
)
from rclpy.signals import SignalHandlerOptions
from rclpy.topic_endpoint_info import TopicEndpointInfo
from std_msgs.msg import Float64MultiArray

from ...live.fall import Fall
from .real_time import SENDER_PRIORITY, set_real_time

SILENCE = 0.2  # s without a command while commands are sent: the node hangs
LOOK = 0.02  # s between two checks of the subscribers while commands are sent; ten times as long otherwise
REPORT = 0.1  # s between two reports while commands are sent, if nothing has changed
STEP = 0.01  # s between two commands of a fall
ZERO_PERIOD = 0.1  # s between zeros until one is acknowledged: more often, there would always be one on its way
LAST_MESSAGE_TIMEOUT = 10.0  # s for the last message to arrive, even on a very busy machine
END_TIMEOUT = 12  # s from the last command to the end of the process; DDS may wait for a lock of its own for ever
MAX_ENDPOINTS = 100  # reported at most: the first ones
HEAD = struct.Struct('<BIdd')  # whether commands are sent; number of the start; seconds of a fall, and their minimum
UNKNOWN = '_NODE_NAME_UNKNOWN_'
TYPE = 'std_msgs/msg/Float64MultiArray'


class Config(NamedTuple):
    """Configuration that the node gives to the process at its start."""

    node: str
    namespace: str
    topic: str
    joints: int  # numbers in a command
    depth: int
    history: int
    reliability: int
    durability: int
    enclave: list[str]  # ROS arguments of the node that hold for this process too


class Frame(NamedTuple):
    """A command (k; as sent), the duration of its fall, and its minimum by the rates (s).

    If not `sending`, commands are off. `start` counts how often commands were started.

    `unguided` (k) is the command without guiding torques, which end at once in a fall, within `rates` (k; per s).
    """

    sending: bool
    start: int
    fall_seconds: float
    rate_seconds: float
    command: Any
    unguided: Any
    rates: Any

    def packed(self) -> bytes:
        """Return the bytes for the pipe."""
        head = HEAD.pack(self.sending, self.start, self.fall_seconds, self.rate_seconds)
        return head + np.asarray((self.command, self.unguided, self.rates), dtype='<f8').tobytes()

    @classmethod
    def of(cls, raw: bytes) -> Frame:
        """Return the frame in these bytes."""
        sending, *numbers = HEAD.unpack_from(raw)
        return cls(bool(sending), *numbers, *np.frombuffer(raw, '<f8', offset=HEAD.size).reshape(3, -1))


class CommandSender:
    """Publishes the commands from the pipe, and reduces the last one to zero when the pipe is closed or silent."""

    def __init__(self, node: Node, config: Config) -> None:
        self._node, self._config = node, config
        before = {_gid(info) for info in node.get_publishers_info_by_topic(config.topic)}
        self._publisher = node.create_publisher(Float64MultiArray, config.topic, _profile(config))
        self._message = Float64MultiArray()
        name = node.get_fully_qualified_name()  # others may appear at the same time
        publishers = node.get_publishers_info_by_topic(config.topic)
        own = [info for info in publishers if _gid(info) not in before and _full_name(info) == name]
        self._own = sorted(map(_gid, own))
        self._qos = own[0].qos_profile if own else self._publisher.qos_profile  # as DDS announces it
        self._size = HEAD.size + 3 * 8 * config.joints
        self._frame = Frame(False, 0, 0.0, 0.0, *np.zeros((3, config.joints)))
        self._received = self._looked = self._reported = time.monotonic()
        self._acknowledged = True  # whether a zero of the present start was acknowledged
        self._zero_at = -np.inf  # s, time of the last command if it was zero
        self._subscribers: list[list[str]] | None = None
        self._seen: list[str] = []  # GIDs of subscribers, in order of appearance
        self._buffer, self._unsent = b'', b''
        self.stop_requested = False

    def run(self) -> None:
        """Run until the pipe is closed or a fall has reached zero."""
        poller = select.poll()
        poller.register(sys.stdin.fileno(), select.POLLIN | select.POLLHUP)
        ended = False
        while not ended and not (self.stop_requested and not self._frame.sending):
            ended = bool(poller.poll(1000 * LOOK)) and not self._read()
            now = time.monotonic()
            silent = now - self._received
            if self._frame.sending and (ended or silent > SILENCE):
                self._fall('the node has ended' if ended else f'the node sent nothing for {silent:.2g} s')
                return
            self._check_acknowledgement()
            self._check_subscribers(now)

    def wait_until_received(self) -> None:
        """Wait until the last message, the zero, has been received: it would be lost with this process."""
        self._publisher.wait_for_all_acked(Duration(seconds=LAST_MESSAGE_TIMEOUT))

    def _read(self) -> bool:
        """Read the pipe and publish its commands; return whether the pipe is open."""
        raw = os.read(sys.stdin.fileno(), 1 << 16)
        self._buffer += raw
        while len(self._buffer) >= self._size:
            frame, self._buffer = Frame.of(self._buffer[: self._size]), self._buffer[self._size :]
            if frame.start != self._frame.start:
                self._acknowledged, self._zero_at = False, -np.inf
            self._frame, self._received = frame, time.monotonic()
            if frame.sending:
                self._forward(frame.command, self._received)
        return bool(raw)

    def _forward(self, command: Any, now: float) -> None:
        """Publish a command, except zeros that follow a zero too soon for its acknowledgement."""
        zero = not command.any()
        if not zero or self._acknowledged or now - self._zero_at >= ZERO_PERIOD:
            self._publish(command)
            self._zero_at = now if zero else -np.inf

    def _check_acknowledgement(self) -> None:
        """Report once for each start that all reliable subscribers have acknowledged a zero; never wait for it."""
        if not self._acknowledged and self._zero_at > 0 and self._publisher.wait_for_all_acked(Duration()):
            self._acknowledged = True
            self._report({'acknowledged': self._frame.start})

    def _publish(self, command: Any) -> None:
        self._message.data = array('d', command.tobytes())
        self._publisher.publish(self._message)

    def _fall(self, why: str) -> None:
        frame, now = self._frame, time.monotonic()
        fall = Fall(frame.unguided, frame.fall_seconds, frame.rate_seconds, now, frame.command, frame.rates)
        reported = -np.inf
        while not fall.done(now):
            command = fall.at(now)
            self._publish(command)
            if now - reported >= REPORT:
                self._report({'falls': why, 'sent': command.tolist()})
                reported = now
            time.sleep(STEP)
            now = time.monotonic()

    def _check_subscribers(self, now: float) -> None:
        if now - self._looked < (LOOK if self._frame.sending else 10 * LOOK) and self._subscribers is not None:
            return
        self._looked = now
        subscribers = self._subscribers_now()
        if self._unsent:  # the node hangs
            self._flush()
        elif subscribers != self._subscribers or now - self._reported >= REPORT:
            self._subscribers, self._reported = subscribers, now
            self._report({'subscribers': subscribers, 'own': self._own})

    def _subscribers_now(self) -> list[list[str]]:
        """Return the subscribers, at most `MAX_ENDPOINTS`, the earliest ones, so that none of them seems to leave."""
        infos = self._node.get_subscriptions_info_by_topic(self._config.topic)
        found = {_gid(info): info for info in sorted(infos, key=_gid)}
        self._seen = [gid for gid in self._seen if gid in found] + [gid for gid in found if gid not in self._seen]
        return [[gid, _full_name(found[gid]), self._mismatch(found[gid])] for gid in self._seen[:MAX_ENDPOINTS]]

    def _mismatch(self, info: TopicEndpointInfo) -> str:
        """Return why a subscriber receives no commands, or ''."""
        if info.topic_type != TYPE:
            return f'it subscribes to {info.topic_type[:200]}, must be {TYPE}'
        compatibility, why = qos_check_compatible(self._qos, info.qos_profile)
        if compatibility != QoSCompatibility.ERROR:
            return ''
        return f'{why.replace("ERROR: ", "").rstrip(";")}; change its quality of service, or ours by qos_overrides'

    def _report(self, report: dict[str, Any]) -> None:
        self._unsent += json.dumps(report).encode() + b'\n'
        self._flush()

    def _flush(self) -> None:
        with suppress(OSError):  # the node has ended, or hangs
            self._unsent = self._unsent[os.write(sys.stdout.fileno(), self._unsent) :]


def _gid(info: TopicEndpointInfo) -> str:
    return bytes(info.endpoint_gid).hex()


def _full_name(info: TopicEndpointInfo) -> str:
    """Return the full name of an endpoint's node; '' while it is unknown."""
    name = f'{info.node_namespace.rstrip("/")}/{info.node_name}'[:200]
    return '' if UNKNOWN in name else name


def _profile(config: Config) -> QoSProfile:
    return QoSProfile(
        depth=config.depth,
        history=HistoryPolicy(config.history),
        reliability=ReliabilityPolicy(config.reliability),
        durability=DurabilityPolicy(config.durability),
    )


def main(arguments: list[str]) -> int:
    """Run the process; its only argument is the configuration, as JSON."""
    config = Config(*json.loads(arguments[0]))
    os.set_blocking(sys.stdout.fileno(), False)
    rclpy.init(args=config.enclave, signal_handler_options=SignalHandlerOptions.NO)
    node = rclpy.create_node(
        config.node, namespace=config.namespace, use_global_arguments=False, enable_rosout=False,
        start_parameter_services=False,
    )  # fmt: skip
    sender = CommandSender(node, config)
    set_real_time(SENDER_PRIORITY)  # the node says so where that is not allowed
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT):
        signal.signal(number, lambda *_: setattr(sender, 'stop_requested', True))
    sender.run()
    set_real_time(0)
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.alarm(END_TIMEOUT)  # then the system ends the process, wherever it waits
    sender.wait_until_received()
    node.destroy_node()
    rclpy.shutdown()
    return 0


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
