"""A node's process that still imports ends on Ctrl-C at once, without a word: nothing has begun yet.

Only what starts a node calls this: `krang`, a script of `scripts/`, `python -m` with a module of a node. A program that
imports the package keeps its signals, whatever its arguments are. `nodes/run.py` takes them over when it begins.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Sequence


def end_on_signals() -> None:
    """Let every signal that asks for the end do so at once; SIGHUP that is ignored (nohup) stays ignored."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT):
        if number is not signal.SIGHUP or signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, lambda *_: os._exit(0))


def runs_module_of(package: str, words: Sequence[str] | None = None, known: Sequence[str] | None = None) -> bool:
    """Return whether this process is `python -m` with a module of a package, which it is about to import.

    While Python looks for that module, `sys.argv` begins with `-m` (`known`), and goes on with what follows the
    module's name on the whole command line (`words`).
    """
    words, known = sys.orig_argv if words is None else words, sys.argv if known is None else known
    module = words[-len(known)] if known[:1] == ['-m'] and len(words) > len(known) else ''
    return module.startswith(f'{package}.')
