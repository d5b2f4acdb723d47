"""An end that cannot hang: whatever a node waits for, a process that was told to end is gone soon after."""

from __future__ import annotations

import faulthandler
import os
import signal
import sys
import threading
import time

# Seconds from the signal to the end: what runs nodes, as honcho and launch, takes harder means after five.
TURN = 0.1  # at most, until the executor lets go and the end begins
TAKING_BACK = 2.5  # at most, of commands to a controller
FAREWELL = 0.5  # at most, for the last command to arrive
CLOSING = 0.9  # for a callback that is under way, the node's topics and Python itself
PATIENCE = TURN + TAKING_BACK + FAREWELL + CLOSING

_came: list[int] = []  # signals that told this process to end


def told_to_end() -> bool:
    """Tell whether SIGINT or SIGTERM has come; whoever waits for long asks now and then."""
    return bool(_came)


def see_to_the_end() -> None:
    """Note signals from now on, and watch for them from a thread of its own; call it on the main thread.

    A signal's handler in Python runs between two instructions of the main thread: if that waits for a lock or within a
    library, or for other threads when all is done, nobody hears of the signal. What the system writes into a pipe is
    read by any thread.
    """
    for name in (signal.SIGINT, signal.SIGTERM):
        signal.signal(name, lambda number, _: _came.append(number))
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
    threading.Thread(target=_wait_and_end, args=(reader,), daemon=True, name='end').start()


def _wait_and_end(reader: int) -> None:
    while os.read(reader, 1)[0] not in (signal.SIGINT, signal.SIGTERM):
        pass
    time.sleep(PATIENCE)
    sys.stderr.write(f'told to end {PATIENCE:g} s ago, but still waiting here; ended all the same:\n')
    sys.stderr.flush()
    faulthandler.dump_traceback(all_threads=True)
    os._exit(0)
