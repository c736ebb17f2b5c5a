"""What people answer to text messages: STOP, START and HELP, as they are typed.

The words are those that carriers and providers act upon themselves (Twilio's and AWS's
lists, the TC of Vietnam's Decree 91/2020), in the languages of the tenant; the English
ones hold everywhere, since phones and carriers suggest them.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from enum import StrEnum


class Keyword(StrEnum):
    """What somebody asks for.

    STOP is a legal opt-out from the sender's text messages. START takes back a STOP and
    nothing else: no complaint, no other channel. HELP changes nothing.
    """

    STOP = "stop"
    START = "start"
    HELP = "help"


@dataclass(frozen=True, slots=True)
class Reading:
    """A keyword; one that is not certain goes before a person, who decides."""

    keyword: Keyword
    is_certain: bool = True


# As _plain_words leaves them: small letters without marks, one space between.
_WORDS: Mapping[str, Mapping[Keyword, frozenset[str]]] = {
    "en": {
        Keyword.STOP: frozenset(
            {
                *("stop", "stop all", "stopall", "unsubscribe", "end", "quit"),
                *("cancel", "revoke", "opt out", "optout", "opt-out", "remove"),
            }
        ),
        Keyword.START: frozenset({"start", "unstop", "yes"}),
        Keyword.HELP: frozenset({"help", "info"}),
    },
    "de": {
        Keyword.STOP: frozenset({"stopp", "abmelden", "abbestellen"}),
        Keyword.START: frozenset({"anmelden"}),
        Keyword.HELP: frozenset({"hilfe"}),
    },
    "es": {
        Keyword.STOP: frozenset({"alto", "baja", "parar", "cancelar"}),
        Keyword.START: frozenset({"alta"}),
        Keyword.HELP: frozenset({"ayuda"}),
    },
    "fr": {
        Keyword.STOP: frozenset({"arret", "arreter", "desabonner"}),
        Keyword.START: frozenset({"reprendre"}),
        Keyword.HELP: frozenset({"aide"}),
    },
    "pt": {
        Keyword.STOP: frozenset({"parar", "sair", "cancelar"}),
        Keyword.START: frozenset({"iniciar"}),
        Keyword.HELP: frozenset({"ajuda"}),
    },
    "vi": {
        Keyword.STOP: frozenset({"huy", "dung", "tc", "tu choi", "ngung"}),
        Keyword.START: frozenset({"dang ky", "dk", "bat dau"}),
        Keyword.HELP: frozenset({"tro giup", "tg"}),
    },
}
_POLITE = frozenset(
    {
        *("please", "pls", "plz", "thanks", "thank", "you", "thx", "ok"),
        *("bitte", "danke", "por", "favor", "gracias", "merci", "svp", "obrigado"),
        *("xin", "vui", "long", "cam", "on", "lam"),
    }
)
# A longer message is talk: "We have got to STOP this" asks for nothing.
_FEW_WORDS = 4
# U+0111, the one Vietnamese letter that does not come apart into letter and mark.
_DASHED_D = str.maketrans("đ", "d")


def read_keyword(text: str, *, languages: Collection[str]) -> Reading | None:
    """Return what an inbound message asks for, None if it is no keyword.

    `languages` are the tenant's (`vi`, `fr`). The whole message must be the word, in
    any case, with or without marks, punctuation, quotes and emoji; digits behind it, as
    in STOP 12345, are the number that it was sent to. A few words around a STOP make it
    uncertain; around a START or a HELP, nothing.
    """
    words = _plain_words(text)
    while len(words) > 1 and words[-1].isdigit():
        words.pop()
    whole = " ".join(words)
    known = _known_words(languages)
    if whole in known:
        return Reading(known[whole])
    return Reading(Keyword.STOP, is_certain=False) if _may_stop(words, known) else None


def _known_words(languages: Collection[str]) -> dict[str, Keyword]:
    return {
        word: keyword
        for language in ("en", *languages)
        for keyword, words in _WORDS.get(language, {}).items()
        for word in words
    }


def _may_stop(words: list[str], known: Mapping[str, Keyword]) -> bool:
    """Tell whether a short message has a STOP at either end, politeness left out."""
    wanted = [word for word in words if word not in _POLITE]
    if not wanted or len(wanted) > _FEW_WORDS:
        return False
    heads = {" ".join(wanted[:count]) for count in (1, 2)}
    tails = {" ".join(wanted[-count:]) for count in (1, 2)}
    return any(known.get(each) is Keyword.STOP for each in heads | tails)


def _plain_words(text: str) -> list[str]:
    """Take off what is no letter or digit, marks and invisible characters too, and put
    letters together that were typed apart."""
    decomposed = unicodedata.normalize("NFKD", text).casefold().translate(_DASHED_D)
    letters = "".join(
        each
        for each in decomposed
        if unicodedata.category(each) != "Cf" and not unicodedata.combining(each)
    )
    words = re.findall(r"[^\W_]+(?:-[^\W_]+)*", letters)
    if len(words) > 1 and all(len(word) == 1 for word in words):
        return ["".join(words)]
    return words
