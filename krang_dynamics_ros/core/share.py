"""Where the package's data files are: beside the sources in a checkout, in `share/` once installed."""

from __future__ import annotations

from pathlib import Path

from .errors import KrangDynamicsError

PACKAGE = 'krang_dynamics_ros'


def share(*parts: str) -> Path:
    """Return the path of a data file; its parts are folders and a name, as in config, krang.yaml."""
    here = Path(__file__).resolve()
    for folder in here.parents:
        for root in (folder, folder / 'share' / PACKAGE):
            if (root / 'package.xml').is_file() and (root / 'config' / 'krang.yaml').is_file():
                return root.joinpath(*parts)
    raise KrangDynamicsError(f'share/{PACKAGE} is not above {here}: the package is not installed whole')


def krang_file() -> Path:
    """Return Krang's robot file, the one that is meant where none is named."""
    return share('config', 'krang.yaml')


def robot_files() -> list[Path]:
    """Return the robot files that come with the package."""
    return [krang_file(), *sorted(share('config', 'textbook').glob('*.yaml'))]


def robot_named(name: str) -> Path | None:
    """Return the file of a robot that comes with the package, by its name without folder and `.yaml`."""
    files = [*robot_files(), share('config', 'krang_identified.yaml')]
    return {file.stem: file for file in files}.get(name)
