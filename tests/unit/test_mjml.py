"""MJML becomes HTML, and template tags come through it whole and in their places."""

from __future__ import annotations

import pytest

from templates.grammar import TextRefused
from templates.mjml import compile_mjml


def mjml(body: str, head: str = "") -> str:
    return f"""<mjml>
<mj-head>{head}</mj-head>
<mj-body><mj-section><mj-column>
{body}
</mj-column></mj-section></mj-body>
</mjml>"""


def refused(source: str) -> tuple[int, str]:
    with pytest.raises(TextRefused) as refusal:
        compile_mjml(source)
    return refusal.value.line, str(refusal.value)


def test_mjml_becomes_html_for_mail_programs():
    html = compile_mjml(mjml("<mj-text>Hello</mj-text>"))

    assert html.lower().startswith("<!doctype html>")
    assert "<!--[if mso | IE]>" in html
    assert ">Hello</div>" in html
    assert "<mj" not in html


@pytest.mark.parametrize(
    "tag",
    [
        "{{ name }}",
        '{{ name|default("O\'Brien & <Sons>") }}',
        "{{ 'a' if n < 3 and n > 1 else 'b' }}",
        "{{-\n  name\n-}}",
        '{{ "}}{%" }}',
    ],
)
def test_tags_in_texts_and_values_are_left_as_they_were_written(tag: str):
    html = compile_mjml(
        mjml(
            f"<mj-text>Hi {tag}!</mj-text>"
            f"<mj-button href='https://example.com/{tag}?a=1&amp;b={tag}'>Go</mj-button>"
            f'<mj-image src="{tag}" alt="of {tag}" />'
        )
    )

    assert f">Hi {tag}!</div>" in html
    assert f'href="https://example.com/{tag}?a=1&amp;b={tag}"' in html
    assert f'src="{tag}"' in html
    assert f'alt="of {tag}"' in html


def test_quotes_between_tags_of_a_value_do_not_end_it():
    html = compile_mjml(mjml("""<mj-image src="x" alt='{{ a }} "and" {{ b }}' />"""))

    assert 'alt="{{ a }} &quot;and&quot; {{ b }}"' in html


def test_loop_over_rows_stays_around_them():
    """HTML takes no text between rows: parsers put it before the table."""
    loop = (
        "{% for item in items %}"
        '<tr class="row {% if item.odd %}odd{% endif %}"><td>{{ item.name }}</td></tr>'
        "{% endfor %}"
    )
    inlined = '<mj-style inline="inline">td { color: red }</mj-style>'

    plain = compile_mjml(mjml(f"<mj-table>{loop}</mj-table>"))
    styled = compile_mjml(mjml(f"<mj-table>{loop}</mj-table>", inlined))

    assert loop in plain
    red = loop.replace("<td>", '<td style="color: red;">')
    assert f"<tbody>{red}</tbody>" in styled


def test_loops_and_conditions_go_around_sections_columns_and_texts():
    html = compile_mjml(
        "<mjml><mj-body>{% for a in b %}<mj-section>{% if a.wide %}<mj-column>"
        "{% if a.text %}<mj-text>{{ a.text }}</mj-text>{% else %}<mj-raw>"
        "{% for row in a.rows %}<tr><td>{{ row }}</td></tr>{% endfor %}</mj-raw>"
        "{% endif %}</mj-column>{% endif %}</mj-section>{% endfor %}</mj-body></mjml>"
    )

    in_order = [
        *("{% for a in b %}", "<div ", "{% if a.wide %}", "<td ", "{% if a.text %}"),
        *("<tr>", "{{ a.text }}", "</tr>", "{% else %}", "{% for row in a.rows %}"),
        *("<tr>", "{{ row }}", "</tr>", "{% endfor %}", "{% endif %}", "</table>"),
        *("{% endif %}", "</table>", "{% endfor %}", "</body>"),
    ]
    at = 0
    for piece in in_order:
        at = html.index(piece, at) + len(piece)


def test_variables_set_styles_defaults_and_titles():
    head = (
        "<mj-title>{{ title }}</mj-title><mj-preview>{{ preview }}</mj-preview>"
        '<mj-attributes><mj-all color="{{ color }}" /></mj-attributes>'
        "<mj-style>.a { color: {{ accent }} }</mj-style>"
    )

    html = compile_mjml(mjml("<mj-text>a</mj-text><mj-text>b</mj-text>", head))

    assert "<title>{{ title }}</title>" in html
    assert ">{{ preview }}</div>" in html
    assert html.count("color:{{ color }};") == 2
    assert ".a { color: {{ accent }} }" in html


def test_comments_of_the_template_are_for_its_authors():
    html = compile_mjml(mjml("<mj-text>{# TODO: <b> #}Hello</mj-text>"))

    assert "TODO" not in html


def test_text_that_looks_like_our_words_is_left_alone():
    html = compile_mjml(mjml("<mj-text>zq0z {{ a }} ZQQ0z</mj-text>"))

    assert "zq0z {{ a }} ZQQ0z" in html


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("<mj-include path='/etc/passwd' />", "<mj-include> is no element"),
        ("<mj-nothing />", "<mj-nothing> is no element"),
        ("<mj-text><mj-image src='x' /></mj-text>", "no place in mj-text"),
        ("<mj-text>a</mj-table>", "</mj-table> ends what was not begun"),
        ("<mj-text {% if a %}color='red'{% endif %}>a</mj-text>", "within the value"),
        ("<mj-text color='{% if a %}'>a{% endif %}</mj-text>", "end where it begins"),
        ("<mj-text color='{% endif %}'>a</mj-text>", "begins elsewhere"),
        ("<mj-image src='x' width='{{ width }}' />", "{{ width }} would be lost"),
        ("<mj-text>{{ a</mj-text>", "the tag does not end"),
    ],
)
def test_what_would_break_is_refused_where_it_stands(body: str, message: str):
    line, said = refused(mjml(f"<mj-text>{{{{\nfine }}}}</mj-text>\n{body}"))

    assert message in said
    assert line == 6


@pytest.mark.parametrize(
    "source", ["", "Hello", "<p>Hello</p>", "<mjml>", "<mjml></mj-body></mjml>"]
)
def test_what_is_no_mjml_is_refused(source: str):
    refused(source)


def test_icons_that_the_compiler_would_lose_are_refused_where_they_are():
    source = (
        "<mjml><mj-head><mj-attributes>\n"
        '<mj-accordion-element icon-height="24px" />\n'
        "</mj-attributes></mj-head><mj-body></mj-body></mjml>"
    )

    with pytest.raises(TextRefused, match="set on mj-accordion") as refused:
        compile_mjml(source)

    assert refused.value.line == 2
    compile_mjml(source.replace("mj-accordion-element", "mj-accordion"))


def test_what_inlining_would_move_out_of_its_block_is_refused():
    """A column is a table: HTML shows a bare paragraph before it, condition or not."""
    style = '<mj-style inline="inline">p { color: red }</mj-style>'
    raw = "<mj-raw>{% if late %}<p>Late fee</p>{% endif %}</mj-raw>"

    _, said = refused(mjml(raw, style))

    assert said.startswith("here a mail program reads <p>")


def test_elements_nested_too_deep_do_not_end_the_process():
    deep = "<b>" * 20_000 + "</b>" * 20_000

    _, said = refused(mjml(f"<mj-text>{deep}</mj-text>"))

    assert said == "no sound HTML: elements nested more than 100 deep"
