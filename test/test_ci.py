"""What CI does with a test that fails: it runs again, and is named either way."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from .robots import ROOT

FLAKY = """
from pathlib import Path
def test_flaky():
    seen = Path('seen')
    there = seen.exists()
    seen.touch()
    assert there
"""
GOOD = 'def test_good(): pass\n'
BAD = 'def test_bad(): assert False\n'
NO_MODULE = 'import nothing_of_this_name\n'
FLAKY_TEARDOWN = """
import pytest
from pathlib import Path
@pytest.fixture
def world():
    yield
    there = Path('torn').exists()
    Path('torn').touch()
    assert there
def test_teardown(world): pass
"""


def twice(folder: Path, tests: str, *words: str) -> tuple[int, str]:
    """Run CI's tests in a folder of its own; return the exit code and what is said."""
    (folder / 'test_some.py').write_text(tests)
    command = [sys.executable, str(ROOT / '.ci' / 'test_twice.py'), '-q', *words]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, timeout=300)
    return done.returncode, done.stdout + done.stderr


@pytest.mark.slow
@pytest.mark.parametrize('words', [(), ('-n', '2', '--dist', 'loadfile', '--no-loadscope-reorder')])
@pytest.mark.parametrize(
    ('tests', 'code', 'said', 'unsaid'),
    [
        (GOOD, 0, (), ('again', 'twice')),
        (GOOD + FLAKY, 0, ('passed only when run again: test_some.py::test_flaky',), ('failed twice',)),
        (GOOD + BAD, 1, ('failed twice: test_some.py::test_bad',), ('passed only',)),
        (
            GOOD + BAD + FLAKY, 1,
            ('failed twice: test_some.py::test_bad', 'passed only when run again: test_some.py::test_flaky'), (),
        ),
        (FLAKY_TEARDOWN, 0, ('passed only when run again: test_some.py::test_teardown',), ()),
    ],
)  # fmt: skip
def test_a_flaky_test_is_named_and_a_test_that_fails_twice_fails(
    tests: str, code: int, said: tuple[str, ...], unsaid: tuple[str, ...], words: tuple[str, ...], tmp_path: Path
) -> None:
    found, output = twice(tmp_path, tests, *words)
    assert found == code, output
    assert all(line in output for line in said), output
    assert not any(line in output for line in unsaid), output


def test_only_failures_of_tests_are_tried_again(tmp_path: Path) -> None:
    code, output = twice(tmp_path, GOOD, '-k', 'nothing_of_this_name')
    assert (code, 'once more' in output) == (5, False)
    code, output = twice(tmp_path, NO_MODULE)
    assert code not in (0, 5), output


@pytest.mark.slow
def test_failures_of_an_earlier_run_are_not_counted(tmp_path: Path) -> None:
    assert twice(tmp_path, BAD)[0] == 1
    code, output = twice(tmp_path, GOOD + FLAKY)
    assert code == 0
    assert 'test_bad' not in output


def test_ci_runs_tests_through_it() -> None:
    assert 'PYTEST=.ci/test_twice.py' in (ROOT / '.ci' / 'run').read_text()
    assert '$(BIN)/python $(PYTEST) ' in (ROOT / 'Makefile').read_text()
