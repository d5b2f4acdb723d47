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

    def check(self, title: str) -> None:
        """Raise `SystemExit` if it has ended by itself: waiting for it would not end."""
        if (code := self._process.poll()) is not None:
            raise SystemExit(f'{title}: its process ended with code {code}:\n{self._printed()}')

    def end(self) -> None:
        """End it as Ctrl-C does."""
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGINT)
            if self._process.wait(30):
                print(self._printed(), file=sys.stderr)

    def _printed(self) -> str:
        self._output.seek(0)
        return self._output.read().decode(errors='replace')


def cpu_seconds(pid: int) -> float:
    """Return the processor time used so far (s)."""
    fields = (Path(f'/proc/{pid}/stat')).read_text().rpartition(')')[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def resident(pid: int) -> float:
    """Return the memory in use (MB)."""
    return int(Path(f'/proc/{pid}/statm').read_text().split()[1]) * os.sysconf('SC_PAGE_SIZE') / 1e6
