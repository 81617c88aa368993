"""documents.converters: what is read of mail, whatever program wrote it."""

import datetime as dt
import struct
from collections.abc import Mapping
from contextlib import nullcontext
from email.message import EmailMessage
from email.mime.message import MIMEMessage

import pytest
from oxmsg.storage import Storage, Stream

from documents import NoText, Unconvertible, convert
from documents.converters.outlook import OLE


def mail(body: str | bytes, *headers: str) -> bytes:
    """A message by Ola Reed on the skip; ``headers`` replace the usual ones."""
    usual = {"From": "Ola Reed <ola@example.org>", "Subject": "Skip", "Date": "Tue, 12 May 2026 09:14:00 +0100"}
    usual |= dict(header.split(": ", 1) for header in headers)
    head = "".join(f"{name}: {value}\n" for name, value in usual.items() if value)
    return head.encode("utf-8", "surrogateescape") + b"\n" + (body.encode() if isinstance(body, str) else body)


def made(data: bytes, suffix: str = ".eml") -> dict[str, str]:
    """The front matter, and the text below the line with the writer and the day."""
    _, front, text = convert(data, suffix).text.split("---\n", 2)
    fields = dict(line.split(": ", 1) for line in front.splitlines())
    return {name: value.strip('"') for name, value in fields.items()} | {"text": text.partition("\n\n")[2].strip()}


def text_of(body: str | bytes, *headers: str) -> str:
    return made(mail(body, *headers))["text"]


@pytest.mark.parametrize(
    ("subject", "title"),
    [
        ("Re: Fwd: AW: WG: Skip", "Skip"),
        ("[yard] Re[2]: SV: Skip", "Skip"),
        ("[Fwd: Re: Skip]", "Skip"),
        ("Re: [Ticket#7] Skip", "[Ticket#7] Skip"),
        ("VAT: new rate", "VAT: new rate"),
        ("=?utf-8?q?Abfuhr_=E2=80=93_ne?= =?utf-8?q?u?=", "Abfuhr – neu"),
        ("Abfuhr f\udcfcr alle", "Abfuhr für alle"),
        ("=?x-none?q?Skip?=", "Skip"),
        ("", "It moves."),
    ],
)
def test_the_title_is_the_base_subject(subject: str, title: str) -> None:
    assert made(mail("It moves.", f"Subject: {subject}"))["title"] == title


def test_an_answer_names_the_messages_that_it_answers_else_its_subject() -> None:
    ids = ["Message-ID: <3@x>", "In-Reply-To: <2@x>", "References: <1@x> <2@x>"]
    assert made(mail("Yes.", *ids))["message_ids"] == '["3@x", "2@x", "1@x", "2@x"]'
    unknown = mail("Yes.", "Subject: Re: Skip", "Message-ID: <3@x>", "In-Reply-To: <yes>")
    assert made(unknown)["message_ids"] == '["3@x", "subject:"]'


@pytest.mark.parametrize(
    ("sender", "date", "line"),
    [
        ("Ola Reed <ola@example.org>", "Tue, 12 May 2026 09:14:00 +0100", "## Ola Reed, 2026-05-12"),
        ('"Reed, Ola" <ola@example.org>', "12 May 26 9:14", "## Reed, Ola, 2026-05-12"),
        ("ola.reed@example.org", "", "## ola.reed"),
        ("=?iso-8859-1?q?J=FCrgen?= <j@x.org>", "soon", "## Jürgen"),
    ],
)
def test_the_text_begins_with_the_writer_and_the_day(sender: str, date: str, line: str) -> None:
    assert convert(mail("Text.", f"From: {sender}", f"Date: {date}"), ".eml").text.splitlines()[-3] == line


OUTLOOK = "Von: Kay Low <kay@example.org>\nGesendet: Montag, 11. Mai 2026 10:00\nAn: Ola <ola@x.org>\nBetreff: Skip\n\n"


