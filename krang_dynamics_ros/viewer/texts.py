"""What the page says."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from .snapshot import LEVELS, Line

SIMULATED = """
You see **{robot}**, simulated. Its motors get `torque/total`, which the dynamics node computes from the joints' angles
alone. To begin with that is *gravity*: just what each joint needs to bear what hangs on it. So the robot floats:
it stays wherever you leave it.

**Try this**

{tries}

Left: what each joint's motor must give, term by term. Point at a name to read more.
"""

WITH_HANDS = """
1. **Drag an orange ball.** You push that hand, and it yields as if it weighed nothing.
2. **Tick *wrench*** below and drag again. Now the sensor in the wrist is heard, and the hand holds against you.
3. **Untick *gravity*.** It falls (and through the floor: these equations know of none). Tick it, and press *Reset*.
"""

WITHOUT_HANDS = """
1. **Open *pose*** below and move a slider: the robot stays where you put it, and the torques follow.
2. **Untick *gravity*.** It falls. Tick it, and press *Reset*.
"""

REAL = """
You see **{robot}**, as its `joint_states` say, and what the dynamics node computes from them. There is no simulator
on this ROS domain, so you can look, but not push or pose.
"""

WAITING = """
Waiting for a robot: nobody publishes `robot_description` yet. Start the dynamics node, for example with

    make run
"""

BARS = """<p style="font:12px/1.4 system-ui,sans-serif;color:#888;padding:0 4px">
Torques in N m (N where a joint slides). The middle of a cell is zero, right of it is positive; its edges are what the
motor can give, and red is more than that. <i>Total</i> is what the motors are told.</p>"""

COLORS = {'ok': '#15803d', 'warn': '#b45309', 'error': '#b91c1c', 'silent': '#64748b'}


def health(lines: Sequence[Line]) -> str:
    """Return HTML: the worst line in a coloured bar, then all of them."""
    worst = max(lines, key=lambda line: LEVELS.index(line.level))
    head = 'all is well' if worst.level == 'ok' else f'{worst.about}: {worst.words}'
    rows = ''.join(
        f'<div><span style="color:{COLORS[line.level]}">&#9679;</span> <b>{escape(line.about)}</b>: '
        f'{escape(line.words)}</div>'
        for line in lines
    )
    return (
        f'<div class="health" data-level="{worst.level}" style="font:13px/1.5 system-ui,sans-serif">'
        f'<div style="background:{COLORS[worst.level]};color:white;border-radius:4px;padding:4px 10px;margin:4px 0">'
        f'{escape(head)}</div><div style="padding:0 10px">{rows}</div></div>'
    )
