"""What is taken for small talk: recall on greetings, thanks and goodbyes, and false alarms on questions.

``python -m research.small_talk data_full.json DATA`` reads CLINC-150 (github.com/clinc/oos-eval) and the question sets
in ``DATA/<set>/queries.jsonl``, and prints one line each.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from pathlib import Path

from rag.stages.admit.small_talk import small_talk, without_small_talk

COURTESY = frozenset(("greeting", "thank_you", "goodbye"))
_CHIT_CHAT = """
are_you_a_bot cancel change_ai_name change_user_name do_you_have_pets flip_coin fun_fact how_old_are_you maybe
meaning_of_life no repeat roll_dice tell_joke user_name what_are_your_hobbies what_can_i_ask_you what_is_your_name
where_are_you_from who_do_you_work_for who_made_you yes
"""
CHIT_CHAT = frozenset(_CHIT_CHAT.split())


def main(clinc: Path, data: Path) -> None:
    """Print the counts."""
    splits = json.loads(clinc.read_text(encoding="utf-8"))
    for names in (("train",), ("val", "test")):
        asked: Counter[str] = Counter()
        answered: Counter[str] = Counter()
        for text, intent in (row for name in names for row in splits[name]):
            kind = intent if intent in COURTESY else "chit-chat" if intent in CHIT_CHAT else "questions"
            asked[kind] += 1
            answered[kind] += small_talk(text, alone=True) is not None
        print("+".join(names), {kind: f"{answered[kind]} of {asked[kind]}" for kind in sorted(asked)})
    for place in sorted(data.glob("*/queries.jsonl")):
        texts = [str(json.loads(line)["text"]) for line in place.read_text(encoding="utf-8").splitlines() if line]
        taken = sum(small_talk(text, alone=True) is not None for text in texts)
        cut = sum(without_small_talk(text).split() != text.split() for text in texts)
        print(f"{place.parent.name}: {taken} of {len(texts)} taken for small talk, {cut} lose a word")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
