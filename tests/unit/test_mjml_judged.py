"""The reference compiles MJML to the same HTML (npm mjml)."""

from __future__ import annotations

from itertools import zip_longest
from pathlib import Path

from templates.mjml import compile_mjml
from tests import judges
from tests.judges.markup import differ, read

SOURCES = sorted((Path(__file__).parents[1] / "data" / "mjml").glob("*.mjml"))


def test_compiled_mjml_is_that_of_the_reference() -> None:
    """Lengths may differ by a pixel: one rounds a third of a width, one does not."""
    sources = [path.read_text("utf-8") for path in SOURCES]
    assert len(sources) >= 10
    judged = judges.ask("mjml.js", sources)

    differing = [
        (path.name, ours, theirs)
        for path, source, html in zip(SOURCES, sources, judged, strict=True)
        for ours, theirs in zip_longest(
            read(compile_mjml(source)), read(html), fillvalue=""
        )
        if differ(ours, theirs)
    ]

    assert differing == []


def test_what_reads_markup_tells_differences_that_are_seen() -> None:
    assert read('<p style="color:red; margin:0">a</p>') == read(
        "<p  style='margin: 0;color:red'>\n a</p>"
    )
    assert read("<p>a</p>") != read("<p>b</p>")
    assert read('<p style="color:red">a</p>') != read('<p style="color:blue">a</p>')
    assert read("<!--[if mso]><td><![endif]-->") != read(
        "<!--[if mso]><tr><![endif]-->"
    )
    assert not differ("<td width=136px>", "<td width=136.648px>")
    assert differ("<td width=136px>", "<td width=138px>")