@pytest.mark.parametrize(
    ("body", "headers", "shown"),
    [
        ("It moves.\n\n> On 11 May Kay wrote:\n> When?\n", [], "It moves."),
        ("It moves.\n\nAm 11.05.26 um 10:00 schrieb Kay:\n> When?\n\n-- \nOla\nTel. 7", [], "It moves."),
        (f"It moves.\n\n{OUTLOOK}When?", ["Subject: AW: Skip"], "It moves."),
        (f"It moves.\n\n-----Message d'origine-----\n{OUTLOOK}When?", ["Subject: Re: Skip"], "It moves."),
        (
            "It moves.\n\nLe lun. 11 mai 2026 à 10:00, Kay <kay@x.org> a écrit :\n\nWhen?",
            ["Subject: Re: Skip"],
            "It moves.",
        ),
        ("Moved.\n\nVon meinem iPhone gesendet", [], "Moved."),
        ("Moved.\n\n- one\n- two\n\nThanks,\nOla", ["Subject: Re: Skip"], "Moved.\n\n- one\n- two\n\nThanks,\nOla"),
        (
            f"See below.\n\n{OUTLOOK}It goes on Friday.",
            ["Subject: WG: Skip"],
            "See below.\n\nVon: Kay Low\nGesendet: Montag, 11. Mai 2026 10:00\nBetreff: Skip\n\nIt goes on Friday.",
        ),
        (
            "> When does it go?\nOn Friday.\n> Which one?\nThe first.",
            [],
            "> When does it go?\n\nOn Friday.\n\n> Which one?\n\nThe first.",
        ),
        ("> It goes on Friday.", ["Subject: Re: Skip"], "> It goes on Friday."),
        ("See:\n\n> It goes on Friday.", ["Subject: Fwd: Skip"], "See:\n\n> It goes on Friday."),
        (">> a\n>> b\n>\n> c\nYes.", [], "> c\n\nYes."),
        ("Das gr\udcfcne".encode("utf-8", "surrogateescape"), ["Content-Type: text/plain; charset=utf-8"], "Das grüne"),
        ("Das grüne", ["Content-Type: text/plain; charset=iso-8859-1"], "Das grüne"),
    ],
)
def test_quotations_and_signatures_are_left_out(body: str | bytes, headers: list[str], shown: str) -> None:
    assert text_of(body, *headers) == shown


@pytest.mark.parametrize(
    ("html", "shown"),
    [
        (
            "<p>New.</p><div class=gmail_quote><div>On 11 May Kay wrote:</div><blockquote>Old</blockquote></div>",
            "New.",
        ),
        ("<p>New.</p><hr><div id=divRplyFwdMsg><b>Da:</b> Kay</div><p>Old</p>", "New."),
        ("<p>New.</p><div class=gmail_signature>Tel. 7</div>", "New."),
        (
            "<h1>Rates</h1><table><tr><td>Skip</td><td>9</td></tr></table><p style='display:none'>x</p>",
            "### Rates\n\n| Skip | 9 |\n| --- | --- |",
        ),
        ("<table><tr><td></td><td><p>Laid out.</p></td></tr></table>", "Laid out."),
    ],
)
def test_html(html: str, shown: str) -> None:
    assert text_of(html, "Content-Type: text/html; charset=utf-8", "Subject: Re: Skip") == shown


def test_of_two_bodies_the_html_counts_where_they_differ() -> None:
    found = EmailMessage()
    found["From"], found["Subject"] = "ola@x.org", "Skip"
    found.set_content("The plain part tells another story of gold.")
    found.add_alternative("<p>The skip goes on Friday.</p>", subtype="html")
    assert made(bytes(found))["text"] == "The skip goes on Friday."


def test_attachments_are_sections_and_what_cannot_be_read_is_named() -> None:
    inner = EmailMessage()
    inner["From"], inner["Subject"] = "Kay <kay@example.org>", "Rates"
    inner.set_content("Nine a day.")
    found = EmailMessage()
    found["From"], found["Subject"] = "Ola <ola@example.org>", "Skip"
    found.set_content("See the table.")
    found.add_attachment(b"a,b\n1,2\n", maintype="text", subtype="csv", filename="Preise für 2026.csv")
    found.add_attachment(b"x", maintype="application", subtype="zip", filename="a.zip")
    found.add_attachment(b"x", maintype="application", subtype="octet-stream", filename="winmail.dat")
    found.add_attachment(b"x", maintype="image", subtype="png", cid="<logo>")
    found.attach(MIMEMessage(inner))  # type: ignore[arg-type]  # the stub names a subclass
    event = "SUMMARY:Delivery\r\nDTSTART;TZID=X:20260512T091400\r\nLOCATION:Yard\\, gate\r\n 2\r\n"
    found.add_attachment(event.encode(), maintype="text", subtype="calendar")
    read = convert(bytes(found), ".eml")
    assert read.text.split("---\n", 2)[2] == (
        "## Ola\n\nSee the table.\n\n## Ola > Attachment: Preise für 2026.csv\n\n"
        "| a | b |\n| --- | --- |\n| 1 | 2 |\n\n## Ola > Kay: Rates\n\nNine a day.\n\n"
        "## Ola > Attachment: text/calendar\n\nDelivery, Yard, gate2, 2026-05-12 09:14\n"
    )
    assert read.caveats == ("attachment 'a.zip': .zip files are not read",)


