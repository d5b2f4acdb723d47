"""`krang record` in a separate process during a motion: a slow disk does not delay the supervision of the robot."""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Sequence
from pathlib import Path

from ..core.errors import KrangDynamicsError
from .arm_option import ArmFile, write_arm_beside
from .common import say, say_error
from .record import FIRST_STATE_TIMEOUT, RUNNING

START = 10.0  # s, of the process
CLOSING = 30.0  # s to write the index of a bag


class RecordBeside:
    """A process that records into a new folder. Use it in a `with`; its beginning waits for the first joint states."""

    def __init__(self, folder: Path, arm: ArmFile, ros_arguments: Sequence[str], arm_path: Path | None = None) -> None:
        """`arm` is written into the folder; `arm_path` is an arm file with the topics, if they are not the usual."""
        self._folder, self._arm = folder, arm
        words = ['-o', str(folder), *(['--arm', str(arm_path)] if arm_path else []), *ros_arguments]
        self._command = [sys.executable, '-m', 'krang_dynamics_ros', 'record', *words]
        self._running, self._started, self._discarded = threading.Event(), False, False
        self._errors = tempfile.TemporaryFile('w+')  # noqa: SIM115 (closed in __exit__)

    def __enter__(self) -> RecordBeside:
        self._process = subprocess.Popen(  # noqa: S603 (our own program; a new session: Ctrl-C ends it once, by _end)
            self._command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=self._errors, text=True,
            start_new_session=True,
        )  # fmt: skip
        self._relay = threading.Thread(target=self._print_output, daemon=True)
        self._relay.start()
        try:
            self._wait()
            write_arm_beside(self._folder, self._arm)
        except BaseException:
            self._end()
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        code = self._end()
        if self._discarded:
            shutil.rmtree(self._folder, ignore_errors=True)
            say(f'{self._folder}: removed, the robot did not move')
        elif code and kind is None:
            raise KrangDynamicsError(f'krang record ended with exit code {code}: the recording is not whole')

    @property
    def running(self) -> bool:
        """Whether the recording has begun."""
        return self._running.is_set()

    def discard(self) -> None:
        """Remove the folder at the end: nothing was played."""
        self._discarded = True

    def check(self) -> None:
        """Raise an error if the recording has ended."""
        if self._process.poll() is not None:
            raise KrangDynamicsError('the recording ended before the motion')

    def _print_output(self) -> None:
        for line in self._process.stdout or ():
            self._started = True
            say(line.rstrip('\n'), flush=True)
            if line.startswith(RUNNING):
                self._running.set()
        self._running.set()  # the process has ended: _wait reports it at once

    def _wait(self) -> None:
        """Wait until the recording runs."""
        if not self._running.wait(START + FIRST_STATE_TIMEOUT):
            late = 'no joint states were recorded' if self._started else 'krang record did not start'
            raise KrangDynamicsError(f'{late} within {START + FIRST_STATE_TIMEOUT:g} s')
        self.check()

    def _end(self) -> int:
        """End the process as Ctrl-C does; return its exit code, and print its errors if it failed."""
        self._process.send_signal(signal.SIGINT)
        try:
            code = self._process.wait(CLOSING)
        except subprocess.TimeoutExpired:
            self._process.kill()
            code = self._process.wait()
        self._relay.join(CLOSING)
        self._errors.seek(0)
        errors = self._errors.read()
        self._errors.close()
        if code:
            say_error(errors.rstrip())
        return code
