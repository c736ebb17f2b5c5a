from __future__ import annotations

import resource
import time
from collections import UserDict
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from minijinja import Markup

from providers.channels import Channel
from templates.parts import CHANNEL_PARTS, Kind
from templates.plain_json import NotPlain
from templates.rendering import (
    FailureReason,
    RenderFailed,
    compile_part,
    new_engine,
    render,
)
from templates.variables import check_variables
from tests.factories.templates import in_app_version, pinned_version


def body(template: str, **variables: Any) -> str:
    rendered = render(
        in_app_version(template),
        channel=Channel.IN_APP,
        locale="en",
        variables=variables,
    )
    return rendered.parts["body"]


def failure(template: str, **variables: Any) -> RenderFailed:
    with pytest.raises(RenderFailed) as failed:
        body(template, **variables)
    return failed.value


def test_numbers_are_written_as_they_are_and_money_as_text() -> None:
    written = body("{{ n }} {{ f }} {{ money }}", n=3, f=1.5, money="1.10")

    assert written == "3 1.5 1.10"


@pytest.mark.parametrize(
    "template",
    ["\n{{ nme }}", "\n{{ order.nme }}", "\n{% if nme %}{% endif %}", "\n{{ none }}"],
)
def test_what_is_not_there_is_never_printed(template: str) -> None:
    """O-TPL-1: no blank and no placeholder in a message."""
    failed = failure(template, order={"name": "An"})

    assert failed.reason is FailureReason.UNDEFINED_VARIABLE
    assert failed.part == "body"


def test_null_is_not_printed_but_can_be_asked_about() -> None:
    """O-TPL-1."""
    assert failure("{{ note }}", note=None).reason == "undefined_variable"
    assert body("{% if note %}{{ note }}{% else %}none{% endif %}", note=None) == "none"


def test_default_of_the_schema_stands_in() -> None:
    """O-TPL-1."""
    schema = {"properties": {"greeting": {"type": "string", "default": "Hello"}}}
    contents = {Channel.SMS: {"en": {"text": "{{ greeting }}"}}}
    version = pinned_version(contents, schema=schema)

    rendered = render(version, channel=Channel.SMS, locale="en", variables={})

    assert rendered.parts == {"text": "Hello"}


def test_failure_names_the_place_and_no_value() -> None:
    failed = failure("Hello\n{{ secret - 1 }}", secret="0912345678")

    assert str(failed) == "invalid_operation in body, line 2"
    assert failed.__cause__ is None


BOMBS = {
    "nested loops": "{% for a in l %}{% for b in l %}{{ x }}{% endfor %}{% endfor %}",
    "empty loops": "{% for a in l %}{% for b in l %}{% endfor %}{% endfor %}",
    "replace": "{% set y = x|replace('a', x) %}{{ y }}",
    "join": "{{ l|join(x) }}",
    "joined": "{% set y = x" + " ~ x" * 90 + " %}{% set z = y" + " ~ y" * 90 + " %}",
    "captured": "{% set y %}" + "{{ x }}" * 99 + "{% endset %}" + "{{ y }}" * 99,
    "indent": "{{ lines|indent(9000) }}",
    "url": "{% set y = x" + "|urlencode" * 40 + " %}{{ y }}",
} | {
    # The whole of a list is gone through each time, at no cost in fuel.
    each: "{% for a in l %}{% for b in l %}{% set c = WHOLE %}{% endfor %}{% endfor %}"
    "".replace("WHOLE", each)
    for each in (
        "-1 in l",
        "l in x",
        "x in x",
        "x == y",
        "l == m and l <= m",
        "l|string",
        "l|first ~ l|last",
        "l|capitalize",
        "l|indent",
        "x|join(l)",
        "l|sort|unique",
        "l[::-1]",
        "rows|unique",
        "rows|max",
        "rows|groupby('a')",
        "rows in rows",
        "d|dictsort",
        "d|items",
        "x|upper|title|trim|length",
        "x|split('')",
    )
}
VARIABLES: dict[str, Any] = {
    "x": "a b" * 2_500,
    "y": "a b" * 2_500 + "c",
    "lines": "\n" * 3_000,
    "l": [1] * 500,
    "m": [1] * 499 + [2],
    "rows": [{"a": number} for number in range(300)],
    "d": {str(number): number for number in range(300)},
}


