"""A process beside the benchmark, and what it uses."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TICKS = os.sysconf('SC_CLK_TCK')


class Running:
    """A process that runs beside the benchmark; what it prints is shown only if it fails."""

    def __init__(self, command: Sequence[str], environment: Mapping[str, str] | None = None) -> None:
        self._output = tempfile.TemporaryFile()  # noqa: SIM115 (read at the end)
        self._process = subprocess.Popen(
            command, cwd=ROOT, env=environment, stdout=self._output, stderr=subprocess.STDOUT
        )
        self.pid = self._process.pid

    def end(self) -> None:
        """End it as Ctrl-C does."""
        self._process.send_signal(signal.SIGINT)
        if self._process.wait(30):
            self._output.seek(0)
            print(self._output.read().decode(errors='replace'), file=sys.stderr)


def cpu_seconds(pid: int) -> float:
    """Return the processor time used so far (s)."""
    fields = (Path(f'/proc/{pid}/stat')).read_text().rpartition(')')[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def resident(pid: int) -> float:
    """Return the memory in use (MB)."""
    return int(Path(f'/proc/{pid}/statm').read_text().split()[1]) * os.sysconf('SC_PAGE_SIZE') / 1e6
