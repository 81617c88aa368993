"""Mutants of a source: each operator, value and entry once, and nothing that no test could notice."""

import pytest

from mutants.changes import find_mutants


def changes(source: str) -> list[str]:
    return [mutant.source for mutant in find_mutants(source)]


@pytest.mark.parametrize(
    ("source", "mutants"),
    [
        ("a = b < c", ["a = (b <= c)"]),
        ("a = b is not c", ["a = (b is c)"]),
        ("a = b and c", ["a = (b or c)"]),
        ("a = not b", ["a = (b)"]),
        ("a = b + c", ["a = (b - c)"]),
        ("a = b if c else d", ["a = (d if c else b)"]),
        ("a = True", ["a = False"]),
        ("a = 7", ["a = 8"]),
        ("a = 'v1.9'", ["a = 'v2.9'"]),
        ("a = 'words'", []),
        ("a = {b: c, d: e}", ["a = ({d: e})", "a = ({b: c})"]),
        ("a = (b, c)", ["a = ((c,))", "a = ((b,))"]),
        ("a(b=c, d=e)", ["pass", "(a(d=e))", "(a(b=c))"]),
        ("if a:\n    b", ["if not (a):\n    b"]),
        ("def f():\n    return a", ["def f():\n    return None"]),
        ("def f():\n    return None", []),
        ("'''Shows 2.'''\na: Literal[2, 3]", []),
        ("a: int = Field(ge=1)", ["a: int = Field(ge=2)"]),
    ],
)
def test_each_change_of_a_source(source: str, mutants: list[str]) -> None:
    assert sorted(changes(source)) == sorted(mutants)


def test_a_mutant_knows_its_lines() -> None:
    (mutant,) = find_mutants("a = b\nc = (\n    d\n    < e\n)\n")
    assert (mutant.first, mutant.last, mutant.change) == (3, 4, "Compare -> (d <= e)")
