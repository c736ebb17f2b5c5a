"""Spreadsheets of people, as they really come."""

from __future__ import annotations

from collections.abc import Callable
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from preferences.models import Recipient
from preferences.recipients import read_recipient
from tenants.models import Tenant
from tests.factories.preferences import RecipientFactory
from tests.factories.tenants import TenantFactory

pytestmark = pytest.mark.usefixtures("db")
HEADER = "user_id,locale,time_zone,country,email,phone"


@pytest.fixture
def tenant() -> Tenant:
    return TenantFactory.create(slug="acme", default_region="VN")


@pytest.fixture
def load(tenant: Tenant, tmp_path: Path) -> Callable[..., tuple[str, str]]:
    """Import a file; return what was said of it and what of its rows."""

    def run(content: str | bytes, *options: str) -> tuple[str, str]:
        path = tmp_path / "people.csv"
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        said, complained = StringIO(), StringIO()
        try:
            call_command(
                "import_recipients",
                str(path),
                "--tenant=acme",
                *options,
                stdout=said,
                stderr=complained,
            )
        except CommandError as refused:
            said.write(str(refused))
        return said.getvalue().strip(), complained.getvalue()

    return run


def emails(tenant: Tenant) -> dict[str, str | None]:
    return {
        name: read_recipient(tenant_id=tenant.pk, user_id=name).email
        for name in Recipient.objects.values_list("user_id", flat=True)
    }


def test_a_file_out_of_a_spreadsheet_is_read_for_what_it_is(tenant, load):
    """O-CAM-3: a mark in front, semicolons, what copying leaves, blank lines."""
    file = (
        "\ufeffUser ID;Locale;time-zone;COUNTRY;E_mail;Phone;\r\n"
        "usr_4;vi;;;\u200br4@example.com\u00a0;0912 345 678;\r\n"
        "\r\n;;;;;;\r\n"
        "usr_5;;Asia/Ho_Chi_Minh;VN;r5@example.com;;\r\n"
    ).replace("E_mail", "Email")

    assert load(file) == ("2 created.", "")

    assert emails(tenant) == {"usr_4": "r4@example.com", "usr_5": "r5@example.com"}
    person = read_recipient(tenant_id=tenant.pk, user_id="usr_4")
    assert (person.locale, person.phone) == ("vi", "+84912345678")


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
@pytest.mark.parametrize("line_end", ["\n", "\r\n", "\r"])
def test_encodings_delimiters_and_line_ends_are_told_apart(
    tenant, load, encoding, delimiter, line_end
):
    """Bad input 76."""
    lines = [HEADER, "usr_1,vi,,,a@b.co,", "usr_2,vi,,,b@b.co,"]
    text = line_end.join(lines).replace(",", delimiter)

    assert load(text.encode(encoding)) == ("2 created.", "")
    assert emails(tenant) == {"usr_1": "a@b.co", "usr_2": "b@b.co"}


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "missing"),  # 83
        (b"PK\x03\x04whatever", "archive"),  # 83
        (b"<html><body>\n", "not known: <html><body>"),  # 83
        ((HEADER + "\nusr_1,vi,,,\u1ea1@b.co,").encode("utf-16")[3:], "UTF-8"),
        (HEADER.encode() + b"\nusr_1,\xe3,,,a@b.co,\n", "CSV UTF-8"),  # 76
        (HEADER.replace("country", "land").encode(), "not known: land"),  # 77
        (HEADER.replace(",country", "").encode(), "missing"),  # 77
        (HEADER.replace("locale", "e mail").encode(), "not known: e_mail"),
        (HEADER.encode() + b",EMAIL", "twice: email"),  # 77
        (HEADER.encode() + b",,email_2", "not known: (empty)"),  # 77
        (b",".join([b"x"] * 10_000), "not known"),  # 78
        (HEADER.encode() + b"\n" + b"x" * 2_000_000, "characters or more"),  # 78
        (HEADER.encode() + b'\n"usr_1,vi,,,a@b.co,\n' + b"y,\n" * 9_000, "Not CSV"),
        (HEADER.encode(), "nobody in it"),  # O-CAM-3
        (HEADER.encode() + b"\n\n,,,,,\n", "nobody in it"),
    ],
)
def test_a_file_that_is_none_is_refused_and_says_why(tenant, load, content, said):
    """Bad input 76 to 78, 83; O-CAM-3: nobody is an error."""
    assert said in load(content)[0]
    assert not Recipient.objects.exists()


