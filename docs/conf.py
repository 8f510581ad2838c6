"""How Sphinx makes the documentation: ``make docs``. Nothing it writes needs a network, nor the making of it.

What stands on a page as ``<!-- made: NAME ARGUMENT -->`` is written there by a function of ``made.py``.
"""

import os
import re
import sys
import tempfile
from pathlib import Path
from typing import Any

from docutils import nodes
from docutils.utils.math.latex2mathml import tex2mathml
from pygments.lexers.special import TextLexer
from sphinx.application import Sphinx
from sphinx.util.math import get_node_equation_number

sys.path.insert(0, str(Path(__file__).parent))

import made

import clairvoyant

project, author, copyright = "Clairvoyant", "The Clairvoyant authors", "The Clairvoyant authors"  # noqa: A001
version = release = clairvoyant.__version__

extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
exclude_patterns = ["**.ipynb_checkpoints"]
suppress_warnings = ["config.cache"]  # the functions below are part of the configuration

# Figures of the cells are SVG, also where nobody has imported pyplot.
kernels = tempfile.TemporaryDirectory()
os.environ["IPYTHONDIR"] = kernels.name
settings = Path(kernels.name, "profile_default", "ipython_kernel_config.py")
settings.parent.mkdir()
settings.write_text("c.IPKernelApp.matplotlib = 'inline'\nc.InlineBackend.figure_formats = {'svg'}\n")
# Pages take no results from a store of the user, and do not wait for who writes to it.
os.environ["CLAIRVOYANT_STORE"] = str(Path(kernels.name, "store.sqlite"))

# Pages whose code runs each time; the tutorials hold their outputs, which `make notebooks` compares.
nb_execution_mode = "force"
nb_execution_in_temp = True
nb_execution_excludepatterns = ["tutorials/*"]
nb_execution_raise_on_error = True
nb_execution_timeout = 300
nb_output_stderr = "remove"
nb_merge_streams = True
myst_enable_extensions = ["dollarmath", "amsmath", "deflist", "colon_fence"]
myst_heading_anchors = 3

autodoc_member_order = "bysource"
autodoc_typehints = "description"
autodoc_typehints_description_target = "documented"
napoleon_google_docstring = False

html_theme = "pydata_sphinx_theme"
html_title = "Clairvoyant"
html_static_path = ["static"]
html_css_files = ["pages.css"]
html_show_sourcelink = False
html_math_renderer = "mathml"
html_sidebars = {
    name: [] for name in ("start", "concepts", "choosing", "gallery", "glossary", "faq", "changelog")
}
html_theme_options = {
    "header_links_before_dropdown": 7,
    "show_nav_level": 2,
    "navbar_end": ["theme-switcher"],
    "navbar_persistent": ["search-button"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "secondary_sidebar_items": ["page-toc"],
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}


ACCENTED = re.compile(
    r'<munderover>\s*(<mi>[^<]*</mi>)\s*(.*?)\s*<mo stretchy="false">([^<]*)</mo>\s*</munderover>', re.DOTALL
)
"""An accented letter with an index, as docutils has it: the index below the letter."""


def mathml(tex: str, block: bool = False) -> str:
    """Return a formula in MathML, the index of an accented letter beside it."""
    beside = r'<msub><mover accent="true">\1<mo stretchy="false">\3</mo></mover>\2</msub>'
    written: str = ACCENTED.sub(beside, tex2mathml(tex, as_block=block))
    return written


def show_math(writer: Any, node: nodes.math) -> None:
    """Write a formula within a line in MathML, which browsers show by themselves."""
    writer.body.append(mathml(node.astext()))
    raise nodes.SkipNode


def show_equation(writer: Any, node: nodes.math_block) -> None:
    """Write an equation of its own in MathML, with its number if it has one."""
    writer.body.append(writer.starttag(node, "div", CLASS="math"))
    if node["number"]:
        writer.body.append(f'<span class="eqno">({get_node_equation_number(writer, node)})</span>')
    writer.body.append(mathml(node.astext(), block=True) + "</div>")
    raise nodes.SkipNode


def write_made(_app: Sphinx, _name: str, source: list[str]) -> None:
    """Put on a page what is made for it."""
    source[0] = made.fill(source[0])


def write_bars(_app: Sphinx, _what: str, _name: str, _one: Any, _options: Any, lines: list[str]) -> None:
    """Keep bars such as those of |L| in docstrings; reStructuredText takes them for substitutions."""
    for i, line in enumerate(lines):
        parts = line.split("``")
        lines[i] = "``".join(
            part if n % 2 else re.sub(r"\|(?=\w|$)", r"\|", part) for n, part in enumerate(parts)
        )


def setup(app: Sphinx) -> None:
    """Connect the functions above."""
    app.add_html_math_renderer("mathml", (show_math, None), (show_equation, None))
    for table in ("csv", "swf"):
        app.add_lexer(table, TextLexer)
    app.connect("source-read", write_made)
    app.connect("autodoc-process-docstring", write_bars)
