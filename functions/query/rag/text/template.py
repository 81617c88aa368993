"""Prompt templates: fill placeholders, and fence quoted text."""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import count


def replace_surrogates(text: str) -> str:
    """Return ``text`` with each lone surrogate as U+FFFD, so that it can be encoded."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def fill(template: str, values: Mapping[str, str]) -> str:
    """Return ``template`` with each ``{name}`` of ``values`` replaced, in one pass.

    Placeholders within a value stay: a question may contain ``{context}``.
    """
    names = "|".join(map(re.escape, values))
    return re.sub(rf"\{{({names})\}}", lambda match: values[match[1]], template) if names else template


type NewMark = Callable[[str, int], str]
"""Returns the mark of a text for each attempt, from 0 on: one or two words that a model can read."""

_LIST = """
acorn actor adobe agate album alder alley almond alpine amber anchor angle ankle antler anvil apple apron arbor
arcade arch arrow artist ash aspen atlas attic autumn avenue bacon badge badger bagel baker balcony ballad
balloon bamboo banana banjo banner barley barn barrel basil basin basket bat bay beach bead beam bean bear
beaver beech beetle bell belt bench berry birch bison blanket blossom blue board boat bonnet boot bottle boulder
bowl branch brass bread breeze brick bridge bronze brook broom brown brush bubble bucket buckle bugle bunny
butter button cabin cable cactus cake calm camel camera canal candle canoe canvas canyon cape caravan cargo
carol carpet carrot castle cedar cello chalk charm cherry chess chestnut chimney cider cinema circle citrus clay
cliff clock cloth cloud clover coal coast cobalt cocoa coconut coffee comet compass copper coral cork corner
cotton country cove crab cradle crane crater crayon cream creek cricket crimson crisp crown crystal cumin
curtain cushion cypress daisy dancer dawn deer delta denim desert diary dinner dolphin donkey door dove dragon
drum duck dune dusk eagle early easel east echo elbow elder elm ember emerald engine evening fabric falcon farm
feather fennel fern ferry fiddle field fig finch fir flag flame flannel flask flax flint flock flora flour
flower flute foam fog forest fork fossil fountain fox frame frost fruit galaxy gallery garden garlic garnet gate
gazelle geese gentle geyser ginger giraffe glacier glade glass globe glove goat gold goose gorge grain granite
grape grass gravel gravy gray green grove guitar gull hammer hammock harbor hare harp harvest hat hawk hazel
heath hedge helmet herb heron hickory hill hollow honey hood horizon horn horse house humble hut iceberg icicle
indigo ink iris iron island ivory ivy jacket jade jaguar jam jar jasmine jelly jigsaw jolly jungle juniper kale
kayak kettle kiln kite kitten knot koala lace ladder lagoon lake lamb lamp lantern larch lark lattice laurel
lava lavender lawn leaf leather ledge lemon lentil lilac lily lime linden linen lion lively lizard llama lobster
lodge loom lotus lunar lute lynx magnet mallet mango mantle maple marble marina market maroon marsh mask meadow
mellow melody melon midday mild milk mill mineral mint mirror mist mitten moat mocha moon moor morning mosaic
moss moth mountain muffin mule mural museum music mustard napkin narrow navy nectar needle nest nettle night
noodle north nutmeg oak oasis oats oboe ocean ochre olive onion onyx opal opera orange orbit orchard orchid
oregano organ osprey otter oval oven owl oyster paddle pagoda paint palace palm panda pansy papaya paper parade
parsley pasture patio peach peacock peak peanut pear pearl pebble pecan pelican pencil penguin peony pepper
petal piano picnic pigeon pillow pilot pine pink pistachio planet plaza plum polar pollen pond pony poplar poppy
porch port potato pottery prairie prism puddle puffin pumpkin purple puzzle quail quarry quartz quiet quilt
quince rabbit radish raft rain raisin raven reed ribbon rice ridge river robin rocket rope rose ruby saddle
saffron sage sail salad sand satin scarf seal sesame shell silk silver skate sky slate spruce star stone stork
sugar
"""
WORDS = tuple(_LIST.split())
"""Ordinary English words: a small model copies a fence of letters and figures into its answer."""
_NO_LETTERS = re.compile(r"[\W_]+")


@cache
def secret_key() -> bytes:
    """Return 256 random bits, made with the first prompt, so that no snapshot of a process holds them."""
    return secrets.token_bytes(32)


def new_mark(text: str, attempt: int) -> str:
    """Return two of ``WORDS`` for the fence of ``text``, which no author of a document, question or turn can guess.

    The same text has the same words, so that a model's server finds the beginning of the prompt in its cache.
    """
    drawn = int.from_bytes(hmac.digest(secret_key(), f"{attempt}\0{text}".encode("utf-8", "replace"), hashlib.sha256))
    return f"{WORDS[drawn % len(WORDS)]} {WORDS[drawn // len(WORDS) % len(WORDS)]}"


@dataclass(frozen=True)
class Fence:
    """The lines ``<<<mark`` and ``mark>>>``; no text between them has the ``mark``."""

    mark: str

    def around(self, text: str) -> str:
        """Return ``text`` between the lines, ``""`` without text."""
        return f"<<<{self.mark}\n{text}\n{self.mark}>>>" if text else ""

    def remove_from(self, text: str) -> str:
        """Return a completion's ``text`` without the mark, which a small model may copy."""
        return self._complete.sub("", text)

    def find_begun(self, text: str) -> int:
        """Return the place where an unfinished mark begins at the end of ``text``, its length if there is none."""
        found = self._begun.search(text, max(0, len(text) - 2 * len(self.mark) - 6))
        return found.start() if found else len(text)

    @cached_property
    def _signs(self) -> list[str]:
        return [r"[\s_-]{1,3}" if sign == " " else re.escape(sign) for sign in self.mark]

    @cached_property
    def _complete(self) -> re.Pattern[str]:
        return re.compile(f"<{{0,3}}{''.join(self._signs)}>{{0,3}}", re.IGNORECASE)

    @cached_property
    def _begun(self) -> re.Pattern[str]:
        part = ">{0,3}"
        for sign in reversed(self._signs):
            part = f"(?:{sign}{part})?"
        return re.compile(f"(?=.)<{{0,3}}{part}\\Z", re.IGNORECASE | re.DOTALL)


def fence_for(new_mark: NewMark, text: str, *others: str) -> Fence:
    r"""Return the fence of ``text``: the first mark by ``new_mark`` that is in none of the texts.

    Only letters and figures are compared: ``Amber-\nriver`` holds "amber river".
    """
    present = _letters("\0".join((text, *others)))
    return Fence(next(mark for attempt in count() if _letters(mark := new_mark(text, attempt)) not in present))


def _letters(text: str) -> str:
    return _NO_LETTERS.sub("", text).casefold()
