from __future__ import annotations

import pytest

from preferences.keywords import Keyword, Reading, read_keyword

STOP = Reading(Keyword.STOP)
ASK = Reading(Keyword.STOP, is_certain=False)


@pytest.mark.parametrize(
    "text",
    [
        *("stop", "STOP", "  STOP ", "Stop.", "“Stop”", "'stop'!"),
        "ＳＴＯＰ",  # noqa: RUF001
        *("S T O P", "s.t.o.p", "st\u200bop", "stop\n", "🛑 STOP 🛑", "StopAll"),
        *("stop all", "Unsubscribe", "OPT-OUT", "opt out", "END", "quit", "cancel"),
    ],
)
def test_the_bare_word_stops_however_it_is_typed(text: str) -> None:
    """O-SMS-2, bad input 100."""
    assert read_keyword(text, languages=[]) == STOP


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("ARRET", "fr"),
        ("ARRÊT", "fr"),
        ("Arre\u0302t", "fr"),
        ("HUY", "vi"),
        ("HỦY", "vi"),
        ("Từ chối", "vi"),
        ("TC", "vi"),
        ("dừng", "vi"),
        ("Abmelden", "de"),
        ("BAJA", "es"),
        ("sair", "pt"),
    ],
)
def test_words_of_a_language_hold_where_the_tenant_speaks_it(
    text: str, language: str
) -> None:
    """O-SMS-2, bad input 100."""
    assert read_keyword(text, languages=[language]) == STOP
    assert read_keyword(text, languages=["ja"]) is None


@pytest.mark.parametrize("text", ["STOP 12345", "stop 38383", "HUY 8088"])
def test_the_number_it_was_sent_to_may_stand_behind_it(text: str) -> None:
    """O-SMS-2"""
    assert read_keyword(text, languages=["vi"]) == STOP


@pytest.mark.parametrize(
    "text",
    [
        *("Stop. Thank you", "please stop", "Please STOP!!", "stop texting me"),
        *("Stop it", "can you stop", "xin dừng lại"),
    ],
)
def test_a_stop_among_few_words_goes_before_a_person(text: str) -> None:
    """O-SMS-2: never silently dropped."""
    assert read_keyword(text, languages=["vi"]) == ASK


@pytest.mark.parametrize(
    "text",
    [
        "Count me in! We have got to STOP this",
        "The bus stop is closed today, which one do I take?",
        "nonstop",
        "Stopwatch",
        "cancellation",
        "ok",
        "thank you",
        "",
        "   ",
        "🙂",
        "12345",
        "yes please, and start soon",
        "help me with my order 12",
    ],
)
def test_talk_asks_for_nothing(text: str) -> None:
    """O-SMS-2"""
    assert read_keyword(text, languages=["vi", "fr"]) is None


@pytest.mark.parametrize(
    ("text", "keyword"),
    [
        ("START", Keyword.START),
        ("unstop", Keyword.START),
        ("Yes", Keyword.START),
        ("đăng ký", Keyword.START),
        ("ĐK", Keyword.START),
        ("HELP?", Keyword.HELP),
        ("trợ giúp", Keyword.HELP),
    ],
)
def test_start_and_help_are_known_by_the_whole_message(
    text: str, keyword: Keyword
) -> None:
    """O-SMS-2"""
    assert read_keyword(text, languages=["vi"]) == Reading(keyword)
