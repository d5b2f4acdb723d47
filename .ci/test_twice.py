"""Run pytest, run what failed a second time, and name what passed only then: such a test is to be mended.

The exit code is pytest's. It is 0 only if nothing failed twice; whatever is no failure of a test (an interruption, a
fault of pytest itself, nothing to run) is not tried again.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

FAILED = 1  # pytest's code for failures of tests, and of nothing else
FAILURES = Path('.pytest_cache', 'v', 'cache', 'lastfailed')
AGAIN = ('-q', '--last-failed', '--last-failed-no-failures', 'none')


def main(words: Sequence[str]) -> int:
    """Run pytest with these arguments; return the exit code."""
    code = _pytest('--cache-clear', *words)
    if code != FAILED:
        return code
    first = _failures()
    print(f'{len(first)} failed; they run once more, each alone: real processes on a busy machine may be late.')
    code = _pytest(*AGAIN)
    if code not in (0, FAILED) or not first:
        return code or FAILED
    second = _failures()
    for test in sorted(first - second):
        print(f'passed only when run again: {test}')
    for test in sorted(second):
        print(f'failed twice: {test}')
    return FAILED if second else code


def _pytest(*words: str) -> int:
    sys.stdout.flush()
    return subprocess.run([sys.executable, '-m', 'pytest', *words], check=False).returncode  # noqa: S603


def _failures() -> set[str]:
    """Return the names of the tests that failed last, as pytest remembers them."""
    return set(json.loads(FAILURES.read_text(encoding='utf-8'))) if FAILURES.exists() else set()


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
