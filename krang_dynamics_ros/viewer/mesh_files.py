"""Where the meshes are that a URDF names, and reading them.

A description may come from anywhere. So what is read is a regular file of bounded size whose own name, after all links,
says that it is a mesh; and it is read by itself: textures and other files that it names are left alone.
"""

from __future__ import annotations

import io
import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from ..core.errors import ArgumentError
from .mesh_bounds import check_scene, check_unfolded

KINDS = ('.dae', '.stl', '.obj', '.glb')
LARGEST = 60_000_000  # bytes of one file
FOLDERS_ABOVE = 5  # a package of a file is looked for so far above it
Y_UP = re.compile(rb'<up_axis>\s*Y_UP')
UNIT = re.compile(rb'<unit\b[^>]*\bmeter\s*=\s*["\']([0-9.eE+-]+)["\']')


class MeshFiles:
    """The folders in which packages are looked for."""

    def __init__(self, folders: Sequence[str] = ()) -> None:
        """Look in these folders and above them first, then where ROS has its packages."""
        self._near = [Path(folder).expanduser().resolve() for folder in folders]
        self._ros = [Path(part) for part in os.environ.get('ROS_PACKAGE_PATH', '').split(os.pathsep) if part]
        self._share = [
            Path(part, 'share') for part in os.environ.get('AMENT_PREFIX_PATH', '').split(os.pathsep) if part
        ]

    def find(self, name: str) -> Path:
        """Return the file of a name as a URDF has it, or raise `ArgumentError` with what is wrong."""
        for path in self._candidates(name):
            try:
                found = path.resolve(strict=True)
            except (OSError, RuntimeError, ValueError):
                continue
            if found.is_file():
                return _allowed(found, name)
        raise ArgumentError(f'{name[:200]!r} is not found')

    def _candidates(self, name: str) -> Iterator[Path]:
        if name.startswith(('package://', 'model://')):
            package, _, inside = name.split('://', 1)[1].partition('/')
            yield from (folder / package / inside for folder in (*self._share, *self._ros))
            yield from (folder / inside for folder in self._ros if folder.name == package)
            for folder in self._near:
                for above in [folder, *folder.parents][: FOLDERS_ABOVE + 1]:
                    yield above / package / inside
                    if above.name == package:
                        yield above / inside
        elif name.startswith('file://'):
            yield Path(unquote(urlsplit(name).path))
        elif '://' not in name:
            yield from (folder / name for folder in (*self._near, Path('/')) if folder != Path('/') or name[:1] == '/')


def _allowed(file: Path, name: str) -> Path:
    if file.suffix.lower() not in KINDS:
        raise ArgumentError(f'{name[:200]!r} is no mesh, must be {", ".join(KINDS)}')
    if (size := file.stat().st_size) > LARGEST:
        raise ArgumentError(f'{name[:200]!r} has {size} bytes, must be {LARGEST} at most')
    return file


def read_mesh(file: Path) -> Any:
    """Return a mesh (`trimesh.Trimesh`, m) with its own colours, or raise `ArgumentError`.

    Its metadata say under `y_up` whether the file calls y the axis that is up.
    """
    import trimesh  # noqa: PLC0415 (it comes with viser, and takes its time)

    data, kind = file.read_bytes(), file.suffix.lower()
    try:
        check_unfolded(data, kind)
        scene: Any = trimesh.load_scene(io.BytesIO(data), file_type=kind[1:], resolver=None)
        placed = [scene.graph[name][1] for name in scene.graph.nodes_geometry]
        check_scene(len(placed), sum(len(getattr(scene.geometry[shape], 'faces', ())) for shape in placed))
        loaded: Any = scene.to_mesh()
    except ModuleNotFoundError as error:
        raise ArgumentError(f'{file.name}: {error.name} is not on this machine; pip install pycollada') from None
    except Exception as error:  # of a stranger's file, in four readers of others
        raise ArgumentError(f'{file.name} cannot be read: {str(error)[:100]}') from None
    if not len(getattr(loaded, 'faces', ())):
        raise ArgumentError(f'{file.name} has no faces')
    unit = UNIT.search(data[:20_000]) if kind == '.dae' else None
    if unit and 0 < float(unit[1]) < 1:
        loaded.apply_scale(float(unit[1]))
    loaded.metadata['y_up'] = bool(Y_UP.search(data[:20_000]))
    return loaded
