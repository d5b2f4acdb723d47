"""The end of a node that cannot hang: whatever it waits for, a process that was told to end is gone soon after."""

from __future__ import annotations

import faulthandler
import os
import signal
import sys
import threading
import time
from contextlib import suppress

from ..outputs.fall import LONGEST_FALL, ZERO_SECONDS

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)
# Seconds from the signal to the end: what runs nodes, as honcho and launch, takes harder means after five.
SPIN_TIMEOUT = 0.1  # at most, until the executor lets go and the end begins
CLOSING = 0.9  # for a callback that is under way, the node's topics and Python itself
SHUTDOWN_TIMEOUT = SPIN_TIMEOUT + LONGEST_FALL + ZERO_SECONDS + CLOSING

_received: list[int] = []  # signals that told this process to end


def told_to_end() -> bool:
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
