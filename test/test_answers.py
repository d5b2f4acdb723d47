"""What a newcomer finds: answers within two clicks from the README, the gallery, the notebook."""

from __future__ import annotations

import json
import re

import pytest
from PIL import Image

from docs import gallery, notebook

from .robots import ROOT

README = (ROOT / 'README.md').read_text()
FAQ = (ROOT / 'docs' / 'faq.md').read_text()
GALLERY = (ROOT / 'docs' / 'gallery.md').read_text()
QUESTIONS = {  # of users, and the word that their answer must have
    'rate': '1000 Hz', 'close a loop': 'ros2_control', 'node dies': 'zero', 'good error': '0.1', 'sign': 'effort_scale',
    'amperes': 'N m per ampere', 'payload': 'payload/<hand>', 'grippers': 'mimic', "link's axes": 'URDF',
    'floating': 'base_link',
    'compensate gravity': 'robot.adds', 'first joint zero': 'parallel', 'wrong masses': 'identification.md',
    'another library': 'krang check', 'distributions': 'Jazzy',
    'library alone': 'pip install .', 'cite': 'CITATION.cff',
}  # fmt: skip
PERMITTED = {'Apache-2.0', 'BSD', 'BSD-3-Clause'}


@pytest.mark.parametrize('question', QUESTIONS)
def test_a_question_has_its_answer_two_clicks_from_the_readme(question: str) -> None:
    assert '](docs/faq.md)' in README
    answers = dict(re.findall(r'^### (.*)\n((?:(?!#).*\n)*)', FAQ + '\n', re.MULTILINE))
    (answer,) = [text for title, text in answers.items() if question in title.lower()]
    assert QUESTIONS[question] in answer


def test_other_software_is_compared() -> None:
    rows = FAQ.split('## Other software')[1]
    for name in ('Pinocchio', 'KDL', 'inverse_dynamics_solver', 'franka_ros2', 'crisp_controllers'):
        assert re.search(rf'^\| \[?{name}', rows, re.MULTILINE), name


def test_the_gallery_has_ten_small_pictures_of_robots_that_may_be_shown() -> None:
    rows = re.findall(r'^\| !\[(.+)\]\(gallery/(\w+)\.webp\) \|.*\| ([\w.-]+) \|$', GALLERY, re.MULTILINE)
    assert [(title, name, licence) for title, name, licence in rows] == [
        (shown.title, name, shown.licence) for name, shown in gallery.GALLERY.items()
    ]
    assert len(rows) == 10
    assert {licence for *_, licence in rows} <= PERMITTED
    for _, name, _ in rows:
        path = ROOT / 'docs' / 'gallery' / f'{name}.webp'
        assert path.stat().st_size < 60_000
        with Image.open(path) as picture:
            assert picture.size == (gallery.SIDE, gallery.SIDE)
            assert len(picture.getcolors(1 << 20)) > 500  # more than a background


@pytest.mark.skipif(not gallery.ROBOTS.name, reason='pip install example-robot-data: there are no real robots here')
def test_a_robot_of_the_gallery_stays_where_it_is_held() -> None:
    result = gallery.held(gallery.GALLERY['panda'])
    assert result.drift < 1e-9
    assert f'{result.mass:.2f}' in GALLERY
    top = abs(result.torque).argmax()
    assert f'{result.robot.joint_names[top]}: {result.torque[top]:.2f} N m' in GALLERY


def test_the_notebook_runs_and_its_outputs_are_those_stored() -> None:
    stored = json.loads(notebook.FILE.read_text())
    assert (stored['nbformat'], stored['nbformat_minor']) == (4, 5)
    assert len({cell['id'] for cell in stored['cells']}) == len(stored['cells'])
    again = notebook.notebook()
    for old, new in zip(stored['cells'], again['cells'], strict=True):
        assert {**old, 'outputs': shown(old)} == {**new, 'outputs': shown(new)}, 'run `python -m docs.notebook`'
    assert 'image/svg+xml' in json.dumps(stored)
    assert notebook.FILE.stat().st_size < 30_000


def shown(cell: dict[str, object]) -> str:
    """Return the outputs of a cell without the figure, whose last digits differ from machine to machine."""
    return re.sub(r'<svg.*</svg>', '', json.dumps(cell.get('outputs', [])))
