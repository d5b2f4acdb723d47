"""What ROS's tools, pip and those who cite read of this repository."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import zipfile
from datetime import date
from pathlib import Path

import pytest
import yaml

from .robots import ROOT

VERSION = re.findall(r"version='([^']+)'", (ROOT / 'setup.py').read_text())[0]


def test_ros_tools_read_the_changelog() -> None:
    changelog = pytest.importorskip('catkin_pkg.changelog', reason='catkin-pkg is not installed')
    read = changelog.get_changelog_from_path(str(ROOT / 'CHANGELOG.rst'), 'krang_dynamics_ros')
    released = [(version, day.year, len(content) > 0) for version, day, content in read.foreach_version()]
    assert released[-1] == (VERSION, 2026, True)


def test_ros_tools_read_the_package() -> None:
    catkin_pkg = pytest.importorskip('catkin_pkg.package', reason='catkin-pkg is not installed')
    warnings: list[str] = []
    package = catkin_pkg.parse_package(str(ROOT), warnings=warnings)
    assert (package.name, package.version, warnings) == ('krang_dynamics_ros', VERSION, [])
    package.validate()


def test_the_citation_is_of_this_version() -> None:
    citation = yaml.safe_load((ROOT / 'CITATION.cff').read_text())
    assert citation['cff-version'] == '1.2.0'
    assert {'message', 'title', 'authors', 'abstract', 'date-released'} <= citation.keys()
    assert (citation['version'], citation['license'], citation['type']) == (VERSION, 'Apache-2.0', 'software')
    assert isinstance(citation['date-released'], date)
    assert citation['references'][0]['title'] == 'Equations Of Motion of Krang on Fixed Wheels'


def test_the_workflows_run_what_is_here() -> None:
    for path in (ROOT / '.github' / 'workflows').glob('*.yml'):
        workflow = yaml.safe_load(path.read_text())
        assert {'name', True, 'jobs'} <= workflow.keys()  # YAML reads the key `on` as true
        for job in workflow['jobs'].values():
            for command in (line for step in job['steps'] for line in step.get('run', '').splitlines()):
                for target in re.findall(r'\bmake (\w+)', command):
                    assert re.search(rf'^{target}:', (ROOT / 'Makefile').read_text(), re.MULTILINE)


def test_pip_puts_one_command_on_the_path(tmp_path: Path) -> None:
    """Builds the wheel as pip does, and looks inside."""
    command = [
        sys.executable,
        '-m',
        'pip',
        'wheel',
        '--no-deps',
        '--no-build-isolation',
        '--quiet',
        '-w',
        tmp_path,
        '.',
    ]
    copy = tmp_path / 'copy'
    shutil.copytree(ROOT, copy, ignore=shutil.ignore_patterns('.*', '__pycache__', '*.egg-info', 'build', 'log'))
    done = subprocess.run(command, cwd=copy, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    (wheel,) = tmp_path.glob('*.whl')
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        (points,) = [name for name in names if name.endswith('entry_points.txt')]
        assert archive.read(points).decode().split() == [
            '[console_scripts]', 'krang', '=', 'krang_dynamics_ros.__main__:main',
        ]  # fmt: skip
    assert not [name for name in names if '.data/scripts/' in name]
    files = [path for path in (ROOT / 'krang_dynamics_ros').rglob('*.*') if '__pycache__' not in path.parts]
    assert {str(path.relative_to(ROOT)) for path in files} <= set(names)  # the page's styles and scripts too
    data = {name.partition('.data/data/')[2] for name in names if '.data/data/' in name}
    assert {f'lib/krang_dynamics_ros/{path.name}' for path in (ROOT / 'scripts').iterdir()} <= data
    for folder in ('config', 'launch', 'layouts', 'rviz', 'urdf'):
        for path in (ROOT / folder).rglob('*.*'):
            if '__pycache__' not in path.parts:
                assert f'share/krang_dynamics_ros/{path.relative_to(ROOT)}' in data
