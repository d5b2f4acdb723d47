"""What the links of a URDF look like and collide as. A shape that cannot be read is passed over, with a warning."""

from __future__ import annotations

from xml.etree import ElementTree as ET

import numpy as np

from ..core.errors import Fault, fault
from .robot import Shape, ShapeKind
from .urdf_parts import place
from .xml_reading import Reader

_SIZES: dict[ShapeKind, tuple[tuple[str, int], ...]] = {
    'box': (('size', 3),),
    'cylinder': (('radius', 1), ('length', 1)),
    'capsule': (('radius', 1), ('length', 1)),
    'sphere': (('radius', 1),),
}
Color = tuple[float, ...]


class Looks:
    """The shapes of a URDF's links, in the colours that its materials have."""

    def __init__(self, root: ET.Element, warnings: list[Fault]) -> None:
        self._warnings = warnings
        self._reader = Reader()  # whose faults are only warnings
        self._named: dict[str, Color] = {}
        for material in root.findall('material'):
            self._color(material, 'materials')

    def of(self, link: ET.Element, name: str) -> tuple[tuple[Shape, ...], tuple[Shape, ...]]:
        """Return the visual and the collision shapes of a link."""
        kinds = [
            [self._shape(element, f'links.{name}.{kind}[{k}]') for k, element in enumerate(link.findall(kind))]
            for kind in ('visual', 'collision')
        ]
        visual, collision = (tuple(shape for shape in shapes if shape is not None) for shapes in kinds)
        return visual, collision

    def _shape(self, element: ET.Element, path: str) -> Shape | None:
        color = self._color(element.find('material'), path)
        position, rotation = place(self._reader, element, path)
        kind, size, mesh = self._geometry(element.find('geometry'), f'{path}.geometry')
        odd, self._reader.faults = self._reader.faults, []
        self._warnings += odd
        return None if odd or kind is None else Shape(kind, size, position, rotation, color, mesh)

    def _geometry(self, geometry: ET.Element | None, path: str) -> tuple[ShapeKind | None, tuple[float, ...], str]:
        shape = next(iter(() if geometry is None else geometry), None)
        if shape is None:
            return None, (), ''  # an empty one, or a shape of some simulator's own
        if shape.tag == 'mesh':
            scale = self._reader.numbers(shape, 'scale', 3, f'{path}.mesh', '1 1 1')
            return 'mesh', tuple(scale.tolist()), self._mesh(shape, path)
        kind = next((kind for kind in _SIZES if kind == shape.tag), None)
        if kind is None:
            return None, (), ''
        numbers = [self._reader.numbers(shape, key, count, f'{path}.{kind}') for key, count in _SIZES[kind]]
        size = np.concatenate(numbers)
        if (size < 0).any():
            self._reader.faults.append(fault(f'{path}.{kind}', size.tolist(), 'must not be negative'))
        return kind, tuple(size.tolist()), ''

    def _mesh(self, shape: ET.Element, path: str) -> str:
        file = shape.get('filename', '')
        if not file.strip():
            self._reader.faults.append(Fault(f'{path}.mesh.filename', 'missing', 'must be a file'))
        return file

    def _color(self, material: ET.Element | None, path: str) -> Color | None:
        """Return a material's colour, its own or that of its name; what is between 0 and 1 of it."""
        if material is None:
            return None
        name, color = material.get('name', ''), material.find('color')
        if color is None or 'rgba' not in color.attrib:
            return self._named.get(name)
        faults = len(self._reader.faults)
        rgba = self._reader.numbers(color, 'rgba', 4, f'{path}.material.color')
        if len(self._reader.faults) > faults:
            self._warnings.append(self._reader.faults.pop())
            return None
        found = tuple(np.clip(rgba, 0.0, 1.0).tolist())
        return self._named.setdefault(name, found) if name else found
