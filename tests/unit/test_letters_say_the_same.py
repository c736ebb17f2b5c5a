"""Whatever is written: a letter is refused, or says what its source says."""

from __future__ import annotations

from html.parser import HTMLParser
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from minijinja import TemplateError

from templates.grammar import TextRefused
from templates.letters import make_letter
from templates.rendering import new_engine

TEXTS = st.lists(
    st.sampled_from(
        [
            *("Hi ", "{{ a }}", "{% if p %}", "{% else %}", "{% endif %}", "&amp;"),
            *("{% for x in y %}", "{{ x }}", "{% endfor %}", "<b>", "</b>", "<p>"),
            *("</p>", "<div class='k'>", "</div>", "<a href='{{ a }}'>", "</a>"),
            *('<a href="u?{% if p %}1{% else %}{{ a }}{% endif %}">', "<table>"),
            *("<tr>", "<td>", "</td>", "</tr>", "</table>", "<ul>", "<li>", "</ul>"),
            *("<br>", "{# c #}", "<span style='color: {{ a }}'>", "</span>", "<i>"),
            *("<tbody>", "</tbody>", "<th>", "{{ q|default('<b>') }}", "<select>"),
        ]
    ),
    max_size=10,
).map("".join)
STYLE = "<style>.k { color: red } td { margin: 0 } p { padding: 1px }</style>"
VARIABLES: list[dict[str, Any]] = [
    {"a": "A", "p": p, "y": y} for p in (False, True) for y in ([], ["1", "2"])
]


_STYLES, _LINKS = {"style", "mj-style"}, {"a", "mj-button"}


class _Said(HTMLParser):
    """Reads what a person is told, and where links lead."""

    def __init__(self) -> None:
        super().__init__()
        self.texts: list[str] = []
        self.links: list[str | None] = []
        self._unseen = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._unseen += tag in _STYLES
        if tag in _LINKS:
            self.links += (value for name, value in attrs if name == "href")

    def handle_endtag(self, tag: str) -> None:
        self._unseen -= tag in _STYLES and self._unseen > 0

    def handle_data(self, data: str) -> None:
        if not self._unseen:
            self.texts += data.split()


def said(html: str) -> tuple[str, list[str | None]]:
    reader = _Said()
    reader.feed(html)
    reader.close()
    return "".join(reader.texts), reader.links


def check(name: str, source: str) -> None:
    engine = new_engine(locale="en")
    try:
        engine.add_template("source.html", source)
        made = make_letter({"subject": "Hi", name: source})
    except (TemplateError, TextRefused):
        return
    assert made is not None
    engine.add_template("made.html", made["html"])
    engine.add_template("made.txt", made["text"])
    for variables in VARIABLES:
        try:
            wanted = engine.render_template("source.html", **variables)
        except TemplateError:
            continue
        assert said(engine.render_template("made.html", **variables)) == said(wanted)
        engine.render_template("made.txt", **variables)


@settings(max_examples=300)
@given(TEXTS)
def test_html_says_the_same_with_its_styles_inlined(text: str):
    check("html", f"{STYLE}{text}")


@st.composite
def mjml(draw: st.DrawFn) -> str:
    def block(content: str) -> str:
        around = draw(st.sampled_from(["", "if p", "for x in y"]))
        end = around.partition(" ")[0]
        return f"{{% {around} %}}{content}{{% end{end} %}}" if around else content

    row = f"<tr><td>{draw(TEXTS)}</td></tr>"
    column = draw(
        st.sampled_from(
            [
                f"<mj-text css-class='k'>{block(draw(TEXTS))}</mj-text>",
                f"<mj-table>{block(row)}</mj-table>",
                f"<mj-raw>{block(row)}</mj-raw>",
                f"<mj-button href='{{{{ a }}}}'>{draw(TEXTS)}</mj-button>",
            ]
        )
    )
    section = block(f"<mj-column>{block(column)}</mj-column>")
    inline = draw(st.sampled_from(["", ' inline="inline"']))
    return (
        f"<mjml><mj-head><mj-style{inline}>td {{ color: red }}</mj-style></mj-head>"
        f"<mj-body>{block(f'<mj-section>{section}</mj-section>')}</mj-body></mjml>"
    )


@settings(max_examples=300)
@given(mjml())
def test_mjml_says_the_same_as_html(source: str):
    check("mjml", source)
