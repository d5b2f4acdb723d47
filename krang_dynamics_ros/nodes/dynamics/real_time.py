"""Real-time priority of the processes that send commands, so that other work on a busy machine does not delay them."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

# SCHED_FIFO, 1 to 99: below the 50 that ros2_control's controller_manager asks for. The sender comes before the node:
# it reduces commands to zero when the node hangs.
NODE_PRIORITY, SENDER_PRIORITY = 10, 11


def set_real_time(priority: int) -> str:
    """Give all threads of this process a real-time priority (0: none); return why that is not allowed, or ''.

    Processes that it starts have none.
    """
    policy = (os.SCHED_FIFO if priority else os.SCHED_OTHER) | os.SCHED_RESET_ON_FORK
    try:
        for thread in Path('/proc/self/task').iterdir():
            with suppress(ProcessLookupError):  # it has ended
                os.sched_setscheduler(int(thread.name), policy, os.sched_param(priority))
    except OSError as error:
        return error.strerror or str(error)
    return ''
