"""The node's end of the pipes to the process that publishes its commands."""

from __future__ import annotations

import fcntl
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from ..core.spatial import Array
from ..outputs.controller_watch import Endpoint
from .command_sender import Config, Frame

REPORT_WITHIN = 0.5  # s: a sender that has reported nothing for so long, while commands go out, hangs
START_WITHIN = 30.0  # s, until its first report
CLOSE_WITHIN = 0.6  # s
PIPE_BYTES = 1 << 20  # commands of 60 joints at 1 kHz for two seconds: a sender that is late loses none


def _environment() -> dict[str, str]:
    """Return the environment of the process: no module of the working folder may stand in the way of Python's own."""
    package = str(Path(__file__).parents[2])
    paths = [package, *filter(None, [os.environ.get('PYTHONPATH')])]
    return os.environ | {'PYTHONSAFEPATH': '1', 'PYTHONPATH': os.pathsep.join(paths)}


class SenderLink:
    """A running `command_sender`: commands go in, what it sees comes out. Times are seconds by a steady clock."""

    def __init__(self, config: Config, now: float) -> None:
        command = [sys.executable, '-m', 'krang_dynamics_ros.nodes.command_sender', json.dumps(config)]
        self._process = subprocess.Popen(  # noqa: S603 (our own module, a session of its own: signals to ours pass by)
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True, env=_environment()
        )
        self._in, self._out = self._fd(self._process.stdin), self._fd(self._process.stdout)
        with suppress(OSError):  # more than the system grants
            fcntl.fcntl(self._in, fcntl.F_SETPIPE_SZ, PIPE_BYTES)
        self._rest = b''
        self._started, self._reported = now, -1.0
        self.first_report = np.inf  # when it was ready
        self.subscribers: Sequence[Endpoint] = ()
        self.own: set[str] = set()  # identities of its publisher
        self.falls = ''  # why it takes the commands to zero by itself
        self.sent: Array = np.zeros(config.joints)  # where it is on that way (k)
        self.ended = False
        self.end = 'has died'

    @staticmethod
    def _fd(pipe: Any) -> int:
        os.set_blocking(pipe.fileno(), False)
        return int(pipe.fileno())

    @property
    def ready(self) -> bool:
        """Whether it has reported who subscribes."""
        return self._reported > 0 and not self.ended and not self.falls

    @property
    def was_ready(self) -> bool:
        """Whether it has ever reported who subscribes."""
        return self._reported > 0

    def send(self, frame: Frame) -> None:
        """Hand on a command."""
        try:
            os.write(self._in, frame.packed())
        except BlockingIOError:
            self.kill('read nothing for seconds')
        except BrokenPipeError:
            return  # it has ended, and `poll` reads why

    def poll(self, now: float, live: bool) -> None:
        """Take in what it reports; one that is silent while commands go out is ended, as it hangs."""
        if self.ended:
            return
        with suppress(BlockingIOError):
            while raw := os.read(self._out, 1 << 16):
                self._rest += raw
            self.ended = True
        *lines, self._rest = self._rest.split(b'\n')
        for line in lines:
            self._take(json.loads(line), now)
        silent = now - max(self._reported, self._started)
        if not self.falls and silent > (REPORT_WITHIN if live and self._reported > 0 else START_WITHIN):
            self.kill(f'said nothing for {silent:.2g} s')

    def _take(self, report: dict[str, Any], now: float) -> None:
        self._reported, self.first_report = now, min(self.first_report, now)
        if 'falls' in report:
            self.falls, self.sent = report['falls'], np.array(report['sent'])
        else:
            self.subscribers = [Endpoint(*endpoint) for endpoint in report['subscribers']]
            self.own = set(report['own'])

    def kill(self, why: str) -> None:
        """End it at once: it hangs."""
        self.end = why
        with suppress(OSError):
            self._process.kill()
        self.ended = True

    def close(self) -> None:
        """End the pipe: commands that still go out are taken to zero; wait a moment for the end of the process."""
        for pipe in (self._process.stdin, self._process.stdout):
            with suppress(OSError):
                if pipe is not None:
                    pipe.close()
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(CLOSE_WITHIN if not self.ended else 0.0)
