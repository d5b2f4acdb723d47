"""Immediate end on Ctrl-C while a node's process still imports.

Only starters of nodes use it: `krang`, the scripts of `scripts/`, `python -m` with the module of a node. A program that
imports the package keeps its signal handlers. `nodes/run.py` replaces the handlers when the node starts.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Sequence


def end_on_signals() -> None:
    """End the process at once on SIGINT, SIGTERM, SIGQUIT and SIGHUP; an ignored SIGHUP (nohup) stays ignored."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT):
        if number is not signal.SIGHUP or signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, lambda *_: os._exit(0))


def runs_module_of(package: str, words: Sequence[str] | None = None, known: Sequence[str] | None = None) -> bool:
    """Return whether this process is `python -m` with a module of a package, and Python still searches the module.

    Until it is found, `sys.argv` (`known`) is `-m` and the arguments of the module; on the whole command line (`words`)
    its name is before these arguments.
    """
    words, known = sys.orig_argv if words is None else words, sys.argv if known is None else known
    module = words[-len(known)] if known[:1] == ['-m'] and len(words) > len(known) else ''
    return module.startswith(f'{package}.')
