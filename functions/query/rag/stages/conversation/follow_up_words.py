"""The words that ``rag.stages.conversation.follow_up`` knows, and how a question is read into words."""

from __future__ import annotations

import re
from dataclasses import dataclass

_WORD = re.compile(r"[^\W_]+(?:[-'\u2019.&][^\W_]+)*")
_MARK = re.compile(r"[,;:.!?()\u2013\u2014]")
_CLITIC = re.compile(r"(?:n['\u2019]t|['\u2019](?:s|re|ve|ll|d|m))$")


@dataclass(frozen=True, slots=True)
class Word:
    """One word.

    ``text`` is as written, ``key`` in lower case without a clitic ("it's" is "it"), both never empty;
    ``after_comma`` says that a punctuation mark stands before it, ``asks`` that a question mark stands behind it.
    """

    text: str
    key: str
    after_comma: bool
    asks: bool = False

    @property
    def is_content(self) -> bool:
        """Whether it says what the question is about."""
        return self.key not in FUNCTION or self.text == "IT"


def read(question: str) -> list[Word]:
    """The words of ``question`` in order."""
    found = []
    end = 0
    for match in _WORD.finditer(question):
        text = match[0]
        mark = _MARK.search(question, end, match.start()) is not None
        asks = question[match.end() :].lstrip().startswith("?")
        found.append(Word(text, _CLITIC.sub("", text.lower()) or text.lower(), mark, asks))
        end = match.end()
    return found


def content(found: list[Word]) -> list[Word]:
    """Those words of ``found`` that say what the question is about."""
    return [word for word in found if word.is_content]


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


BE = _words("is are was were be been being am")
AUXILIARIES = BE | _words("do does did done can could will would shall should may might must have has had having ca wo")
_QUESTION_WORDS = _words("what which who whom whose when where why how")
DIRECTIONS = _words("tell show give explain describe elaborate compare list continue summarise summarize undo help")
ASKING = _QUESTION_WORDS | AUXILIARIES | DIRECTIONS
"""A question that holds none of these has no verb: it is a fragment or a search for keywords."""

CONJUNCTIONS = _words("and but or so also plus then because nor yet")
CONTINUATIONS = frozenset(
    {("what", "about"), ("how", "about"), ("what", "of"), ("same", "for"), ("i", "mean"), ("i", "meant")}
)
POSSESSIVES = _words("its their theirs his hers")
PRONOUNS = POSSESSIVES | _words("they them he him she her")
REFERENCES = PRONOUNS | _words("these those")
_REFLEXIVES = _words("itself themselves himself herself")

PREPOSITIONS = _words(
    "in on at by for from to of with without within under over into onto about after before between during until till "
    "since through against near as per via than like except besides instead"
)
FRAGMENT_OPENERS = (PREPOSITIONS | _words("the only even if not same another any more")) - {"per"}
ARTICLES = _words("the any another")
FRAGMENT_ENDS = _words("too also either instead then though again")

PERIODS = _words(
    "year month week weekend semester term quarter morning afternoon evening night summer winter spring autumn fall "
    "time season century decade"
)
CLAUSE_MARKS = CONJUNCTIONS | _words(
    "if when while whether although though after before until since as than that who whom which where why how what "
    "whose once unless"
)
CLAUSE_OPENERS = _words("to that if when whether for because")
BEFORE_ONE = _words(
    "which that this the another other first second third last next new old each any better best cheaper nearest a "
    "same only"
)
LIGHT_VERBS = _words("be do go get have make use take give come let keep put")
BEFORE_THAT = AUXILIARIES | PREPOSITIONS | _QUESTION_WORDS | LIGHT_VERBS | (CONJUNCTIONS - {"so"}) | _words("all")

COURTESIES = _words(
    "thanks thank you ok okay yes no well oh hi hello bye goodbye great perfect good nice cool fine sure please so "
    "much a lot very many got it understood i see"
)
"""A text of nothing else asks nothing."""

_OTHER_FUNCTION = _words(
    "a an the this that these those there here it i me my mine myself we us our ours you your yours one ones some any "
    "all each every both either neither no not none nothing something anything everything someone anyone everyone if "
    "whether while though although just only even still already yet again too very really quite rather much many more "
    "most less least few little enough such same other others another else own first second third last next previous "
    "now today later soon ever never always often sometimes far long please thanks thank ok okay yes well oh hi hello "
    "up down out off away back get got let make made go going come want wanted like using use used able"
)
FUNCTION = ASKING | CONJUNCTIONS | PRONOUNS | _REFLEXIVES | PREPOSITIONS | _OTHER_FUNCTION
"""Words that say nothing of the topic."""

GENERIC = _words(
    "answer answers apply applies mean means meant work works happen happens happened know need needs needed required "
    "require take takes took cost costs price fee fees charge pay paid free cheap cheaper cheapest expensive deadline "
    "date due time times long longer short fast faster fastest slow slower big bigger small smaller good better best "
    "bad worse worst late early often far call contact ask safe legal possible allowed available necessary mandatory "
    "optional valid different difference differences similar example examples detail details information info reason "
    "reasons step steps way ways option options alternative alternatives thing things part parts type types kind "
    "kinds form format formats version versions size number amount requirement requirements exception exceptions "
    "condition conditions limit limits rule rules advantage advantages disadvantage disadvantages benefit benefits "
    "drawback drawbacks pros cons risk risks issue issues problem problems cause causes causing role purpose main key "
    "important common popular famous certain specific exactly approximately roughly usually normally generally "
    "actually sure correct right wrong true find found see look say said tell do done doing start started end ended "
    "stop stopped change changed switch add remove send sent submit submitted receive written read open close expire "
    "expires expired lasts wait check try old new current latest recent nearest closest minimum maximum people "
    "someone person advance year years month months week weeks day days hour hours minute minutes effect effects "
    "impact history founded invented developed result results finding findings"
)
"""Words that mean something only beside a topic: a question with no other content leans on the conversation."""
