"""The data that the page shows, and its texts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from ..core.spatial import Array
from ..core.text import to_html
from ..core.wrench import Wrench
from ..dynamics.terms import COMMON
from .guiding import GuidingState

LEVELS = ('ok', 'warn', 'error', 'silent')


class Line(NamedTuple):
    """A line of diagnostics: a level of `LEVELS`, its subject, and a message."""

    level: str
    about: str
    words: str


class Load(NamedTuple):
    """Mass on a hand in the simulator, and payload in the dynamics node, kg; None: unknown."""

    hung: float | None = None
    known_mass: float | None = None
    zeroed: str = ''  # result of the last request to zero its sensor


@dataclass(frozen=True)
class LatestMessages:
    """Latest data from the topics of a robot. Vectors (n) are in the order of its joints; None: unknown."""

    q: Array | None = None
    dq: Array | None = None
    torques: Mapping[str, Array | None] = field(default_factory=dict)  # by column of the bars
    readings: Mapping[str, Wrench] = field(default_factory=dict)  # by hand: uncorrected, as the WORLD applies them
    estimates: Mapping[str, Wrench] = field(default_factory=dict)  # by hand: estimated from the joints, likewise


@dataclass(frozen=True)
class Snapshot:
    """All data of the page at a time."""

    latest: LatestMessages = LatestMessages()
    terms: Sequence[str] | None = None  # of torque/total; None: no dynamics node
    health: Sequence[Line] = ()
    simulated: bool = False
    obeyed: bool = False  # whether the simulator subscribes to torque/total
    loads: Mapping[str, Load] = field(default_factory=dict)  # by hand
    mode: str = ''  # of the simulator: driven, braked, slack, paused, broken; empty: not known
    friction: str = ''  # friction that the simulator adds, as text
    guiding: GuidingState = field(default_factory=GuidingState)
    possible_terms: Sequence[str] = COMMON  # those that can be other than zero


SIMULATED = """
You see **{robot}**, simulated.{obeyed}{friction}
"""

OBEYED = """ Its motors get `torque/total`: to begin with *gravity*, just what each joint needs to bear what hangs on
it. So the robot floats, and stays wherever you leave it."""

FRICTION = " Besides its own it has the simulator's friction, {friction} at every joint, or it would not stay for long."

REAL = """
You see **{robot}**, as its `joint_states` say, and what the dynamics node computes from them. There is no simulator
on this ROS domain, so you can look, but not push or pose.
"""

WAITING = """
Waiting for a robot: no node publishes `robot_description` yet. Start the dynamics node, for example with

    make run
"""

BARS = """<p class="note">Torques in N m (N where a joint slides). The middle of a cell is zero, right of it is
positive; its edges are what the motor can give, and red is more than that. Point at the head of a column to read what
it is; click on a row to see its curve.</p>"""

LEVEL_COLORS = {'ok': '#15803d', 'warn': '#b45309', 'error': '#b91c1c', 'silent': '#64748b'}


def beat(number: int, robot: str = '', *, rings: bool = False) -> str:
    """Return hidden HTML for the page's script: the robot's name, and whether rings of torque are shown.

    The script takes the server for gone if the number does not change.
    """
    legend = ' data-rings' if rings else ''
    return f'<i class="beat" data-beat="{number}" data-robot="{to_html(robot)}"{legend}></i>'


def not_drawn(reasons: Sequence[str]) -> str:
    """Return HTML about meshes that are not drawn, and the remedy."""
    if not reasons:
        return ''
    first = to_html(reasons[0])
    more = f' ({len(reasons) - 1} more)' if len(reasons) > 1 else ''
    remedy = 'by <code>mesh_folders</code> in the arm file, or by <code>make run MESHES=folder</code>'
    return f'<p class="note">Not drawn: {first}{more}. Name the folder of its package {remedy}.</p>'


def intro(robot: str, now: Snapshot) -> str:
    """Return the introduction of the page as Markdown. `robot` is the name of the robot, as Markdown."""
    if not now.simulated:
        return REAL.format(robot=robot)
    friction = FRICTION.format(friction=now.friction) if now.friction else ''
    return SIMULATED.format(robot=robot, obeyed=OBEYED if now.obeyed else '', friction=friction)


ODDITIES = 'robot description'  # a status that stays as long as the node runs


def health(lines: Sequence[Line], fine: str = '') -> str:
    """Return HTML of a coloured bar that keeps its height: the worst line, and how many more are not fine.

    `fine` is the text where all is well, by default that it is.
    """
    odd = [line for line in lines if line.about == ODDITIES and line.level == 'warn']
    now = [line for line in lines if line not in odd]
    worst = max(now, key=lambda line: LEVELS.index(line.level))
    more = sum(line.level != 'ok' for line in now) - 1
    words = f'{worst.about}: {worst.words}' + (f' (and {more} more, at the end of this panel)' if more > 0 else '')
    well = (fine or 'all is well') + ('; the robot description has oddities, see the end of this panel' if odd else '')
    head = well if worst.level == 'ok' else words
    return (
        f'<div class="health" data-level="{worst.level}" title="{to_html(head)}">'
        f'<div class="head" style="background:{LEVEL_COLORS[worst.level]}">{to_html(head)}</div></div>'
    )


def diagnostics(lines: Sequence[Line]) -> str:
    """Return HTML of all lines that are not fine, and the names of those that are."""
    rows = ''.join(
        f'<div><span style="color:{LEVEL_COLORS[line.level]}">&#9679;</span> <b>{to_html(line.about)}</b>: '
        f'{to_html(line.words)}</div>'
        for line in lines
        if line.level != 'ok'
    )
    fine = ', '.join(
        f'<span title="{to_html(line.words)}">{to_html(line.about)}</span>' for line in lines if line.level == 'ok'
    )
    rows += f'<div><span style="color:{LEVEL_COLORS["ok"]}">&#9679;</span> {fine}</div>' if fine else ''
    return f'<div class="rows">{rows}</div>'
