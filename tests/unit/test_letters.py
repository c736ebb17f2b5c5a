"""What of an e-mail is made at approval, and what it then says."""

from __future__ import annotations

from typing import Any

import pytest

from providers.channels import Channel
from templates.grammar import TextRefused
from templates.letters import make_letter
from templates.rendering import render
from tests.factories.templates import pinned_version

MJML = """<mjml><mj-head>
<mj-preview>Order {{ id }}</mj-preview>
<mj-style>.sku { color: red }
@media (max-width: 480px) { .sku { color: blue } }</mj-style>
</mj-head><mj-body>
{% for line in lines %}
<mj-section><mj-column>
<mj-text>Item <span class="sku">{{ line.sku|default("<none>") }}</span></mj-text>
{% if line.parts %}
<mj-table>
{% for part in line.parts %}<tr><td>{{ part }}</td></tr>{% endfor %}
</mj-table>
{% endif %}
</mj-column></mj-section>
{% endfor %}
<mj-section><mj-column>
<mj-button href="https://example.com/{{ id|urlencode }}?a=1&amp;b=2">See it</mj-button>
</mj-column></mj-section>
</mj-body></mjml>"""


def made(**parts: str) -> dict[str, str]:
    letter = make_letter({"subject": "Hi", **parts})
    assert letter is not None
    return letter


def rendered(variables: dict[str, Any], **parts: str) -> dict[str, str]:
    version = pinned_version({Channel.EMAIL: {"en": made(**parts)}})
    return render(
        version, channel=Channel.EMAIL, locale="en", variables=variables
    ).parts


def refused(html: str) -> tuple[int, str]:
    with pytest.raises(TextRefused) as refusal:
        make_letter({"subject": "Hi", "html": html})
    return refusal.value.line, str(refusal.value)


def test_mjml_is_sent_as_html_and_text_that_say_the_same():
    variables = {
        "id": "A 7",
        "lines": [{"sku": "A&B", "parts": ["x", "y"]}, {"parts": []}],
    }

    parts = rendered(variables, mjml=MJML)

    assert parts.keys() == {"subject", "html", "text"}
    assert '<span class="sku" style="color: red;">A&amp;B</span>' in parts["html"]
    assert "@media (max-width: 480px)" in parts["html"]
    assert 'href="https://example.com/A%207?a=1&amp;b=2"' in parts["html"]
    assert parts["text"] == (
        "Item A&B\n\nx\ny\nItem <none>\n\n[See it](https://example.com/A%207?a=1&b=2)"
    )


def test_a_loop_that_turns_never_leaves_the_letter_whole():
    parts = rendered({"id": "7", "lines": []}, mjml=MJML)

    assert "Item" not in parts["html"]
    assert parts["text"] == "[See it](https://example.com/7?a=1&b=2)"


def test_text_that_the_author_wrote_is_kept():
    assert made(mjml=MJML, text="Own")["text"] == "Own"


def test_html_without_styles_is_sent_as_it_was_written():
    html = "<P CLASS=a>{{ a }}<br/>&nbsp;"

    assert make_letter({"subject": "Hi", "html": html, "text": "Own"}) is None
    assert made(html=html) == {"subject": "Hi", "html": html, "text": "{{ a }}"}


def test_a_letter_of_text_alone_is_sent_as_it_was_written():
    assert make_letter({"subject": "Hi", "text": "Hello"}) is None


def test_styles_are_inlined_and_kept_for_classes_that_a_variable_names():
    html = (
        "<style>.a { color: red } .b { color: blue }</style>"
        '<p class="a">1</p><p class="{% if x %}b{% else %}a{% endif %}">2</p>'
    )

    letter = made(html=html)["html"]

    assert '<p class="a" style="color: red;">1</p>' in letter
    assert '<p class="{% if x %}b{% else %}a{% endif %}">2</p>' in letter
    assert ".b { color: blue }" in letter


def test_loop_over_rows_begins_and_ends_in_the_same_body():
    row = "{% for a in b %}<tr><td>{{ a }}</td></tr>{% endfor %}"
    body = "{% for a in b %}<tbody><tr><td>{{ a }}</td></tr></tbody>{% endfor %}"
    style = "<style>p { color: red }</style>"

    assert (
        f"<table><tbody>{row}</tbody></table>"
        in made(html=f"{style}<table>{row}</table>")["html"]
    )
    assert (
        f"<table>{body}</table>" in made(html=f"{style}<table>{body}</table>")["html"]
    )


def test_no_stylesheet_is_loaded(tmp_path):
    sheet = tmp_path / "a.css"
    sheet.write_text("p { color: red }")
    links = "".join(
        f'<link rel="stylesheet" href="{href}">'
        for href in (sheet, sheet.as_uri(), "http://127.0.0.1:9/a.css")
    )

    letter = made(html=f"{links}<style>b {{ color: blue }}</style><p>1</p>")["html"]

    assert "<p>1</p>" in letter


def test_text_keeps_links_lists_and_entities_and_escapes_nothing():
    html = (
        "<h1>Hello &amp; welcome</h1><ul><li>1. one</li><li>- two</li></ul>"
        '<p>caf&eacute; <a href="https://example.com/(a)?b&amp;c={{ c }}">here</a></p>'
        '<a href="{{ home }}"><img src="x" alt="Home"></a>'
    )

    assert made(html=html)["text"].splitlines() == [
        "# Hello & welcome",
        "",
        "  * 1. one",
        "  * - two",
        "",
        "café [here](https://example.com/(a)?b&c={{ c }})",
        "",
        "[Home]({{ home }})",
    ]


def test_links_of_images_that_say_nothing_are_left_out_of_the_text():
    html = (
        '<a href="https://example.com/(a)"><img src="x"></a>'
        '<a href="{{ url }}"><img src="y" alt=""></a> <a href="{{ url }}">Here</a>'
    )

    assert made(html=html)["text"] == "[Here]({{ url }})"


@pytest.mark.parametrize(
    ("html", "message"),
    [
        ("<table>{{ a }}<tr><td>1</td></tr></table>", "reads {{ a }} before <table>"),
        ("<table>{% if a %}<p>1</p>{% endif %}<tr><td></table>", "before <table>"),
        ("{% if a %}<div>{% endif %}1{% if a %}</div>{% endif %}", "another element"),
        ("{% if a %}<b>{% else %}<i>{% endif %}1", "another element"),
        ("<p {% if a %}id='b'{% endif %}>1</p>", "within the value of an attribute"),
        ("<style>{% if a %}p { }{% endif %}</style>", "may not stand in a style"),
        ("<![<p>", "no sound HTML"),
    ],
)
def test_what_inlining_would_break_is_refused_where_it_stands(html: str, message: str):
    line, said = refused(f"<style>p {{ color: red }}</style>{{{{\na }}}}{html}")

    assert message in said
    assert line in (1, 2)


def test_elements_nested_too_deep_do_not_end_the_process():
    line, said = refused("<style>p {}</style>{{\na }}\n" + "<b>" * 30_000)

    assert line == 3

    assert said == "no sound HTML: elements nested more than 100 deep"


@pytest.mark.parametrize(
    "html",
    ["&#123;{{ a }}", "&#123;&#123; b }}", "{<b></b>{{ a }}", "{<b></b>% if c %}"],
)
def test_braces_that_were_no_tag_never_become_one(html: str):
    for source in (f"<p>{html}</p>", f"<style>p {{}}</style><p>{html}</p>"):
        line, said = refused(f"\n{source}")

        assert said == "braces begin a tag here: print them"
        assert line in (1, 2)
