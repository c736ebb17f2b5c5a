"""What differs between two versions is told line by line."""

from __future__ import annotations

from templates.comparing import compare


def told(older: dict[str, str], newer: dict[str, str]) -> dict[str, list[str]]:
    return {
        difference.where: [f"{line.change} {line.text}" for line in difference.lines]
        for difference in compare(older, newer)
    }


def test_what_is_the_same_is_left_out():
    assert told({"a": "x", "b": "y"}, {"a": "x", "b": "y"}) == {}


def test_a_changed_line_is_shown_among_its_neighbours():
    assert told({"text": "Hello\nold\nBye"}, {"text": "Hello\nnew\nBye"}) == {
        "text": ["same Hello", "removed old", "added new", "same Bye"]
    }


def test_lines_far_from_any_change_are_a_gap():
    older = [str(number) for number in range(20)]
    newer = ["first", *older[1:-1], "last"]

    lines = told({"text": "\n".join(older)}, {"text": "\n".join(newer)})["text"]

    assert lines == [
        *("removed 0", "added first", "same 1", "same 2", "same 3", "gap "),
        *("same 16", "same 17", "same 18", "removed 19", "added last"),
    ]


def test_a_part_of_one_version_alone_is_added_or_removed_whole():
    assert told({"sms": "a\nb"}, {"push": "c"}) == {
        "push": ["added c"],
        "sms": ["removed a", "removed b"],
    }


def test_parts_of_a_channel_and_locale_come_together():
    older = {"email/en/subject": "a", "email/en/html": "b", "schema": "c"}
    newer = {"sms/en/text": "a", "email/en/mjml": "b", "schema": "d"}

    assert list(told(older, newer)) == [
        *("schema", "email/en/mjml", "email/en/subject", "email/en/html"),
        "sms/en/text",
    ]


def test_lines_that_look_like_those_of_a_diff_are_lines():
    assert told({"text": "@@ -1 +1 @@\n--- a"}, {"text": "+++ b"}) == {
        "text": ["removed @@ -1 +1 @@", "removed --- a", "added +++ b"]
    }
