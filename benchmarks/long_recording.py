"""A long recording through `process`, by one process and by two; an hour with `3600` behind the command.

The ratio needs two free cores; `load` shows whether they were free.
"""

from __future__ import annotations

import os
import resource
import sys
import tempfile
import time
from pathlib import Path

from krang_dynamics_ros.processing.job import Job
from krang_dynamics_ros.processing.process import process

from .bag import write

SECONDS = 1200  # of recording, at 1 kHz


def main() -> None:
    """Print times, their ratio, and memory."""
    seconds = int(sys.argv[1]) if len(sys.argv) > 1 else SECONDS
    with tempfile.TemporaryDirectory() as folder:
        bag = Path(folder) / 'bag'
        write(bag, 1000 * seconds)
        print(f'\nA recording of {seconds} s at 1 kHz, of Krang; load {os.getloadavg()[0]:.1f}\n')
        taken = {}
        for workers in (1, 2):
            start = time.perf_counter()
            process(Job(bag, Path(folder) / f'out_{workers}'), workers=workers)
            taken[workers] = time.perf_counter() - start
            memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
            print(f'by {workers}: {taken[workers]:.1f} s; {memory:.0f} MB at most in this process')
        print(f'two are {taken[1] / taken[2]:.2f} times as fast as one (goal: 1.7)')


if __name__ == '__main__':
    main()
