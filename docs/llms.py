"""Sphinx extension: llms.txt at the root of the site, for language models (llmstxt.org).

It is made of the pages themselves when they are built: their titles, their first sentences, and the
order of the tables of contents. Pages written in Markdown are linked as Markdown.
"""

import re
from pathlib import Path

from docutils import nodes


def setup(app):
    app.add_config_value("llms_as_html", [], "env", list)  # pages whose source is elsewhere
    app.connect("build-finished", write)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def write(app, exception):
    """Write the file, unless the build failed or makes no pages."""
    if exception is not None or app.builder.format != "html":
        return
    env = app.env
    root = env.config.root_doc
    lines = [f"# {_title(env, root)}", "", f"> {_begins(env, root)}"]
    for part in env.toctree_includes[root]:
        lines += ["", f"## {_title(env, part)}", ""]
        lines += [_line(env, page) for page in _pages(env, part)]
    (Path(app.outdir) / "llms.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")


def _pages(env, name):
    """A page and those below it, but the single names of the reference."""
    yield name
    for below in env.toctree_includes.get(name, ()):
        if not below.startswith("generated/"):
            yield from _pages(env, below)


def _line(env, name):
    markdown = env.doc2path(name).suffix == ".md" and name not in env.config.llms_as_html
    place = f"_sources/{name}.md.txt" if markdown else f"{name}.html"
    return f"- [{_title(env, name)}]({place}): {_begins(env, name)}"


def _title(env, name):
    return env.titles[name].astext()


def _begins(env, name):
    """The first sentence of the first paragraph."""
    paragraph = next(iter(env.get_doctree(name).findall(_is_prose)), None)
    text = " ".join(paragraph.astext().split()) if paragraph is not None else ""
    return re.split(r"(?<=[.:?!]) (?=[A-Z`])", text)[0].rstrip(":")


def _is_prose(node):
    return isinstance(node, nodes.paragraph) and isinstance(node.parent, nodes.section)