def test_mail_without_text_or_headers_and_encrypted_mail_is_told_so() -> None:
    with pytest.raises(NoText, match="is encrypted: open it in a mail program and save the text"):
        convert(mail("x", "Content-Type: application/pkcs7-mime; smime-type=enveloped-data"), ".eml")
    with pytest.raises(Unconvertible, match="is no mail: it has no headers"):
        convert(b"Nothing of it.", ".eml")
    assert text_of("", "Subject: No skip on Friday") == "No skip on Friday"


def test_a_message_within_many_others_ends() -> None:
    data = mail("Deep.")
    for _ in range(9):
        data = mail(data, "Content-Type: message/rfc822")
    with pytest.raises(NoText, match="or 4 messages within each other"):
        convert(data, ".eml")


def test_a_mailbox_has_its_messages_as_parts_and_a_damaged_one_fails_alone() -> None:
    envelope = b"From ola@x.org Tue May 12 09:14:00 2026\n"
    box = (
        envelope
        + mail("One.\n\n>From here on.\n\nFrom 9 to 5.\n\n")
        + envelope
        + b"Subject: \n\n"
        + envelope
        + mail("Two.")
    )
    parts = convert(box, ".mbox").parts
    assert [part.text.partition("\n\n")[2] for part in parts] == [
        "One.\n\nFrom here on.\n\nFrom 9 to 5.\n",
        "",
        "Two.\n",
    ]
    assert parts[1].caveats == ("holds no text",)


def storage(path: str, texts: Mapping[str, bytes], numbers: Mapping[int, int], *inner: Storage, offset: int) -> Storage:
    """A message or a file of Outlook, as its parser gives it."""
    table = bytes(offset) + b"".join(struct.pack("<HHIQ", 3, pid, 0, value) for pid, value in numbers.items())
    streams = [Stream(f"{path}/__substg1.0_{name}", data) for name, data in texts.items()]
    return Storage(path, (*streams, Stream(f"{path}/__properties_version1.0", table)), inner)


def test_a_message_of_outlook_has_its_headers_bodies_and_files(monkeypatch: pytest.MonkeyPatch) -> None:
    ticks = (dt.date(2026, 5, 12) - dt.date(1601, 1, 1)).days * 864 * 10**9
    inner = storage("3701000D", {"0037001F": "Rates".encode("utf-16-le"), "1000001E": b"Nine."}, {}, offset=24)
    files = [
        storage("__attach_version1.0_#0", {}, {0x3705: 5}, inner, offset=8),
        storage("__attach_version1.0_#1", {"3707001E": b"a.txt", "37010102": b"Ten."}, {}, offset=8),
        storage(
            "__attach_version1.0_#2", {"370E001E": b"image/png", "3712001E": b"logo", "37010102": b"x"}, {}, offset=8
        ),
    ]
    texts = {
        "0037001E": b"AW: Abfuhr f\xfcr",
        "0C1A001E": b"J\xfcrgen",
        "0C1F001E": b"j@x.org",
        "1000001E": b"Am Freitag.",
    }
    numbers = {0x0039: ticks, 0x3FFD: 1252, 0x3FDE: 65001}
    found = storage("", texts | {"1035001E": b"<1@x>", "1042001E": b"<2@x>"}, numbers, *files, offset=32)
    monkeypatch.setattr("documents.converters.outlook.OleFileIO", lambda data: nullcontext())
    monkeypatch.setattr(Storage, "from_ole", lambda ole: found)
    read = made(OLE, ".msg")
    assert (read["title"], read["author"], read["date"]) == ("Abfuhr für", "Jürgen", "2026-05-12T00:00:00+00:00")
    assert read["message_ids"] == '["1@x", "2@x"]'
    assert (
        read["text"]
        == "Am Freitag.\n\n## Jürgen, 2026-05-12 > Rates\n\nNine.\n\n## Jürgen, 2026-05-12 > Attachment: a.txt\n\nTen."
    )
