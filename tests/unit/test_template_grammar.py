from __future__ import annotations

import subprocess
import sys

import pytest

from templates.grammar import MAX_NESTING, MAX_TAG, MAX_TEXT, TextRefused, check_text


@pytest.mark.parametrize(
    "text",
    [
        "no tag at all, 100 % { } # } }} %}",
        "Hello {{ name }}, {{- order.id -}} {{ order['the id'] }} {{ items[0].name }}",
        "{% if name is defined and not (paid or n >= 3) %}a{% elif n %}b{% endif %}",
        "{%- for item in items if item.n % 2 -%}{{ loop.index }}{% endfor %}",
        "{% for key, value in totals|dictsort %}{{ key }}: {{ value }}{% endfor %}",
        "{% for item in items %}a{% else %}none{% endfor %}",
        "{% set total = order.total %}{% set line %}{{ total }}{% endset %}{{ line }}",
        "{{ name|default('you', true)|upper|replace('A', \"}}\") }}",
        "{{ items|sort(attribute='name', reverse=true)|join(', ') }}",
        "{{ n is divisibleby(3) }}{{ n is not divisibleby(3) }}{{ n is not none }}",
        "{{ 'a' if state in ['paid', 'sent', -1, none] else 'b' }}{{ a ~ b }}",
        "{{ x.if }}{{ x.in[0] }}{{ name[1:3] }}{{ n - 1 }}{{ n // 2 }}",
        "{# a comment {{ with }} {% anything() %} #}{{ name }}",
        "{{ '{{' }} is how a literal brace is written {{ 'it\\'s' }}",
    ],
)
def test_what_templates_are_written_with_is_allowed(text: str) -> None:
    check_text(text)


@pytest.mark.parametrize(
    "text",
    [
        "{% include 'other' %}",
        "{% extends 'other' %}",
        "{% import 'other' as other %}",
        "{% macro m() %}{{ m() }}{% endmacro %}",
        "{% autoescape false %}{{ name }}{% endautoescape %}",
        "{% load i18n %}",
        "{% raw %}{{ name }}{% endraw %}",
        "{% filter upper %}a{% endfilter %}",
        "{% block a %}{% endblock %}",
        "{% debug %}",
        "{%%}",
        "{{ name|safe }}",
        "{{ name|escape }}",
        "{{ name|tojson }}",
        "{{ names|map('safe') }}",
        "{{ name|nosuchfilter }}",
        "{{ name is safe }}",
        "{{ name is not safe }}",
    ],
)
def test_statements_filters_and_tests_off_the_list_are_refused(text: str) -> None:
    """Bad input 43."""
    with pytest.raises(TextRefused, match="no such"):
        check_text(text)


@pytest.mark.parametrize(
    "text",
    [
        "{{ debug() }}",
        "{{ range(9) }}",
        "{{ items.append(1) }}",
        "{{ not items.pop(1) }}",
        "{{ not pop(1) }}",
        "{{ items.if(1) }}",
        "{{ items['pop'](1) }}",
        "{{ (items.pop)(1) }}",
        "{{ 'a'.format(1) }}",
        "{{ name|default(items.pop(1)) }}",
        "{% for i in items.pop(1) %}{% endfor %}",
        "{% if loop(items) %}{% endif %}",
        "{{ items\n.pop\n(1) }}",
    ],
)
def test_calls_are_refused(text: str) -> None:
    with pytest.raises(TextRefused, match="calls are not allowed"):
        check_text(text)


@pytest.mark.parametrize(
    "text",
    [
        "{{ [0] * 100000000 }}",
        "{{ items * 100000000 }}",
        "{{ items + items }}",
        "{{ 9 ** 9 }}",
        "{{ [items, items] }}",
        "{{ [[1], [1]] }}",
        "{% set a = items, items %}",
        "{% set a, b = items %}",
        "{{ (items, items) }}",
        "{% for a in items, items %}{% endfor %}",
        "{{ {'a': items} }}",
        "{{ name|trim(name) }}",
    ],
)
def test_nothing_that_builds_lists_or_takes_square_time_is_allowed(text: str) -> None:
    with pytest.raises(TextRefused):
        check_text(text)