def test_bombs_are_made_of_variables_that_are_accepted() -> None:
    schema = {"additionalProperties": True}

    assert check_variables(schema=schema, variables=VARIABLES) == []


@pytest.mark.parametrize("template", BOMBS.values(), ids=BOMBS.keys())
def test_template_that_eats_the_server_is_stopped(template: str) -> None:
    """O-TPL-5, bad input 44, 45."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    started = time.process_time()

    failed = failure(template, **VARIABLES)

    assert failed.reason in {FailureReason.OUT_OF_FUEL, FailureReason.TOO_LARGE}
    assert time.process_time() - started < 2
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 64 * 1024


@pytest.mark.parametrize(
    "template",
    [
        "{% include 'body.txt' %}",
        "{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}",
        "{% for a in l recursive %}{{ loop(l) }}{% endfor %}",
        "{{ 'a' * 1000000000 }}",
        "{{ [0] * 1000000000 }}",
        "{{ " + "not " * 100_000 + "x }}",
        "{{ debug() }}",
        "{{ l.append(1) }}",
    ],
)
def test_text_that_was_never_checked_does_not_reach_the_engine(template: str) -> None:
    """O-TPL-5, bad input 43, 44: should one get past approval all the same."""
    variables: dict[str, Any] = {"l": [1], "x": 1}

    failed = failure(template, **variables)

    assert failed.reason is FailureReason.SYNTAX
    assert variables == {"l": [1], "x": 1}


@pytest.mark.parametrize("channel", Channel)
def test_every_part_has_a_limit_to_its_length(channel: Channel) -> None:
    """Bad input 46, 49."""
    for name, part in CHANNEL_PARTS[channel].parts.items():
        parts = dict.fromkeys(CHANNEL_PARTS[channel].required, "Hello")
        parts[name] = "{% for i in l %}{{ x }}{% endfor %}"
        version = pinned_version({channel: {"en": parts}})
        value = "a" * 100
        times = part.max_characters // 100 + 1

        with pytest.raises(RenderFailed) as failed:
            render(
                version,
                channel=channel,
                locale="en",
                variables={"x": value, "l": [1] * times},
            )

        assert failed.value.reason is FailureReason.TOO_LARGE
        assert failed.value.part == name


@pytest.mark.parametrize("name", ["safe", "escape", "e", "tojson", "pprint", "map"])
def test_engine_has_no_filter_that_switches_escaping_off(name: str) -> None:
    engine = new_engine(locale="en")

    with pytest.raises(RuntimeError, match="unknown filter"):
        engine.render_str(f"{{{{ 'a'|{name} }}}}")


@pytest.mark.parametrize("name", ["debug", "range", "dict", "namespace"])
def test_engine_has_no_functions(name: str) -> None:
    engine = new_engine(locale="en")
    text = compile_part(engine, part="body", kind=Kind.TEXT, text=f"{{{{ {name} }}}}")

    with pytest.raises(RuntimeError, match="undefined"):
        engine.render_template(text)


@pytest.mark.parametrize(
    "value",
    [Markup("<b>"), {"a": object()}, [UserDict()], (1,), b"a", float("nan")],
    ids=lambda value: type(value).__name__,
)
def test_anything_but_plain_json_is_a_bug_of_the_caller(value: object) -> None:
    with pytest.raises(NotPlain):
        body("{{ value }}", value=value)


@pytest.mark.parametrize("name", ["self", "template_name", "name", "loop", "caller"])
def test_variable_may_have_any_name(name: str) -> None:
    assert body(f"{{{{ {name} }}}}", **{name: "An"}) == "An"


def test_threads_render_the_same_version_at_once() -> None:
    version = in_app_version("{% for a in l %}{{ a }}{% endfor %} {{ name }}")

    def work(number: int) -> str:
        variables = {"l": ["a", "b", "c"], "name": str(number)}
        return render(
            version, channel=Channel.IN_APP, locale="en", variables=variables
        ).parts["body"]

    with ThreadPoolExecutor(8) as threads:
        bodies = list(threads.map(work, range(2_000)))

    assert bodies == [f"abc {number}" for number in range(2_000)]
