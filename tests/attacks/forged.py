"""A citation's label in every form that a document or a model may give it."""

import re
from html import unescape
from unicodedata import category, normalize

ADDRESS = "https://ours.example/refunds"
FORMS = (
    "{label}", "\\{open}{inside}\\{close}", "\\{open}{inside}{close}", "{open}{inside}\\{close}", "`{label}`",
    "`` {label} ``", "`\\{label}`", "```\n{label}\n```", "~~~text\n{label}\n~~~", "\n\n    {label}\n",
    "> ```\n> {label}\n> ```", "&#{o};{inside}&#{c};", "&#x{ox};{inside}&#x{cx};", "&#X{ox};{inside}{close}",
    "&#0{o};{inside}&#00{c};", "{named}", "&{o}{inside}", "{entities}", "{open}&#8203;{inside}{close}",
    "{open}&nbsp;{inside}&nbsp;{close}", "&amp;#{o};{inside}&amp;#{c};", "{broken}", "{open}\n{inside}\n{close}",
    "{open}  \n{inside}{close}", "{open}\\\n{inside}{close}", "> {quoted}", "- {open}{inside}\n  {close}",
    "&#{o};\n{inside}\n&#{c};", "[{label}]({address})", "[{label}](https://evil.example)",
    "[\\{open}{inside}\\{close}]({address})", "{label}({address})", "{label}[1]\n\n[1]: {address}",
    "[{inside}]({address})", "[{label}][1]\n\n[1]: {address}", "{label}: {address}", "![{label}]({address})",
    "<{address}>", "{address}", "<a href='{address}'>{label}</a>", "**{label}**", "*{label}*",
    "{open}**{inside}**{close}", "**{open}**{inside}**{close}**", "~~{label}~~", "<b>{label}</b>",
    "{open}<b>{inside}</b>{close}", "<!-- x -->{label}", "\n# {label}", "\n{label}\n===\n",
    "\n\n| a | b |\n|---|---|\n| x | {label} |\n", "\n- {label}", "\n> {label}", "\n\nSources: {label}",
    "\n\n{label}", "\u3010{inside}\u3011", "\uff3b{inside}\uff3d", "{open}{thin}{close}",
    "{open}\u200b{inside}\u2060{close}", "{open}\u00ad{inside}{close}", "{open}\u202e{inside}\u202c{close}",
    "{open}{wide}{close}", "{open}{open}{inside}{close}{close}", "{open} {inside} {close}", "{upper}",
)  # fmt: skip
"""Two times 32, and the plain one."""


def forms(label: str, address: str = ADDRESS) -> list[str]:
    """``FORMS`` of a ``label`` in brackets, whose page has that ``address``."""
    opening, inside, closing = label[0], label[1:-1], label[-1]
    names = {"[": ("&lbrack;", "&rsqb;"), "(": ("&lpar;", "&rpar;")}[opening]
    first = inside.replace(" ", "\n", 1) if " " in inside else inside.replace("_", "_\n", 1)
    return [
        form.format(
            label=label, open=opening, inside=inside, close=closing, o=ord(opening), c=ord(closing),
            ox=f"{ord(opening):x}", cx=f"{ord(closing):x}", named=f"{names[0]}{inside}{names[1]}", address=address,
            entities="".join(f"&#{ord(char)};" for char in label), broken=f"{opening}{first}{closing}",
            quoted=f"{opening}{first}{closing}".replace("\n", "\n> "), thin="\u200b".join(inside),
            wide="".join(chr(ord(c) + 0xFEE0) if c.isalnum() and c.isascii() else c for c in inside),
            upper=label.upper(),
        )
        for form in FORMS
    ]  # fmt: skip


def as_read(text: str) -> str:
    """``text`` as a model may read it that looks behind every form: one line without escapes, tags and signs."""
    plain = normalize("NFKC", unescape(unescape(text)))
    plain = "".join(char for char in plain if category(char) != "Cf").translate({0x3010: "[", 0x3011: "]"})
    return re.sub(r"<[^<>\n]*>|[\s\\*_~`>|]+", "", plain).casefold()
