"""Running and shutdown of nodes. A watchdog ends a process that hangs after a stop signal."""

from __future__ import annotations

import faulthandler
import gc
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
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
# Seconds from the signal to the end; honcho and launch kill a node after five.
SPIN_TIMEOUT = 0.1  # maximum time until the executor returns and the shutdown begins
CLOSING = 0.9  # for a running callback, the topics of the node, and Python
SHUTDOWN_TIMEOUT = SPIN_TIMEOUT + LONGEST_FALL + ZERO_SECONDS + CLOSING

_received: list[int] = []  # stop signals that this process received


def stop_requested() -> bool:
    """Return whether a stop signal was received; code that waits for long must poll it."""
    return bool(_received)


def install_watchdog() -> None:
    """Install signal handlers, and a thread that ends the process if the shutdown hangs; call it on the main thread.

    Python runs a signal handler between two instructions of the main thread, so not while it waits for a lock or inside
    a library. So the thread reads the signals from a pipe. SIGHUP stays ignored if it was ignored at the start (nohup).
    The other signals do not, because a shell ignores SIGINT and SIGQUIT for its background processes.
    """
    for number in SIGNALS:
        if number is not signal.SIGHUP or signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, lambda received, _: _received.append(received))
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
    threading.Thread(target=_wait_and_end, args=(reader,), daemon=True, name='shutdown').start()


@contextmanager
def caught(numbers: Iterable[int]) -> Iterator[list[int]]:
    """Give a list to which these signals are added within the block, in place of their usual effect."""
    received: list[int] = []
    before = {number: signal.signal(number, lambda got, _: received.append(got)) for number in numbers}
    try:
        yield received
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def late_interrupt() -> Iterator[None]:
    """Raise `KeyboardInterrupt` at the end of a block that spins: one raised inside becomes another error in rclpy.

    An ignored SIGINT stays ignored. Use it on the main thread.
    """
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        yield
        return
    with caught((signal.SIGINT,)) as received:
        yield
    if received:
        raise KeyboardInterrupt


def ignore_signals() -> None:
    """Ignore further signals, so that the exit code stays: under launch, Ctrl-C comes twice."""
    for number in SIGNALS:
        signal.signal(number, signal.SIG_IGN)


def print_error(text: str) -> None:
    """Print to standard error; ignore a terminal that is closed."""
    with suppress(OSError, ValueError):
        sys.stderr.write(f'{text}\n')
        sys.stderr.flush()


def _wait_and_end(reader: int) -> None:
    while os.read(reader, 1)[0] not in SIGNALS:
        pass
    time.sleep(SHUTDOWN_TIMEOUT)
    print_error(f'stop signal {SHUTDOWN_TIMEOUT:g} s ago, but still waiting here; process ended:')
    with suppress(OSError, ValueError, RuntimeError):
        faulthandler.dump_traceback(all_threads=True)
    os._exit(1)


REFUSED = (KrangDynamicsError, ParameterException, InvalidParameterTypeException, InvalidParameterValueException)
STOPPING_TIMEOUT = 0.005  # s, of a spin while a node stops


@runtime_checkable
class Stopping(Protocol):
    """A node that must keep spinning for a while before it is destroyed."""

    def begin_stop(self) -> None:
        """Begin to stop."""

    @property
    def stopped(self) -> bool:
        """Whether it may be destroyed."""


def run(create: Callable[[], Node], args: Sequence[str] | None = None) -> int:
    """Run a node until SIGINT, SIGTERM, SIGHUP or SIGQUIT; return the exit code: 0, or 1 if it could not start.

    A stop signal during the construction of a node ends it after the construction.

    EventsExecutor needs half the processor time of rclpy's default executor. Its spin() does not return on a signal in
    Jazzy, hence the loop.
    """
    install_watchdog()
    try:
        rclpy.init(args=None if args is None else list(args), signal_handler_options=SignalHandlerOptions.NO)
    except RuntimeError as error:  # arguments that rcl cannot read
        print_error(shown_lines(error))
        return 1
    following: Callable[[], Node] | None = create
    while following is not None:
        try:
            node = following()
        except REFUSED as error:
            print_error(shown_lines(error))
            rclpy.shutdown()
            return 1
        following = _spun(node)
    rclpy.shutdown()
    ignore_signals()
    return 0


def _spun(node: Node) -> Callable[[], Node] | None:
    """Run a node until a signal or a replacement; return the replacement.

    An error in a callback ends the node at once: the sender process reduces its commands to zero.
    """
    gc.collect()
    gc.freeze()  # objects of the start stay; garbage collection can skip them
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
