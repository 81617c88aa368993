"""The contrast of an accent, and what a setting says where nobody could read it."""

import pytest

from rag.config.contrast import readable_contrast
from rag.config.settings import Settings, load
from rag.errors import ConfigurationError


def test_black_on_its_tint_reads_best_and_white_not_at_all() -> None:
    assert readable_contrast("#ffffff") == 1
    assert readable_contrast("#000000") == pytest.approx(15.97, abs=0.01)


@pytest.mark.parametrize("accent", ["#1f5f8b", "#8c1d40", "#0b6e73"])
def test_our_own_accents_can_be_read(accent: str) -> None:
    assert load(Settings, {"PAGE_ACCENT": accent}).page_accent == accent


def test_an_accent_that_cannot_be_read_is_named_with_its_contrast() -> None:
    with pytest.raises(ConfigurationError, match=r"PAGE_ACCENT.*contrast of 1\.\d on its tint, 4\.5 is the least"):
        load(Settings, {"PAGE_ACCENT": "#ffd700"})
