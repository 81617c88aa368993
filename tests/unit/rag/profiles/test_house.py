"""rag.profiles.house, and a profile that somebody adds."""

from importlib import import_module
from pathlib import Path

import pytest
from fakes import FakeChat, FakeIndex, deadline, make_evidence, make_hit, make_inputs, make_services

from rag.config.settings import Prompts, Settings, load
from rag.profiles import PROFILES, load_profile
from rag.profiles.house import HouseSettings
from rag.values.answer import Answer
from rag.values.question import Question
from rag.wiring.models import build_writer
from rag.write.chat_writer import ChatWriter

HITS = (
    make_hit("Leave is 25 days.", number=1, doc_id="old", title="Leave", section=""),
    make_hit("Leave is 27 days.", number=2, doc_id="new", title="Leave", section=""),
)


def answered(said: str, profile: str = "house", **environ: str) -> tuple[Answer, FakeChat]:
    chat, made = FakeChat(said), load_profile(profile)
    settings, knobs = load(Settings, {"RAG_PROFILE": profile, **environ}), load(made.settings, environ)
    writer, _ = build_writer(settings, knobs, Prompts(settings), chat)
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
    assert load_profile("house").build(HouseSettings(), inputs).decline_text == (
        "I could not find an answer to that in the documents. Other words may find it."
    )
    told = load_profile("house").build(HouseSettings(assistant_contact="hello@bikes.example"), inputs).decline_text
    assert told == "I could not find an answer to that in the documents. You can ask hello@bikes.example."


def test_it_routes_where_somebody_asks_for_it() -> None:
    assert answered("Leave is 27 days [2].")[0].routing is None
    routing = answered("Leave is 27 days [2].", ESCALATE_BELOW="100")[0].routing
    assert routing is not None
    assert routing.action == "escalate"


FIFTH = """
from typing import ClassVar

from rag.answer.citation_forms import IdForm
from rag.find.pack import IdPacker
from rag.profiles.shared.pipeline import Profile, build_pipeline
from rag.profiles.shared.settings import LlmBaseUrl, LlmModel, MaxQueryChars, ProfileSettings, TopK


class FifthSettings(ProfileSettings):
    decline: ClassVar[str] = "No idea."
    max_query_chars: MaxQueryChars = 500
    top_k: TopK = 5
    llm_model: LlmModel = "some-model"
    llm_base_url: LlmBaseUrl = "https://llm.example/v1"


def build(settings, dependencies):
    return build_pipeline("fifth", settings, dependencies, seed=None, form=IdForm(), pack=IdPacker(2000))


PROFILE = Profile("Fifth: a profile that somebody added.", FifthSettings, build)
"""


def test_a_fifth_profile_is_a_file_a_prompt_and_a_row(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "fifth.py").write_text(FIFTH.lstrip(), encoding="utf-8")
    (tmp_path / "prompts" / "fifth").mkdir(parents=True)
    (tmp_path / "prompts" / "fifth" / "system.txt").write_text(
        "Answer from this, and cite [id_N]:\n{context}", encoding="utf-8"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setitem(PROFILES, "fifth", lambda: import_module("fifth").PROFILE)
    answer, chat = answered("Leave is 27 days [id_2].", "fifth", PROMPTS_DIR=str(tmp_path / "prompts"))
    assert (answer.profile, answer.text) == ("fifth", "Leave is 27 days [id_2].")
    assert chat.asked[0][0].content.startswith("Answer from this, and cite [id_N]:\n")
