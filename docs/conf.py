"""How the site is built: ``sphinx-build -W --keep-going docs build/site``, without a network."""

import os
import re
import sys
from importlib.metadata import version as version_of
from pathlib import Path

os.environ.setdefault("MPLBACKEND", "Agg")  # the scripts of the gallery open no window

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "docs"))  # for llms.py and stories.py

project = "aucmax"
author = "The aucmax developers"
project_copyright = author
version = release = version_of("aucmax")

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
    "sphinx_gallery.gen_gallery",
    "sphinx_copybutton",
    "llms",
]

# ---- pages in Markdown -------------------------------------------------------------------

myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 4
myst_links_external_new_tab = False

# Pages whose text stands at the root of the repository.
AT_THE_ROOT = {"contributing": "CONTRIBUTING.md", "changelog": "CHANGELOG.md"}
llms_as_html = list(AT_THE_ROOT)
smartquotes = False  # "auto" is a value, to be copied as it stands


def _as_on_the_site(app, docname, source):
    """Pages link as in the repository, where they can be read, too; here links stay on the site."""
    text = source[0]
    if docname in AT_THE_ROOT:
        text = (ROOT / AT_THE_ROOT[docname]).read_text(encoding="utf-8")
        app.env.note_dependency(str(ROOT / AT_THE_ROOT[docname]))
        text = text.replace("](docs/", "](")
    for page, file in AT_THE_ROOT.items():
        text = re.sub(rf"\]\((\.\./)?{file}", f"]({page}.md", text)
    # directives stand in comments, which the repository's view does not show
    text = re.sub(r"^<!--\n(:::\{.+?\n:::)\n-->$", r"\1", text, flags=re.DOTALL | re.MULTILINE)
    text = text.replace("](../examples/README.rst)", "](auto_examples/index.rst)")
    source[0] = re.sub(r"\]\(\.\./examples/(\w+)\.py\)", r"](auto_examples/\1.rst)", text)


# ---- the reference -----------------------------------------------------------------------

autosummary_generate = True
default_role = "py:obj"  # a name in backticks leads to its page, if it has one
autodoc_typehints = "none"  # docstrings tell the types
autodoc_member_order = "bysource"
templates_path = ["templates"]
numpydoc_show_class_members = False
toc_object_entries_show_parents = "hide"


def _as_in_a_page(app, what, name, item, options, lines):
    """Equations, set deeper than the text before them, stay as they are; pages become links."""
    lines[:] = [re.sub(r"\bdocs/(\w+)\.md", r":doc:`/\1`", line) for line in lines]
    for i in range(len(lines) - 1, 1, -1):
        above = next((line for line in reversed(lines[: i - 1]) if line.strip()), "")
        before = len(above) - len(above.lstrip())
        here = len(lines[i]) - len(lines[i].lstrip())
        if lines[i].strip() and not lines[i - 1].strip() and here > before:
            lines[i - 1 : i] = ["", " " * before + "::", ""]


def _only_ours(app, what, name, member, skip, options):
    """Methods that a class has from scikit-learn are told by its own documentation."""
    module = getattr(getattr(member, "fget", member), "__module__", None)
    return True if module is not None and not module.startswith("aucmax") else None


# ---- the gallery -------------------------------------------------------------------------

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "auto_examples",
    "abort_on_example_error": True,
    "download_all_examples": False,
    "show_signature": False,
    "write_computation_times": False,
    "within_subsection_order": "stories.Order",
    "doc_module": ("aucmax",),
    "backreferences_dir": "generated/backreferences",
}

# ---- how it looks ------------------------------------------------------------------------

html_theme = "pydata_sphinx_theme"
html_title = "aucmax"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_show_sourcelink = False
html_theme_options = {
    "navbar_align": "left",
    "header_links_before_dropdown": 7,
    "secondary_sidebar_items": {"**": ["page-toc"], "which": []},
    "footer_start": ["copyright"],
    "footer_end": [],
}
html_sidebars = {page: [] for page in ("index", "get_started", "glossary")}


def setup(app):
    app.connect("source-read", _as_on_the_site)
    app.connect("autodoc-skip-member", _only_ours)
    app.connect("autodoc-process-docstring", _as_in_a_page, priority=400)  # before numpydoc
