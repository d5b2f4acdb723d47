"""The effort limits of a URDF."""

from __future__ import annotations

import math
from xml.etree import ElementTree as ET


def effort_limits(urdf: str) -> dict[str, float]:
    """Return by joint the largest effort (N m, N) that a URDF gives; none where it is zero, or no number."""
    limits = {}
    for joint in ET.fromstring(urdf).findall('joint'):  # noqa: S314 (it was read before, and taken)
        limit = joint.find('limit')
        try:
            effort = float(limit.get('effort', 0)) if limit is not None else 0.0
        except ValueError:
            continue
        if effort > 0 and math.isfinite(effort):
            limits[joint.get('name', '')] = effort
    return limits
