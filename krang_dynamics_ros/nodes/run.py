"""How every node of this package starts and ends."""

from __future__ import annotations

import gc
from collections.abc import Callable, Sequence
from typing import Protocol, runtime_checkable

import rclpy
from rclpy.exceptions import InvalidParameterTypeException, InvalidParameterValueException, ParameterException
from rclpy.experimental import EventsExecutor
from rclpy.node import Node
from rclpy.signals import SignalHandlerOptions

from ..core.errors import KrangDynamicsError
from ..core.text import shown_lines
from .shutdown import SPIN_TIMEOUT, ignore_signals, install_watchdog, say, told_to_end

REFUSED = (KrangDynamicsError, ParameterException, InvalidParameterTypeException, InvalidParameterValueException)
STOPPING_TIMEOUT = 0.005  # s: of one spin while a node stops


@runtime_checkable
class Stopping(Protocol):
    """A node that has something to bring to an end before it is destroyed, for which it must go on working."""

    def begin_stop(self) -> None:
        """Begin to stop."""

    @property
    def stopped(self) -> bool:
        """Whether it may be destroyed."""


def run(create: Callable[[], Node], args: Sequence[str] | None = None) -> int:
    """Run a node until SIGINT, SIGTERM, SIGHUP or SIGQUIT; return the exit code: 0, or 1 if it could not start.

    A node that is told to end while it is still being made ends when it is.

    EventsExecutor takes half the processor time of rclpy's default one; its own spin() does not return on a signal in
    Jazzy, hence the loop.
    """
    install_watchdog()
    try:
        rclpy.init(args=None if args is None else list(args), signal_handler_options=SignalHandlerOptions.NO)
    except RuntimeError as error:  # rcl's word on arguments that it cannot read
        say(shown_lines(error))
        return 1
    following: Callable[[], Node] | None = create
    while following is not None:
        try:
            node = following()
        except REFUSED as error:
            say(shown_lines(error))
            rclpy.shutdown()
            return 1
        following = _spun(node)
    rclpy.shutdown()
    ignore_signals()
    return 0


def _spun(node: Node) -> Callable[[], Node] | None:
    """Run a node until a signal comes, or until it has a replacement; return that.

    An error in a callback ends it at once: the process that sends its commands takes them to zero.
    """
    gc.collect()
    gc.freeze()  # what start-up made stays; a collection need not walk it again and again
    executor = EventsExecutor()
    executor.add_node(node)
    replacement: Callable[[], Node] | None = None
    try:
        while not told_to_end() and replacement is None:
            executor.spin_once(timeout_sec=SPIN_TIMEOUT)
            replacement = getattr(node, 'replacement', None)
        if isinstance(node, Stopping):
            node.begin_stop()
            while not node.stopped:
                executor.spin_once(timeout_sec=STOPPING_TIMEOUT)
    finally:
        executor.remove_node(node)
        node.destroy_node()
    return None if told_to_end() else replacement
