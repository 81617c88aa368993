"""rag.profiles.house, and a profile that somebody adds."""

from pathlib import Path

import pytest
from fakes import FakeChat, FakeIndex, deadline, make_evidence, make_hit, make_inputs, make_services

import rag.profiles
from rag.config.prompts import Prompts
from rag.config.settings import Settings, load
from rag.profiles import PROFILES
from rag.profiles.house import Knobs
from rag.values.answer import Answer
from rag.values.question import Question
from rag.wiring.models import build_writer
from rag.write.chat_writer import ChatWriter

HITS = (
    make_hit("Leave is 25 days.", number=1, doc_id="old", title="Leave", section=""),
    make_hit("Leave is 27 days.", number=2, doc_id="new", title="Leave", section=""),
)


def answered(said: str, profile: str = "house", **environ: str) -> tuple[Answer, FakeChat]:
    chat, made = FakeChat(said), PROFILES[profile]
    settings, knobs = load(Settings, {"RAG_PROFILE": profile, **environ}), load(made.knobs, environ)
    writer, _ = build_writer(settings, knobs, Prompts(settings), chat=chat, extractive=None)  # type: ignore[arg-type]
    assert isinstance(writer, ChatWriter)
    inputs = make_inputs(FakeIndex(HITS, evidence=make_evidence(1.0)), writer, stages=make_services(stores=False))
    return made.build(knobs, inputs).run(Question(text="How much leave is there?"), deadline=deadline()), chat


def test_passages_are_cited_by_number_and_a_number_opens_its_passage() -> None:
    answer, chat = answered("Leave is 27 days [2]. It was 25 days [1].")
    assert "[1] Leave\nLeave is 2" in chat.asked[0][0].content
    assert answer.text == "Leave is 27 days [1]. It was 25 days [2]."
    assert [(one.n, one.hit.chunk.doc_id) for one in answer.references] == [(1, "new"), (2, "old")]
    assert [answer.text[mark.start : mark.end] for mark in answer.marks] == [f"[{mark.n}]" for mark in answer.marks]


def test_its_words_are_its_owners() -> None:
    _, chat = answered("No.", ASSISTANT_NAME="Harbour Bikes")
    assert chat.asked[0][0].content.startswith("You are the assistant of Harbour Bikes. You answer questions from")
    answer, plain = answered(
        "I could not find an answer to that in the documents.", ASSISTANT_CONTACT="hello@bikes.example"
    )
    assert plain.asked[0][0].content.startswith("You answer questions from the documents of")
    assert answer.refused
    inputs = make_inputs(FakeIndex(), lambda *_: None)  # type: ignore[arg-type]
    assert PROFILES["house"].build(Knobs(), inputs).decline_text == (
        "I could not find an answer to that in the documents. Other words may find it."
    )
    told = PROFILES["house"].build(Knobs(assistant_contact="hello@bikes.example"), inputs).decline_text
    assert told == "I could not find an answer to that in the documents. You can ask hello@bikes.example."


def test_it_routes_where_somebody_asks_for_it() -> None:
    assert answered("Leave is 27 days [2].")[0].routing is None
    routing = answered("Leave is 27 days [2].", ESCALATE_BELOW="100")[0].routing
    assert routing is not None
    assert routing.action == "escalate"


FIFTH = '''
"""Fifth: a profile that somebody added."""

from typing import ClassVar

from rag.answer.citation_forms import IdForm
from rag.profiles.shared.base import base
from rag.profiles.shared.evidence import EvidenceKnobs
from rag.profiles.shared.service_knobs import OURS
from rag.find.pack import IdPacker


class Knobs(EvidenceKnobs):
    decline: ClassVar[str] = "No idea."
    max_query_chars: int = OURS.max_query_chars(500)
    top_k: int = OURS.chunks(5, "RETRIEVAL_TOP_K", "Chunks.")
    llm_model: str = OURS.llm_model("some-model")
    llm_base_url: str = OURS.llm_base_url("https://llm.example/v1")


def build(knobs, inputs):
    return base(knobs, inputs, seed=None, form=IdForm(), pack=IdPacker(2000))
'''


def test_a_fifth_profile_is_a_file_and_a_prompt(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "code").mkdir()
    (tmp_path / "code" / "fifth.py").write_text(FIFTH.lstrip(), encoding="utf-8")
    (tmp_path / "prompts" / "fifth").mkdir(parents=True)
    (tmp_path / "prompts" / "fifth" / "system.txt").write_text(
        "Answer from this, and cite [id_N]:\n{context}", encoding="utf-8"
    )
    monkeypatch.setattr(rag.profiles, "__path__", [*rag.profiles.__path__, str(tmp_path / "code")])
    assert "fifth" in PROFILES
    answer, chat = answered("Leave is 27 days [id_2].", "fifth", PROMPTS_DIR=str(tmp_path / "prompts"))
    assert (answer.profile, answer.text) == ("fifth", "Leave is 27 days [id_2].")
    assert chat.asked[0][0].content.startswith("Answer from this, and cite [id_N]:\n")
