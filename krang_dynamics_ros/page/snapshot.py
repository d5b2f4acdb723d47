"""What the page is told at one moment, and the texts that it shows of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from textwrap import shorten
from typing import NamedTuple

from ..core.spatial import Array
from ..core.text import to_html
from ..core.wrench import Wrench

LEVELS = ('ok', 'warn', 'error', 'silent')


class Line(NamedTuple):
    """One line of the robot's health: a level of `LEVELS`, what it is about, and words."""

    level: str
    about: str
    words: str


class Load(NamedTuple):
    """What hangs on a hand, and what the dynamics node knows of, kg; None where nobody can say."""

    hung: float | None = None
    known_mass: float | None = None


@dataclass(frozen=True)
class LatestMessages:
    """What a robot's topics say at this moment. Vectors (n) are in the order of its joints; None is not known."""

    q: Array | None = None
    dq: Array | None = None
    torques: Mapping[str, Array | None] = field(default_factory=dict)  # by column of the bars
    readings: Mapping[str, Wrench] = field(default_factory=dict)  # of the wrist sensors, as they give them, by hand
    estimates: Mapping[str, Wrench] = field(default_factory=dict)  # of the same, told from the joints, in one sense


@dataclass(frozen=True)
class Snapshot:
    """What is known at this moment."""

    heard: LatestMessages = LatestMessages()
    terms: Sequence[str] | None = None  # of torque/total; None: no dynamics node
    health: Sequence[Line] = ()
    simulated: bool = False
    obeyed: bool = False  # whether a simulator's motors give torque/total
    loads: Mapping[str, Load] = field(default_factory=dict)  # by hand
    friction: str = ''  # what the simulator adds to that of the robot, in words


HEAD = 110  # characters of the coloured bar, below which all is said in full

SIMULATED = """
You see **{robot}**, simulated.{obeyed}{friction}

{tries}
"""

OBEYED = """ Its motors get `torque/total`: to begin with *gravity*, just what each joint needs to bear what hangs on
it. So the robot floats, and stays wherever you leave it."""

FRICTION = " Besides its own it has the simulator's friction, {friction} at every joint, or it would not stay for long."

WITH_HANDS = """
1. **Drag an orange ball.** You push that hand, and it yields as if it weighed nothing. With Ctrl, drag any link.
2. **Tick *wrench*** above and drag again. Now the sensor in the wrist is heard, and the hand holds against you.
3. **Hang a bag** on a hand, below: it sinks, for nobody knows. Tell the node, and it holds.
4. **Tick *what pushes it*** under *show*, and pull an elbow with Ctrl. The sensor in the wrist reads nothing, but the
   motors feel it: the column *external* ends at the joint that you pull.
5. **Untick *gravity*.** It falls (and through the floor: these equations know of none). Tick it, and press *Reset*.
"""

WITHOUT_HANDS = """
1. **Open *pose*** and move a slider: the robot stays where you put it, and the torques follow.
2. **Drag an orange ball**, or any link with Ctrl: you push it there. A click on a link marks its row.
3. **Untick *gravity*.** It falls. Tick it, and press *Reset*.
"""

REAL = """
You see **{robot}**, as its `joint_states` say, and what the dynamics node computes from them. There is no simulator
on this ROS domain, so you can look, but not push or pose.
"""

WAITING = """
Waiting for a robot: nobody publishes `robot_description` yet. Start the dynamics node, for example with

    make run
"""

BARS = """<p class="note">Torques in N m (N where a joint slides). The middle of a cell is zero, right of it is
positive; its edges are what the motor can give, and red is more than that. Point at the head of a column to read what
it is; click on a row to see its curve.</p>"""

LEVEL_COLORS = {'ok': '#15803d', 'warn': '#b45309', 'error': '#b91c1c', 'silent': '#64748b'}


def beat(number: int) -> str:
    """Return HTML that nobody sees; the page's script takes the server for gone if the number does not change."""
    return f'<i class="beat" data-beat="{number}"></i>'


def not_drawn(reasons: Sequence[str]) -> str:
    """Return HTML: which meshes are not drawn, and what to do."""
    if not reasons:
        return ''
    first = to_html(reasons[0])
    more = f' ({len(reasons) - 1} more)' if len(reasons) > 1 else ''
    return f'<p class="note">Not drawn: {first}{more}. Name the folder of its package by <code>mesh_folders</code>.</p>'


def intro(robot: str, now: Snapshot, *, hands: bool) -> str:
    """Return markdown: what one sees, and what to try. `robot` is its name, as Markdown."""
    if not now.simulated:
        return REAL.format(robot=robot)
    friction = FRICTION.format(friction=now.friction) if now.friction else ''
    tries = WITH_HANDS if hands else WITHOUT_HANDS
    return SIMULATED.format(robot=robot, obeyed=OBEYED if now.obeyed else '', friction=friction, tries=tries)


def health(lines: Sequence[Line]) -> str:
    """Return HTML: the worst line in a coloured bar, then all that are not fine, then the names of those that are."""
    worst = max(lines, key=lambda line: LEVELS.index(line.level))
    head = 'all is well' if worst.level == 'ok' else shorten(f'{worst.about}: {worst.words}', HEAD, placeholder=' …')
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
    return (
        f'<div class="health" data-level="{worst.level}">'
        f'<div class="head" style="background:{LEVEL_COLORS[worst.level]}">{to_html(head)}</div>'
        f'<div class="rows">{rows}</div></div>'
    )
