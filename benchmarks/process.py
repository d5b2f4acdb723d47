"""What a process uses."""

from __future__ import annotations

import os
from pathlib import Path

TICKS = os.sysconf('SC_CLK_TCK')


def cpu_seconds(pid: int) -> float:
    """Return the processor time used so far (s)."""
    fields = (Path(f'/proc/{pid}/stat')).read_text().rpartition(')')[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def resident(pid: int) -> float:
    """Return the memory in use (MB)."""
    return int(Path(f'/proc/{pid}/statm').read_text().split()[1]) * os.sysconf('SC_PAGE_SIZE') / 1e6
