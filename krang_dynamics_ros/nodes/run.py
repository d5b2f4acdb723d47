"""How every node of this package starts and ends."""

from __future__ import annotations

import gc
import signal
import sys
from collections.abc import Callable, Sequence

import rclpy
from rclpy.exceptions import InvalidParameterTypeException, InvalidParameterValueException, ParameterException
from rclpy.experimental import EventsExecutor
from rclpy.node import Node
from rclpy.signals import SignalHandlerOptions

from ..core.errors import KrangDynamicsError
from .ending import TURN, see_to_the_end, told_to_end

REFUSED = (KrangDynamicsError, ParameterException, InvalidParameterTypeException, InvalidParameterValueException)


def run(create: Callable[[], Node], args: Sequence[str] | None = None) -> int:
    """Run a node until SIGINT or SIGTERM; return the process's exit code: 0, or 1 if the node could not start.

    A node that is told to end while it is still being made ends when it is.

    EventsExecutor takes half the processor time of rclpy's default one; its own spin() does not return on a signal in
    Jazzy, hence the loop.
    """
    see_to_the_end()
    try:
        rclpy.init(args=None if args is None else list(args), signal_handler_options=SignalHandlerOptions.NO)
    except RuntimeError as error:  # rcl's word on arguments that it cannot read
        print(error, file=sys.stderr)
        return 1
    following: Callable[[], Node] | None = create
    while following is not None:
        try:
            node = following()
        except REFUSED as error:
            print(error, file=sys.stderr)
            rclpy.shutdown()
            return 1
        following = _spun(node)
    rclpy.shutdown()
    for name in (signal.SIGINT, signal.SIGTERM):  # under launch a Ctrl-C comes twice: the second changes no code
        signal.signal(name, signal.SIG_IGN)
    return 0


def _spun(node: Node) -> Callable[[], Node] | None:
    """Run a node until a signal comes, or until it has a successor; return that.

    An error in a callback ends it as properly: what a controller was told is to be taken back by whoever told it.
    """
    gc.collect()
    gc.freeze()  # what start-up made stays; a collection need not walk it again and again
    executor = EventsExecutor()
    executor.add_node(node)
    successor: Callable[[], Node] | None = None
    try:
        while not told_to_end() and successor is None:
            executor.spin_once(timeout_sec=TURN)
            successor = getattr(node, 'successor', None)
    finally:
        executor.remove_node(node)
        node.destroy_node()
    return None if told_to_end() else successor