def test_a_row_that_is_wrong_is_named_by_its_line_and_the_others_are_kept(tenant, load):
    """Bad input 78 to 82."""
    said, complained = load(
        "\n".join(
            [
                HEADER,
                "usr_1,,,,a@b.co,",
                "usr_2,,,,a@b.co",
                "usr_3,,,,a@b.co,,,more",
                'usr_4,,,,a@b.co,"0912345678',
                '"',
                "usr_5,,,,,9.12346E+11",
                "usr_6,,,,,912345678",
                "usr_1,,,,b@b.co,",
                "usr_\x007,,,,a@b.co,",
                ",,,,a@b.co,",
                "usr_8,,Mars/X,XX,a@b.co,,,",
                "usr_9,,,,'=cmd|' /C calc'!A0,",
            ]
        )
    )

    assert said == "2 created, 9 refused."
    lines = [line.partition(": ") for line in complained.splitlines()]
    assert [(line, told.split(" ")[0]) for line, _, told in lines if told] == [
        ("line 3", "It"),
        ("line 4", "It"),
        ("line 5", "phone:"),
        ("line 7", "phone:"),
        ("line 9", "user_id:"),
        ("line 10", "user_id:"),
        ("line 11", "user_id:"),
        ("line 12", "time_zone:"),
        ("line 13", "email:"),
    ]
    assert "line 2 already" in complained
    assert set(emails(tenant)) == {"usr_1", "usr_6"}
    person = read_recipient(tenant_id=tenant.pk, user_id="usr_6")
    assert person.phone == "+84912345678"  # the 0 that a spreadsheet took away


def test_what_stands_before_the_place_where_a_file_breaks_off_is_kept(tenant, load):
    """Bad input 78"""
    rows = "\n".join(f"usr_{at},,,,u{at}@b.co," for at in range(3))

    said, _ = load(f'{HEADER}\n{rows}\nusr_9,,,,"a@b.co\n')

    assert "Not CSV in line 5" in said
    assert "3 created" in said
    assert set(emails(tenant)) == {"usr_0", "usr_1", "usr_2"}


def test_a_trial_saves_nobody(tenant, load):
    assert load(f"{HEADER}\nusr_1,,,,a@b.co,", "--dry-run") == ("1 usable.", "")
    assert not Recipient.objects.exists()


def test_what_is_exported_is_read_back_the_same(tenant, load, tmp_path):
    """Bad input 79: numbers with + are no formulas, and are written as none."""
    RecipientFactory.create(
        tenant=tenant,
        user_id="usr_1",
        locale="vi-VN",
        country="VN",
        more_emails=["an@work.example", "=an@work.example", "'+an@work.example"],
    )
    RecipientFactory.create(tenant=tenant, user_id="-usr_2", email=None, phone=None)
    path, said = tmp_path / "export.csv", StringIO()

    call_command("export_recipients", str(path), "--tenant=acme", stdout=said)

    assert said.getvalue() == "2 people.\n"
    assert path.stat().st_mode & 0o777 == 0o600
    written = path.read_text("utf-8-sig")
    assert ",'+84912345678," in written
    assert ",'=an@work.example," in written
    assert "'-usr_2," in written
    assert load(path.read_bytes()) == ("2 unchanged.", "")


def test_an_export_never_writes_over_a_file(tenant, tmp_path):
    path = tmp_path / "export.csv"
    path.write_text("precious")

    with pytest.raises(CommandError):
        call_command("export_recipients", str(path), "--tenant=acme")

    assert path.read_text() == "precious"


@pytest.mark.parametrize("command", ["import_recipients", "export_recipients"])
def test_an_unknown_tenant_is_an_error(command: str, tmp_path: Any) -> None:
    with pytest.raises(CommandError, match="no tenant"):
        call_command(command, str(tmp_path / "x.csv"), "--tenant=nobody")
