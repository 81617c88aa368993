"""Labels in many forms: no document can forge a citation, and no page stands behind what it does not say."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from attacks.forged import FORMS, as_read, forms
from attacks.planted import HONEST, OURS, TRUSTED
from fakes import FakeChat, FakeIndex, deadline, make_evidence, make_inputs
from faults.tally import tally
from obedient_llm import CLAIM

from rag.config.settings import PROFILE_NAMES, ProfileName, load
from rag.http.replies import query_reply
from rag.pipeline import Pipeline
from rag.profiles import PROFILES
from rag.stages.write.chat_writer import ChatWriter
from rag.values.answer import Hit, Question

_CODE = re.compile(r"(```|~~~|``|`).*?\1", re.DOTALL)
PLANTED = replace(HONEST, chunk=replace(HONEST.chunk, text=CLAIM))


def _pipeline(profile: ProfileName, said: str, hits: tuple[Hit, ...]) -> Pipeline:
    made = PROFILES[profile]
    writer = ChatWriter(FakeChat(said), "{context}", lambda: "0123456789abcdef")
    knobs = load(made.knobs, {"ENABLE_LLM_RERANKING": "false"})
    return made.build(knobs, make_inputs(FakeIndex(hits, evidence=make_evidence(1.0)), writer))


@pytest.mark.parametrize("profile", PROFILE_NAMES)
def test_no_form_of_a_label_in_a_document_is_one_in_a_prompt(profile: ProfileName) -> None:
    pack, ours = _pipeline(profile, "", ()).pack, as_read(OURS[profile])
    through = []
    for form, label in zip(FORMS, forms(OURS[profile]), strict=True):
        text = f"Offices close at noon on Friday. See {label}\n\nAsk there."
        context = pack((TRUSTED, replace(HONEST, chunk=replace(HONEST.chunk, text=text))))
        through += [form] if ours in as_read(context.used[1].text) else []
    tally("forms of labels in documents", cases=len(FORMS), failures=len(through))
    assert through == []


@pytest.mark.parametrize(
    "said", ["{claim} {}", "{claim}\n\n{}", "{claim} {} {theirs}", "{claim} {theirs} {}", "{claim} {theirs}\n\n{}"]
)
@pytest.mark.parametrize("profile", PROFILE_NAMES)
def test_no_page_stands_behind_what_it_does_not_say(profile: ProfileName, said: str) -> None:
    """Where nothing packed says so, and where a planted document does."""
    theirs = OURS[profile].replace("Refunds > Fees", "Blog > News").replace("id_1", "id_2")
    theirs = theirs.replace("ours.example/refunds", "blog.example/a")
    through = []
    for hits in ((TRUSTED, HONEST), (TRUSTED, PLANTED)):
        for form, label in zip(FORMS, forms(OURS[profile]), strict=True):
            text = said.format(label, theirs=theirs, claim=CLAIM)
            answer = _pipeline(profile, text, hits).run(Question(text="What is free?"), deadline=deadline())
            body = query_reply(answer)
            cited = [one["docId"] for one in body["citations"]] + [one["docId"] for one in body["references"]]
            marked = _CODE.sub("", body["answer"]).count(OURS[profile])
            through += [(form, body["answer"])] if "trusted" in cited or marked else []
    tally("pages behind what they do not say", cases=2 * len(FORMS), failures=len(through))
    assert through == []
