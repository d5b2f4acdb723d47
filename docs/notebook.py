"""Writes examples/notebook.ipynb, executed: python -m docs.notebook. It needs no Jupyter.

A cell is Markdown, or Python whose last line may be an expression: its value is shown, as Jupyter does.
"""

from __future__ import annotations

import ast
import contextlib
import io
import json
from pathlib import Path
from typing import Any

FILE = Path(__file__).parents[1] / 'examples' / 'notebook.ipynb'
VALUE = '_value'  # of the last line of a cell

CELLS = (
    ('markdown', """# Joint torques of a robot arm, and why they are right

Needs the library alone: `pip install .` in a clone. No ROS."""),
    ('code', """import numpy as np

from krang_dynamics_ros import Lagrangian, NewtonEuler, Wrench, dynamics_of, krang

robot = krang()  # or load_robot('my_arm.urdf')
dynamics = dynamics_of(robot)
print(f'{robot.name}: {robot.n} joints, {dynamics.mass:.1f} kg')"""),
    ('markdown', """## What holds the arm up

The left arm is stretched out forward. `Q` is the gravity torque; the limit is that of the robot file."""),
    ('code', """q = dynamics.vector({'q_2l': -np.pi / 2})
for joint, torque in zip(robot.moving_joints, dynamics.Q(q), strict=True):
    if abs(torque) > 1:
        print(f'{joint.name:8}{torque:9.2f} N m')"""),
    ('markdown', """A bag of 2 kg in the hand, as a wrench that the hand applies: up, in the axes of the base."""),
    ('code', """lift = dynamics.wrench_torque(q, [Wrench('R10l', force=(0, 0, 2 * 9.81), axes='R0')])
print(f'shoulder q_1l: {lift[robot.joint_names.index("q_1l")]:+.2f} N m more')"""),
    ('markdown', """## Three derivations, one number

Pinocchio from the URDF; the Lagrangian and recursive Newton-Euler from the robot's numbers alone.
They share no code."""),
    ('code', """rng = np.random.default_rng(1)
q, dq, ddq = rng.uniform(-1, 1, (3, robot.n))
torque = dynamics.inverse_dynamics(q, dq, ddq)
for witness in (Lagrangian(robot), NewtonEuler(robot)):
    difference = np.abs(witness.inverse_dynamics(q, dq, ddq) - torque).max()
    print(f'{type(witness).__name__:12} agrees to 1e-9 N m: {bool(difference < 1e-9)}')"""),
    ('markdown', """## A swing of shoulder and elbow, term by term

`q_1l` and `q_4l` swing by 0.5 rad, once a second. Each curve is one term of the torque of `q_1l`."""),
    ('code', """def swing(t, w=2 * np.pi):
    \"\"\"Return the terms of the torque of q_1l at a time (s).\"\"\"
    q, dq, ddq = dynamics.vector({'q_2l': -np.pi / 2}), np.zeros(robot.n), np.zeros(robot.n)
    for name, phase in (('q_1l', 0.0), ('q_4l', 1.5)):
        k = robot.joint_names.index(name)
        q[k] += 0.5 * np.sin(w * t + phase)
        dq[k], ddq[k] = 0.5 * w * np.cos(w * t + phase), -0.5 * w**2 * np.sin(w * t + phase)
    k = robot.joint_names.index('q_1l')
    terms = {'gravity': dynamics.Q(q), 'Coriolis': dynamics.coriolis_torque(q, dq), 'inertia': dynamics.A(q) @ ddq}
    return {term: torque[k] for term, torque in terms.items()}


times = np.linspace(0, 1, 101)
rows = [swing(t) for t in times]
curves = {term: np.array([row[term] for row in rows]) for term in rows[0]}
{term: f'{np.abs(torque).max():.1f} N m' for term, torque in curves.items()}"""),
    ('code', """class Figure:
    \"\"\"Curves over time as SVG; use matplotlib where you have it.\"\"\"

    def _repr_svg_(self):
        top = max(np.abs(torque).max() for torque in curves.values())
        parts = ['<line x1="40" y1="100" x2="590" y2="100" stroke="#bbb"/>']
        for k, (term, torque) in enumerate(curves.items()):
            color = ('#1f77b4', '#d62728', '#2a9d3a')[k]
            x, y = 40 + 550 * times, 100 - 90 * torque / top
            points = ' '.join(f'{a:.0f},{b:.1f}' for a, b in zip(x, y, strict=True))
            parts.append(f'<polyline points="{points}" fill="none" stroke="{color}" stroke-width="2"/>')
            parts.append(f'<text x="{60 + 110 * k}" y="215" fill="{color}">{term}</text>')
        parts.append(f'<text x="2" y="16">{top:.0f}</text><text x="2" y="104">0 N m</text>')
        parts.append('<text x="560" y="215">1 s</text>')
        inside = ''.join(parts)
        return f'<svg xmlns="http://www.w3.org/2000/svg" width="640" height="220" font-size="13">{inside}</svg>'


Figure()"""),
    ('markdown', """Next: `krang check my_arm.urdf` compares all quantities in this way; docs/library.md lists
all calls."""),
)  # fmt: skip


