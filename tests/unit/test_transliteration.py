"""A text message in the basic alphabet: all of it, or nothing is touched."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from providers.channels import Channel
from providers.sms_text import Alphabet, measure
from templates.rendering import Rendered, RenderOptions, render
from templates.transliteration import Replacement, transliterate
from tests.factories.templates import pinned_version

VIETNAMESE = (
    "áàảãạăắằẳẵặâấầẩẫậéèẻẽẹêếềểễệíìỉĩịóòỏõọôốồổỗộơớờởỡợúùủũụưứừửữựýỳỷỹỵđ"
    "ÁÀẢÃẠĂẮẰẲẴẶÂẤẦẨẪẬÉÈẺẼẸÊẾỀỂỄỆÍÌỈĨỊÓÒỎÕỌÔỐỒỔỖỘƠỚỜỞỠỢÚÙỦŨỤƯỨỪỬỮỰÝỲỶỸỴĐ"
)


def text_of(text: str, **variables: str) -> Rendered:
    """Render a text message of a tenant whose messages are transliterated."""
    return render(
        pinned_version({Channel.SMS: {"en": {"text": text}}}),
        channel=Channel.SMS,
        locale="en",
        variables=variables,
        options=RenderOptions(transliterates_sms=True),
    )


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("Đơn hàng của bạn đang đến", "Don hàng cua ban dang den"),
        ("Mã của bạn là 482913", "Ma cua ban là 482913"),
        ("Giá 125.000\u00a0₫", "Gia 125.000 d"),
        ("Votre code d\u2019accès", "Votre code d'accès"),
        ("\u201cHello\u201d \u2013 she said\u2026", '"Hello" - she said...'),
        ("Mit besten Grüßen\u200c, Ihr Team.", "Mit besten Grüßen, Ihr Team."),
        ("Zażółć gęślą jaźń", "Zazolc gesla jazn"),
        ("fac\u0327ade", "facade"),
        ("½ € for Œuvre", "½ € for Œuvre"),
        ("one\ttwo", "one two"),
    ],
)
def test_letters_are_written_without_what_the_basic_alphabet_lacks(text, written):
    assert transliterate(text).text == written


def test_every_vietnamese_letter_has_a_stand_in():
    assert measure(transliterate(VIETNAMESE).text).alphabet is Alphabet.GSM7


def test_what_was_replaced_is_told_with_its_place():
    """O-SMS-1"""
    assert transliterate("à đ\u2026").replacements == (
        Replacement(position=2, character="đ", replacement="d"),
        Replacement(position=3, character="\u2026", replacement="..."),
    )
    assert transliterate("Grüße für 5 €").replacements == ()


@pytest.mark.parametrize(
    "text",
    [
        "Đơn hàng 🎉",
        "Đơn hàng 订单",
        "Замовлення đ",
        "1\ufe0f\u20e3 đ",
        "10\u00b2 đ",
        "\u200b",
        "`đ",
    ],
)
def test_a_text_with_a_letter_that_cannot_be_written_stays_as_it_is(text):
    assert transliterate(text).text == text
    assert transliterate(text).replacements == ()


@pytest.mark.parametrize(
    "link",
    [
        "https://shop.vn/đơn",
        "shop.vn/đơn",
        "https://cà-phê.vn",
        "shop.vn?q=đơn",
    ],
)
def test_a_link_stays_as_it_is_and_its_text_with_it(link):
    assert transliterate(f"Xem đơn: {link}").replacements == ()


def test_what_stands_beside_a_link_is_no_part_of_it():
    written = transliterate("Xem \u201chttps://shop.vn/1\u201d \u2013 đ").text

    assert written == 'Xem "https://shop.vn/1" - d'


def test_no_text_takes_more_segments_than_before():
    assert transliterate("\u2026" * 70).replacements == ()


@given(st.text(VIETNAMESE + "abc .,\u2019\u201c\u2026\u200b🎉中€[^"))
def test_all_of_a_text_is_replaced_or_nothing(text):
    written = transliterate(text)
    before, after = measure(text), measure(written.text)

    assert after.segments <= before.segments
    if written.replacements:
        assert after.alphabet is Alphabet.GSM7
        told = [(each.position, each.character) for each in written.replacements]
        assert told == list(before.forcing)
    else:
        assert written.text == text


def test_a_text_message_is_rendered_so_where_its_tenant_wants_it():
    rendered = text_of("Chào {{ name }}", name="Đặng")

    assert rendered.parts == {"text": "Chào Dang"}
    assert [each.character for each in rendered.replacements] == ["Đ", "ặ"]


def test_without_the_tenants_wish_nothing_is_touched():
    """O-SMS-1: never silently."""
    version = pinned_version({Channel.SMS: {"en": {"text": "đ\u200c\u2019"}}})

    rendered = render(version, channel=Channel.SMS, locale="en", variables={})

    assert rendered.parts == {"text": "đ\u200c\u2019"}
    assert rendered.replacements == ()


def test_only_text_messages_are_transliterated():
    contents = {Channel.PUSH: {"en": {"title": "Đơn", "body": "đ"}}}

    rendered = render(
        pinned_version(contents),
        channel=Channel.PUSH,
        locale="en",
        variables={},
        options=RenderOptions(transliterates_sms=True),
    )

    assert rendered.parts == {"title": "Đơn", "body": "đ"}


def test_a_word_that_would_become_a_link_keeps_its_marks():
    rendered = text_of("Tối nay: {{ dish }}", dish="ăn.cơm")

    assert rendered.parts == {"text": "Tối nay: ăn.cơm"}
    assert rendered.replacements == ()


def test_a_text_that_would_become_longer_than_it_may_stays_as_it_is():
    text = "\u2026" * 300 + "đ" * 900

    assert transliterate(text).replacements
    assert text_of(text).parts == {"text": text}
