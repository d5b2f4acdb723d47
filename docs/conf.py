"""Settings of Sphinx, for `make docs`, Read the Docs and rosdoc2. Nothing is fetched while it builds."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

project = 'krang_dynamics_ros'
author = 'krang_dynamics_ros maintainers'
copyright = author  # noqa: A001 (Sphinx's name)
extensions = ['myst_parser', 'sphinx.ext.autodoc', 'sphinx.ext.napoleon']
html_theme = 'furo'
html_title = project
exclude_patterns = ['_build']

myst_heading_anchors = 3
default_role = 'literal'  # `q` in a docstring is code

autodoc_member_order = 'bysource'
autodoc_typehints = 'none'  # units and shapes are in the docstrings
autodoc_default_options = {'inherited-members': True}
napoleon_use_rtype = False
napoleon_use_ivar = True
