"""A process that is a node and still imports ends on Ctrl-C at once, without a word: nothing has begun yet.

The package imports this first of all; `nodes/run.py` takes the signals over.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Sequence

NODES = {'dynamics_node', 'simulator_node', 'viewer_node'}


def is_node(words: Sequence[str]) -> bool:
    """Tell whether a command line runs a node: by `python -m`, `krang`, or the node's own script."""
    return any(word.replace('/', '.').rpartition('.')[2] in NODES for word in words[1:4])


if is_node(sys.orig_argv):
    for _signal in (signal.SIGINT, signal.SIGTERM):
        signal.signal(_signal, lambda *_: os._exit(0))
