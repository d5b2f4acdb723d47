"""The end of a node that cannot hang: whatever it waits for, a process that was told to end is gone soon after."""

from __future__ import annotations

import faulthandler
import gc
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Protocol, runtime_checkable

import rclpy
from rclpy.exceptions import InvalidParameterTypeException, InvalidParameterValueException, ParameterException
from rclpy.experimental import EventsExecutor
from rclpy.node import Node
from rclpy.signals import SignalHandlerOptions

from ..core.errors import KrangDynamicsError
from ..core.text import shown_lines
from ..live.fall import LONGEST_FALL, ZERO_SECONDS

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)
# Seconds from the signal to the end: what runs nodes, as honcho and launch, takes harder means after five.
SPIN_TIMEOUT = 0.1  # at most, until the executor lets go and the end begins
CLOSING = 0.9  # for a callback that is under way, the node's topics and Python itself
SHUTDOWN_TIMEOUT = SPIN_TIMEOUT + LONGEST_FALL + ZERO_SECONDS + CLOSING

_received: list[int] = []  # signals that told this process to end


def stop_requested() -> bool:
    """Tell whether a signal to end has come; what waits for long asks now and then."""
    return bool(_received)


def install_watchdog() -> None:
    """Note signals from now on, and watch for them from a thread of its own; call it on the main thread.

    A signal's handler in Python runs between two instructions of the main thread, so not while that waits for a lock or
    within a library. What the system writes into a pipe is read by any thread. SIGHUP that is ignored from the start
    (nohup) stays ignored; the others never do: a shell ignores SIGINT and SIGQUIT for what it starts in the background.
    """
    for number in SIGNALS:
        if number is not signal.SIGHUP or signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, lambda received, _: _received.append(received))
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
    threading.Thread(target=_wait_and_end, args=(reader,), daemon=True, name='shutdown').start()


def ignore_signals() -> None:
    """Let no further signal change the exit code: under launch a Ctrl-C comes twice."""
    for number in SIGNALS:
        signal.signal(number, signal.SIG_IGN)


def say(text: str) -> None:
    """Print to standard error; a terminal that is gone never stops the way out."""
    with suppress(OSError, ValueError):
        sys.stderr.write(f'{text}\n')
        sys.stderr.flush()


def _wait_and_end(reader: int) -> None:
    while os.read(reader, 1)[0] not in SIGNALS:
        pass
    time.sleep(SHUTDOWN_TIMEOUT)
    say(f'told to end {SHUTDOWN_TIMEOUT:g} s ago, but still waiting here; ended all the same:')
    with suppress(OSError, ValueError, RuntimeError):
        faulthandler.dump_traceback(all_threads=True)
    os._exit(1)


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
        while not stop_requested() and replacement is None:
            executor.spin_once(timeout_sec=SPIN_TIMEOUT)
            replacement = getattr(node, 'replacement', None)
        if isinstance(node, Stopping):
            node.begin_stop()
            while not node.stopped:
                executor.spin_once(timeout_sec=STOPPING_TIMEOUT)
    finally:
        executor.remove_node(node)
        node.destroy_node()
    return None if stop_requested() else replacement
