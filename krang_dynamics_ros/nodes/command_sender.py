"""The process that publishes `effort_commands`, so that zero is reached whatever becomes of the node.

The node gives it every command through a pipe. When the pipe ends, or is silent for `SILENCE` while commands go out, it
takes the last command to zero by itself, and ends. What it sees, it says in lines of JSON: who subscribes, and what it
does. It imports little, so that it starts fast and stays small.
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
from rclpy.qos import DurabilityPolicy, HistoryPolicy, QoSProfile, ReliabilityPolicy
from rclpy.signals import SignalHandlerOptions
from std_msgs.msg import Float64MultiArray

from ..outputs.fall import Fall

SILENCE = 0.2  # s without a command, while commands go out: the node hangs
LOOK = 0.02  # s between two looks at who subscribes, while commands go out; ten times as long while none do
REPORT = 0.1  # s between two reports, if nothing has changed
STEP = 0.01  # s between two commands on the way to zero
ACKNOWLEDGED = 0.5  # s: for the last message to arrive
MAX_ENDPOINTS = 20  # that are reported: a report is written to the pipe in one piece
HEAD = struct.Struct('<Bd')  # whether commands go out; how long they would take to zero, s
UNKNOWN = '_NODE_NAME_UNKNOWN_'


class Config(NamedTuple):
    """What the node tells the process at its start."""

    node: str
    namespace: str
    topic: str
    rates: list[float]  # N m/s by joint
    depth: int
    history: int
    reliability: int
    durability: int
    enclave: list[str]  # ROS arguments of the node that hold for this process too


class Frame(NamedTuple):
    """A command (k), and how long it would take to zero (s); not `live`: nothing goes out."""

    live: bool
    fall_seconds: float
    command: Any

    def packed(self) -> bytes:
        """Return the bytes for the pipe."""
        return HEAD.pack(self.live, self.fall_seconds) + np.asarray(self.command, dtype='<f8').tobytes()

    @classmethod
    def of(cls, raw: bytes) -> Frame:
        """Return the frame that these bytes are."""
        live, seconds = HEAD.unpack_from(raw)
        return cls(bool(live), seconds, np.frombuffer(raw, '<f8', offset=HEAD.size))


class CommandSender:
    """Publishes what comes through the pipe, and takes it to zero when nothing comes any more."""

    def __init__(self, node: Node, config: Config) -> None:
        self._node, self._config, self._rates = node, config, np.array(config.rates)
        before = {gid for gid, _ in self._endpoints(node.get_publishers_info_by_topic)}
        self._publisher = node.create_publisher(Float64MultiArray, config.topic, _profile(config))
        self._message = Float64MultiArray()
        self._own = sorted({gid for gid, _ in self._endpoints(node.get_publishers_info_by_topic)} - before)
        self._size = HEAD.size + 8 * len(config.rates)
        self._frame = Frame(False, 0.0, np.zeros(len(config.rates)))
        self._heard = self._looked = self._reported = time.monotonic()
        self._subscribers: list[list[str]] | None = None
        self._rest = b''
        self.told_to_end = False

    def run(self) -> None:
        """Go on until the pipe ends, or until the commands were taken to zero."""
        poller = select.poll()
        poller.register(sys.stdin.fileno(), select.POLLIN | select.POLLHUP)
        ended = False
        while not ended and not (self.told_to_end and not self._frame.live):
            ended = bool(poller.poll(1000 * LOOK)) and not self._read()
            now = time.monotonic()
            silent = now - self._heard
            if self._frame.live and (ended or silent > SILENCE):
                self._fall('the node has ended' if ended else f'the node said nothing for {silent:.2g} s')
                return
            self._look(now)

    def _read(self) -> bool:
        """Take in what the pipe has; return whether it goes on."""
        raw = os.read(sys.stdin.fileno(), 1 << 16)
        self._rest += raw
        while len(self._rest) >= self._size:
            self._frame, self._rest = Frame.of(self._rest[: self._size]), self._rest[self._size :]
            self._heard = time.monotonic()
            if self._frame.live:
                self._publish(self._frame.command)
        return bool(raw)

    def _publish(self, command: Any) -> None:
        self._message.data = array('d', command.tobytes())
        self._publisher.publish(self._message)

    def _fall(self, why: str) -> None:
        fall = Fall(self._frame.command, self._frame.fall_seconds, self._rates, time.monotonic())
        self._say({'falls': why})
        while not fall.done(time.monotonic()):
            self._publish(fall.at(time.monotonic()))
            time.sleep(STEP)
        self._publisher.wait_for_all_acked(Duration(seconds=ACKNOWLEDGED))

    def _look(self, now: float) -> None:
        if now - self._looked < (LOOK if self._frame.live else 10 * LOOK) and self._subscribers is not None:
            return
        self._looked = now
        subscribers = self._endpoints(self._node.get_subscriptions_info_by_topic)[:MAX_ENDPOINTS]
        if subscribers != self._subscribers or now - self._reported >= REPORT:
            self._subscribers, self._reported = subscribers, now
            self._say({'subscribers': subscribers, 'own': self._own})

    def _endpoints(self, look: Any) -> list[list[str]]:
        """Return identity and full name of the nodes of endpoints; the name is empty while it is not known."""
        found = []
        for info in look(self._config.topic):
            name = f'{info.node_namespace.rstrip("/")}/{info.node_name}'[:200]
            found.append([bytes(info.endpoint_gid).hex(), '' if UNKNOWN in name else name])
        return sorted(found)

    def _say(self, what: dict[str, Any]) -> None:
        with suppress(OSError):  # the node has ended, or hangs
            os.write(sys.stdout.fileno(), json.dumps(what).encode() + b'\n')


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
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT):
        signal.signal(number, lambda *_: setattr(sender, 'told_to_end', True))
    sender.run()
    node.destroy_node()
    rclpy.shutdown()
    return 0


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
