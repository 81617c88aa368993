"""documents.converters: what is read of transcripts."""

import pytest

from documents import Unconvertible, convert, decode_utf_8


def read(suffix: str, data: bytes | str) -> str:
    """What is below the front matter."""
    found = convert(data.encode() if isinstance(data, str) else data, suffix, decode=decode_utf_8)
    return found.text.partition("---\n")[2].partition("---\n")[2].strip()


# Transcripts


def cues(*texts: str, header: str = "") -> str:
    """Subtitles of two seconds each."""
    return header + "".join(
        f"{at}\n00:00:{2 * at:02},000 --> 00:00:{2 * at + 2:02},000\n{text}\n\n" for at, text in enumerate(texts)
    )


@pytest.mark.parametrize(
    ("suffix", "data", "expected"),
    [
        (
            ".vtt",
            cues("<v Ola>So <i>it</i></v>", "<v.loud Ola>is&nbsp;late.\n[Music]", "<v Kay>No.", header="WEBVTT\n\n"),
            "**Ola** (0:00): So it is late.\n\n**Kay** (0:04): No.",
        ),
        (".vtt", cues("So", header="WEBVTT - Plan\n\nNOTE x\n\n") + "NOTE Not shown\n", "(0:00) So"),
        (".srt", cues("Ola: So:", "Ola: it", "is", "Kay: No"), "**Ola** (0:00): So: it is\n\n**Kay** (0:06): No"),
        (".srt", cues("(Ola)\nSo", "(Ola)\nit", "(Kay)\n[laughs]"), "**Ola** (0:00): So it"),
        (".srt", cues(">> REED: So", ">> Well: it", "is"), "**REED** (0:00): So\n\n(0:02) Well: it is"),
        (".srt", cues("Note: it", "is late.", "It", "is 42", "42"), "(0:00) Note: it is late. It is 42 42"),
        (".srt", cues("so the", "so the\noffer", "offer", "offer\nis", "is\nlate"), "(0:00) so the offer is late"),
        (".srt", cues("{\\an8}So.").replace("02,0", "02;0") + "1\n1:00:05,0 --> x:y\nOn", "(0:00) So.\n\n(1:00:05) On"),
    ],
)  # fmt: skip
def test_cues_are_joined_to_sentences_with_speaker_and_time(suffix: str, data: str, expected: str) -> None:
    assert read(suffix, data) == expected


def test_a_transcript_without_sentences_is_cut_and_a_text_is_none() -> None:
    words = read(".srt", cues(*(f"a{at} {'word ' * 50}" for at in range(8))))
    assert [part[:9] for part in words.split("\n\n")] == ["(0:00) a0", "(0:10) a5"]
    with pytest.raises(Unconvertible, match=r"give it the suffix \.txt"):
        convert(b"Menu --> File", ".srt", decode=decode_utf_8)