@pytest.mark.parametrize(
    "text",
    [
        "{{ name",
        "{{ name %}",
        "{% if name }}",
        "{{ 'name }}",
        "{# name }}",
        "{{ (name }}",
        "{{ name) }}",
        "{{ items[1) }}",
        "{{ name $ }}",
        "{{ tên }}",
        "{{ _name }}",
        "{{ name.__class__ }}",
        "{{ ''.__class__ }}",
        "{{ 1e9 }}",
        "{{ 0x1f }}",
        "{{ name\N{NO-BREAK SPACE}}}",
    ],
)
def test_what_is_not_understood_is_refused(text: str) -> None:
    with pytest.raises(TextRefused):
        check_text(text)


def test_refusal_names_the_line() -> None:
    """Bad input 43."""
    with pytest.raises(TextRefused) as refused:
        check_text("Hello\n{{ name }}\n\n{{ name|safe }}")

    assert refused.value.line == 4


DEEP = {
    "text": "a" * (MAX_TEXT + 1),
    "tag": "{{ name" + " " * MAX_TAG + "}}",
    "ifs": "{% if a %}" * (MAX_NESTING + 1) + "{% endif %}" * (MAX_NESTING + 1),
    "nots": "{{ " + "not " * 10_000 + "a }}",
    "elifs": "{% if a %}" + "{% elif a %}" * MAX_NESTING + "{% endif %}",
    "sets": "{% set a %}" * (MAX_NESTING + 1) + "{% endset %}" * (MAX_NESTING + 1),
}


@pytest.mark.parametrize("text", DEEP.values(), ids=DEEP.keys())
def test_what_is_too_long_or_too_deep_is_refused(text: str) -> None:
    with pytest.raises(TextRefused):
        check_text(text)


def test_many_blocks_one_after_the_other_are_not_deep() -> None:
    check_text("{% if a %}{% elif b %}{% endif %}" * 100)


LONGEST_CHAINS = {
    "not": "{{ " + "not " * ((MAX_TAG - 8) // 4) + "a }}",
    "minus": "{{ " + "-" * (MAX_TAG - 8) + "a }}",
    "pipes": "{{ a" + "|d" * ((MAX_TAG - 8) // 2) + " }}",
    "members": "{{ a" + ".a" * ((MAX_TAG - 8) // 2) + " }}",
    "joined": "{{ a" + "~a" * ((MAX_TAG - 8) // 2) + " }}",
    "either": "{{ a" + " or a" * ((MAX_TAG - 8) // 5) + " }}",
    "branches": "{% if a %}" + "{% elif a %}" * (MAX_NESTING - 1) + "{% endif %}",
    "deep": ("{% if " + "-" * (MAX_TAG - 20) + "a %}") * MAX_NESTING
    + "{% endif %}" * MAX_NESTING,
}
# On the stack of an ordinary thread: 512 kB is what some servers give one.
COMPILE = """
import sys, threading
from minijinja import Environment, TemplateError
def compile(text):
    engine = Environment(undefined_behavior="strict", pycompat=False)
    try:
        engine.add_template("a", text)
        engine.undeclared_variables_in_template("a", True)
        engine.render_template("a", a=1)
    except TemplateError:
        pass
threading.stack_size(512 * 1024)
thread = threading.Thread(target=compile, args=[sys.stdin.read()])
thread.start()
thread.join()
"""


@pytest.mark.parametrize("text", LONGEST_CHAINS.values(), ids=LONGEST_CHAINS.keys())
def test_engine_survives_the_longest_chain_that_is_allowed(text: str) -> None:
    check_text(text)

    subprocess.run(
        [sys.executable, "-c", COMPILE], input=text.encode(), check=True, timeout=30
    )