def executed() -> list[tuple[str, str, list[dict[str, Any]]]]:
    """Run all cells in one namespace; return kind, source and outputs of each."""
    names: dict[str, Any] = {}
    done = []
    for kind, source in CELLS:
        done.append((kind, source, outputs_of(source, names) if kind == 'code' else []))
    return done


def outputs_of(source: str, names: dict[str, Any]) -> list[dict[str, Any]]:
    """Run one cell; return its outputs in the notebook's format: what is printed, and the value of the last line."""
    tree, printed = ast.parse(source), io.StringIO()
    names[VALUE] = None
    if isinstance(last := tree.body[-1], ast.Expr):
        value = ast.Assign([ast.Name(VALUE, ast.Store())], last.value)
        tree.body[-1] = ast.fix_missing_locations(ast.copy_location(value, last))
    with contextlib.redirect_stdout(printed):
        exec(compile(tree, 'cell', 'exec'), names)  # noqa: S102 (the cells above)
    text = printed.getvalue()
    outputs: list[dict[str, Any]] = []
    if text:
        outputs.append({'output_type': 'stream', 'name': 'stdout', 'text': text.splitlines(keepends=True)})
    if (value := names[VALUE]) is not None:
        picture = getattr(value, '_repr_svg_', None)
        data = {'text/plain': ['Figure'], 'image/svg+xml': [picture()]} if picture else {'text/plain': [repr(value)]}
        outputs.append({'output_type': 'execute_result', 'data': data, 'metadata': {}})
    return outputs


def notebook() -> dict[str, Any]:
    """Return the notebook, in format 4.5."""
    cells: list[dict[str, Any]] = []
    count = 0
    for k, (kind, source, outputs) in enumerate(executed()):
        cell: dict[str, Any] = {
            'cell_type': kind,
            'id': f'cell{k}',
            'metadata': {},
            'source': source.splitlines(keepends=True),
        }
        if kind == 'code':
            count += 1
            numbered = [x | ({} if x['output_type'] == 'stream' else {'execution_count': count}) for x in outputs]
            cell |= {'execution_count': count, 'outputs': numbered}
        cells.append(cell)
    kernel = {'display_name': 'Python 3', 'language': 'python', 'name': 'python3'}
    metadata = {'kernelspec': kernel, 'language_info': {'name': 'python'}}
    return {'cells': cells, 'metadata': metadata, 'nbformat': 4, 'nbformat_minor': 5}


def main() -> None:
    """Write the notebook."""
    FILE.write_text(json.dumps(notebook(), indent=1, ensure_ascii=False) + '\n', encoding='utf-8')


if __name__ == '__main__':
    main()
