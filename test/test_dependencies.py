"""What the package depends on: pinned with hashes, installed as pinned, and listed with its licence."""

from __future__ import annotations

import re
import sys
from importlib import metadata

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from .robots import ROOT

FILES = ('requirements', 'requirements-dev', 'requirements-docs')
DOCUMENT = (ROOT / 'docs' / 'dependencies.md').read_text()
PERMISSIVE = re.compile(r'MIT|BSD|Apache|ISC|Zlib|PSF|Python|HPND|CC0|Unlicense|Expat|public domain', re.IGNORECASE)
COPYLEFT = re.compile(r'GPL|MPL|EPL|CDDL|Mozilla|Lesser')


def pinned(name: str, suffix: str) -> list[Requirement]:
    """Return the requirements of a file, without comments and hashes."""
    text = (ROOT / f'{name}.{suffix}').read_text().replace('\\\n', ' ')
    lines = [line.partition(' --hash')[0].strip() for line in text.splitlines() if not line.startswith('#')]
    return [Requirement(line) for line in lines if line]


def installed(name: str) -> metadata.PackageMetadata | None:
    try:
        return metadata.metadata(name)
    except metadata.PackageNotFoundError:
        return None


def licence(found: metadata.PackageMetadata) -> str:
    """Return the licence that a distribution's metadata state, in a line; nothing if they state none."""
    classified = [entry.rpartition(' :: ')[2] for entry in found.get_all('Classifier') or () if entry[:7] == 'License']
    stated = [found['License-Expression'], *([x] if 0 < len(x := found['License'] or '') < 70 else []), *classified]
    return next((text for text in stated if text), '')


def rows() -> dict[str, str]:
    """Return the licences that the document's table lists, by package."""
    return dict(re.findall(r'^\| `([\w.-]+)` \| ([^|]*?) \|', DOCUMENT, re.MULTILINE))


@pytest.mark.parametrize('name', FILES)
def test_every_requirement_has_hashes_and_is_pinned_as_it_is_asked_for(name: str) -> None:
    def key(one: Requirement) -> tuple[str, str, str]:
        marker = str(one.marker or '').replace('python_full_version', 'python_version')
        return canonicalize_name(one.name), str(one.specifier), marker

    assert sorted(map(key, pinned(name, 'txt'))) == sorted(map(key, pinned(name, 'in')))
    for entry in re.split(r'\n(?=\S)', (ROOT / f'{name}.txt').read_text()):
        assert entry.startswith('#') or re.search(r'--hash=sha256:[0-9a-f]{64}', entry), entry[:80]


@pytest.mark.parametrize('name', FILES)
def test_no_file_names_an_index(name: str) -> None:
    for suffix in ('in', 'txt'):
        text = (ROOT / f'{name}.{suffix}').read_text()
        assert not re.search(r'https?:|file:|--(extra-)?index|--find-links|--trusted', text)


def test_installed_packages_are_the_pinned_versions() -> None:
    if not (ROOT / '.venv' / 'runs').exists() or sys.prefix != str(ROOT / '.venv'):
        pytest.skip('not in .venv: on a ROS machine versions are those of its packages')
    for one in pinned('requirements', 'txt'):
        found = installed(one.name)
        if one.marker is None or one.marker.evaluate():
            assert found is not None, one.name
            assert one.specifier.contains(found['Version'], prereleases=True), one.name


def test_the_document_lists_each_direct_dependency_with_the_licence_that_it_states() -> None:
    setup = (ROOT / 'setup.py').read_text()
    wanted = re.search(r'install_requires=.*?zip_safe', setup, re.DOTALL)
    assert wanted
    names = {Requirement(text).name for text in re.findall(r"'([a-zA-Z][\w.<>=,-]*)'[,\]]", wanted[0])}
    listed = rows()
    assert names <= set(listed), names - set(listed)
    for name, stated in listed.items():
        found = installed(name)
        if found is not None and licence(found):
            assert stated == licence(found), name


def test_every_licence_that_is_not_permissive_is_named() -> None:
    """A copyleft licence that comes with an update is to be seen by a person."""
    named = set(re.findall(r'`([\w.-]+)` \(', DOCUMENT))
    for one in pinned('requirements', 'in') + pinned('requirements-dev', 'in'):
        found = installed(one.name)
        if found is None or one.name.startswith('ros-'):
            continue
        stated = licence(found)
        if COPYLEFT.search(stated) or not PERMISSIVE.search(stated):
            assert one.name in named | set(rows()), f'{one.name}: {stated}'
