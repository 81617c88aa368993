"""What a reader sees of a page's markup, construct by construct."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from made_files import write_files

from documents.markup.clean import as_read
from documents.markup.context import PageContext


def read(text: str, *, kind: str = "", suffix: str = ".md", root: Path = Path("/nowhere")) -> str:
    page = {"title": "Moving house", "hours": 4}
    site = {"params": {"version": "3.1"}, "email": "desk@example.org"}
    context = PageContext(file=root / f"page{suffix}", root=root, top=root, kind=kind, page=page, site=site)
    return as_read(text, context=context).strip()


@pytest.mark.parametrize(
    "text",
    [
        "Dear {{first_name}},\n\nyour {balance} is due; a < b and 5 :: 6.",
        "Replace `<name>` and ${{ secrets.TOKEN }} by <your name>.",
        "```yaml\nkey: ${{ secrets.X }}\n{% if a %}\n<div>\n::name\n:::note\n!!! tip\n<!-- kept -->\n```",
        "Use `{{ cookiecutter.name }}`, `{% raw %}`, `{.class}` and `<!-- x -->`.",
        "Text.\n\n    !!! note\n    {{ code }} <b>\n\nMore.",
        "## Title {#anchor}\n\nText.",
    ],
)
def test_text_and_code_that_only_look_like_markup_stay(text: str) -> None:
    assert read(text) == text


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("A {{< new-in 0.9 >}} thing", "A New in 0.9 thing"),
        ("{{% note %}}\nKeep **this**.\n{{% /note %}}", "Keep **this**."),
        ('{{< highlight go "linenos=1" >}}\nx := 1\n{{< /highlight >}}', "```go\nx := 1\n```"),
        ('```\n{{</* ref "a" */>}}\n```', '```\n{{< ref "a" >}}\n```'),
        ('{{< figure src="a.png" caption="Two boxes" >}}', "Two boxes"),
        ('See [it]({{< relref "setup.md" >}}).', "See [it](setup.md)."),
        ("Version {{< param version >}} is out", "Version 3.1 is out"),
        ('{{< tab name="Linux" >}}\nRun it.\n{{< /tab >}}', "**Linux**\n\nRun it."),
        ("A {{< comment >}}secret{{< /comment >}} b", "A b"),
    ],
)
def test_hugo(text: str, shown: str) -> None:
    assert read(text, kind="hugo") == shown


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("{% raw %}{{ kept }}{% endraw %}", "{{ kept }}"),
        ("{% highlight ruby %}\nputs 1\n{% endhighlight %}", "```ruby\nputs 1\n```"),
        ('{% include note.html content="Mind the step." %}', "Mind the step."),
        ("A{% comment %} no {% endcomment %}.", "A."),
        ("A{% comment %} no {% comment %} no {% endcomment %}.", "A."),
        ("{% capture a %}{% capture b %}A{% endcapture %}{{ b }}.{% endcapture %}{{ a }} B", "A. B"),
        ("{% if site.x %}\nSeen.\n{% endif %}", "Seen."),
        ("{{ page.title }}, {{ site.email }}, {{ site.nothing }}.", "Moving house, desk@example.org,."),
        ("[a]({{ '/docs/' | relative_url }})", "[a](/docs/)"),
        ('Ask in {% channel "dev" %} first.', "Ask in dev first."),
        ('Please ask in\n{% channel "dev" %}.', "Please ask in\ndev."),
        (
            "{% capture a %}\n1. One\n\n[x]({{ '/y/' }})\n{% endcapture %}\n\n{{ a | markdownify }}{{ a }}",
            "1. One\n\n[x](/y/)",
        ),
        ("{% capture a %}No.{% endcapture %}Yes.{% capture b %}B{% endcapture %} {{ b }} {{ b }}", "Yes. B B"),
        ('{% assign n = "a name" %}{% assign m = "a,b" | split: "," %}Of {{ n }} {{ m }}.', "Of a name."),
        ("{% capture t %}Mind *it*.{% endcapture %}{% include note.html content=t %}", "Mind *it*."),
        ("{% capture t %}\n# A\n\nb\n{% endcapture %}{% include x.html body=t %}", "# A\n\nb"),
    ],
)
def test_jekyll(text: str, shown: str) -> None:
    assert read(text, kind="jekyll") == shown


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ('!!! note "Mind"\n\n    Text.\n\n        code\n\nAfter.', "**Mind**\n\nText.\n\n    code\n\nAfter."),
        ('=== "Linux"\n\n    ```sh\n    ls\n    ```', "**Linux**\n\n```sh\nls\n```"),
        ("/// tip | Title\n\nText.\n\n///", "**Title**\n\nText."),
        (":::note[Mind]\nText.\n:::", "**Mind**\n\nText."),
        ("::: warning\nText.\n:::", "**Warning**\n\nText."),
        ("::card\n---\ntitle: Fast\ndate: 2016-02-06 19:32:10 -0800\n---\n#body\nWords.\n::", "**Fast**\n\nWords."),
        ('An :icon{name="x"} and :badge[Soon]{color="red"}.', "An and Soon."),
        ("1. One\n\n    !!! tip\n\n        Text.\n\n2. Two", "1. One\n\n    **Tip**\n\n    Text.\n\n2. Two"),
        ("A picture ![x](y){ width=300 } and [word]{.red}.", "A picture ![x](y) and word."),
        ("# One\n{: #first .big}\n\nText.\n{: .lead}", "# One {#first}\n\nText."),
        (
            "> [!NOTE]\n> Mind **this**.\n>\n> > [!tip]- More\n> > Deep.\n\nAfter.",
            "**Note**\n\nMind **this**.\n\n**More**\n\nDeep.\n\nAfter.",
        ),
        ("- item\n  > [!warning] Only a title", "- item\n\n  **Only a title**"),
        (
            f"[Fees](My%20page%20{32 * 'a'}/Fees%20{32 * 'b'}.md)\nOf: X (X%20{32 * 'c'}.md)",
            "[Fees](My%20page/Fees.md)\nOf: X",
        ),
        (
            "A ![][image1]\n![Map][image2]\n\n[image1]: <data:image/png;base64,iV>\n[image2]: <data:image/gif;base64,>",
            "A \nMap",
        ),
    ],
)
def test_containers_and_attributes(text: str, shown: str) -> None:
    assert read(text) == shown


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("<details>\n<summary>More</summary>\n\nSome `code`.\n\n</details>", "**More**\n\nSome `code`."),
        ('<a href="/x">word</a>, <kbd>Ctrl</kbd>, 10<sup>2</sup>', "[word](/x), Ctrl, 10^2"),
        ("a <!-- b --> c<script>\nx()\n</script>", "a c"),
        ('<img src="a.png" alt="A box">', "![A box](a.png)"),
        (
            "<table><tr><th>A</th><th>B</th></tr><tr><td rowspan=2>1</td><td>`x|y`</td></tr>\n"
            "<tr><td>3</td></tr></table>",
            "| A | B |\n| --- | --- |\n| 1 | `x|y` |\n| 1 | 3 |",
        ),
        ('## Roles<a name="iam.roles"></a>\n\nText.', "## Roles {#iam.roles}\n\nText."),
        ("> <h3>Term</h3>\n> Words.", "> ### Term\n> Words."),
        ("<dl><dt>Term</dt><dd>What it is.</dd></dl>", "- **Term**\n\n  What it is."),
        ("<pre>first<br>second<br/>third</pre>", "```\nfirst\nsecond\nthird\n```"),
        ("Vec&lt;T&gt; &copy; R&amp;D soft&shy;ly 5&nbsp;km, `&lt;`", "Vec\\<T> © R&D softly 5 km, `&lt;`"),
    ],
)
def test_html(text: str, shown: str) -> None:
    assert read(text) == shown


def test_macros_keep_their_texts() -> None:
    text = (
        '{{ example({ group: "components", html: true }) }}\n\n{{ govukTable({ caption: "Fees (net)",\n'
        "  head: [{ text: 'Kind' }, { text: 'Fee' }],\n  rows: [[{ text: 'Tug' }, { html: '<p>3 | 4</p>' }]]\n}) }}\n\n"
        "{{ list({ rows: [{ key: { text: 'Name' }, value: { text: 'Ada' } }] }) }}\n\nA {{ call(1) }} in a line.\n"
    )
    table = "Fees (net)\n\n| Kind | Fee |\n|---|---|\n| Tug | 3 \\| 4 |"
    assert read(text) == f"{table}\n\n- Name: Ada\n\nA {{{{ call(1) }}}} in a line."


def test_a_wikis_links_are_their_words_and_its_notes_are_taken_in(tmp_path: Path) -> None:
    note = "---\ntags: [x]\n---\nAbove.\n\n## Fees\n\nThree [[euros]]. ^f1\n\n## Other\n\nNo."
    write_files(tmp_path, {"Notes/Deep note.md": note})
    text = (
        "See [[Deep note|it]], [[Notes/Deep note#Fees]], [[the words|Deep-note]] ==now==%%hidden%%.\n\n"
        "![[Deep note#Fees]]\n\n![[Deep note#^f1]]\n\n![[pic.png|300]]\n\n`[[code]]` and [[1]](x).\n"
    )

    assert read(text, root=tmp_path) == (
        "See it, Deep note > Fees, the words now.\n\n## Fees\n\nThree euros.\n\nThree euros.\n\n"
        "`[[code]]` and [[1]](x)."
    )


def test_mdx() -> None:
    text = (
        "import Tabs from '@theme/Tabs';\n\nexport const a = {\n\n  b: 1,\n};\n\n# Hi\n\n{/* no */}\n\n"
        '<Tabs groupId={x}>\n  <TabItem value="npm" label="With npm">\n\n    Run `npm {i}`.\n\n  </TabItem>\n</Tabs>'
        '\n\nOf {frontMatter.title}, {"words"}, {compute(1)}.'
    )
    assert read(text, suffix=".mdx") == "# Hi\n\n**With npm**\n\nRun `npm {i}`.\n\nOf Moving house, words,."


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ('<LinkCard title="Two" description="Read it." href="/z" icon="x" />', "**Two**\n\nRead it."),
        ('<Steps><Step title="First">Do it.</Step></Steps>', "**First**\n\nDo it."),
        ('<Accordion title="Why?" icon={Icon}>So.</Accordion>', "**Why?**\n\nSo."),
        (
            "<Tabs items={['npm', \"pnpm\"]}>\n<Tabs.Tab>A</Tabs.Tab><Tabs.Tab>B</Tabs.Tab></Tabs>",
            "**npm**\n\nA\n\n**pnpm**\n\nB",
        ),
        (
            '<ParamField query="page" type="int" default="1">Its number.</ParamField>',
            "**page**\n\nint, 1\n\nIts number.",
        ),
        (
            '<FileTree.Folder name="app"><FileTree.File name="a.js" /></FileTree.Folder>\n<Tree.File name="b.js" />',
            "- app\n  - a.js\n\n- b.js",
        ),
        ('A\n\n<TabItem label="x">\n\n```\n{{#include gone}}\n```\n\n</TabItem>\n\n---\n\n---\n\nB', "A\n\n---\n\nB"),
    ],
)
def test_the_words_in_attributes_of_components_stay(text: str, shown: str) -> None:
    assert read(text, suffix=".mdx") == shown


def test_a_fence_in_a_text_of_a_module_opens_no_code() -> None:
    function = "export async function Shown() {\n  const a = `~~~js\n\n}${b}\n~~~`\n\n  return <A b='}' />\n}\n\n"
    code = "<!-- no -->\nimport x from 'y'\n\n# Hi\n\n```js\nimport a from 'b'\n```\n\n"
    text = f"{function}{code}export const c = '('\n\nText.\n\nexport const d = (\n\nLast."
    assert read(text, suffix=".mdx") == code.partition("\n\n")[2] + "Text.\n\nLast."


def test_files_are_taken_in_from_within_the_folder_only_no_hidden_ones_and_none_for_ever(tmp_path: Path) -> None:
    """A folder may be a checkout, whose ``.git/config`` has the password of whoever made it."""
    part = "one\n// ANCHOR: x\ntwo\n// ANCHOR_END: x\nthree\n"
    files = {"a.rs": part, "a.md": "x {{#include b.md}}", "b.md": "y {{#include a.md}}", ".git/config": "SECRET"}
    root = write_files(tmp_path / "docs", files)
    write_files(tmp_path, {"secret.txt": "SECRET"})
    (root / "link.txt").symlink_to(tmp_path / "secret.txt")
    assert read("```\n{{#include a.rs:x}}\n```", root=root) == "```\ntwo\n```"
    assert read("{!> a.rs !}", root=root) == "one\ntwo\nthree"
    assert read("```py\n{* a.rs ln[3:3] *}\n```", root=root) == "```py\ntwo\n```"
    assert read("{{#include a.md}}", root=root).startswith("x y x y")
    for reference in ("../secret.txt", str(tmp_path / "secret.txt"), "link.txt", "absent.txt", ".git/config"):
        text = f"A\n\n```\n{{{{#include {reference}}}}}\n```\n\n{{!> {reference} !}}\n\nB"
        assert read(text, root=root) == "A\n\nB"


LINES = "1\n# ANCHOR: a\n2\n# ANCHOR_END: a\n# --8<-- [start:b]\n3\n# --8<-- [end:b]\n4\n"
REGION = "// #region c\n  one\n  two\n// #endregion c\nthree\n"
PARTS = {"a.py": LINES, "b.js": REGION, "c.md": "---\nx: 1\n---\n# One\n\nFirst.\n\n# My Part\n\nSecond.\n"}


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("{{#include a.py:a}}", "2"),
        ("{{#include a.py:1}}{{#include a.py:8:}}", "14"),
        ("{{#rustdoc_include a.py::1}}", "1"),
        ("{!> a.py[ln:1-3] !}", "1\n2"),
        ("{* a.py ln[1:3,8] hl[2] *}", "1\n2\n4"),
        ('=== "T"\n\n    --8<-- "a.py:b"\n\n    More.', "**T**\n\n3\n\nMore."),
        ('--8<-- "a.py:6"', "3\n4"),
        ('--8<-- "a.py:1:1,8:8"', "1\n4"),
        ("<<< ./b.js#c{1} [label]", "```js\none\ntwo\n```"),
        ("```\n<<< gone.js\n```", "```\n<<< gone.js\n```"),
        ("<!--@include: ./c.md#my-part-->", "# My Part\n\nSecond."),
        ("<!--@include: ./c.md{3,3}-->", "First."),
        ("{{#include a.py#L1-L1}}", ""),
        ('{{< readfile file="a.py" code="true" >}}', "```py\n1\n2\n3\n4\n```"),
    ],
)
def test_parts_of_files_are_taken_in(tmp_path: Path, text: str, shown: str) -> None:
    assert read(text, root=write_files(tmp_path, PARTS)) == shown


def test_a_page_that_mdx_imports_is_taken_in_where_it_is_used(tmp_path: Path) -> None:
    write_files(tmp_path, {"docs/parts/_tip.mdx": "---\na: 1\n---\nimport {B} from 'b'\n\nMind *this*.\n"})
    text = "import Tip from '@site/docs/parts/_tip.mdx'\nimport C from './c.mdx'\n\n# Hi\n\n<Tip kind={1} />\n\nEnd."
    assert read(text, root=tmp_path, suffix=".mdx") == "# Hi\n\nMind *this*.\n\nEnd."


@pytest.mark.parametrize(("text", "kind"), [("{{#include b.md}}\n", "mdbook"), ("{% include b.md %}\n", "jekyll")])
def test_a_few_lines_do_not_take_in_gigabytes(tmp_path: Path, text: str, kind: str) -> None:
    (tmp_path / "b.md").write_text("word " * 100_000)
    assert len(read(text * 100, root=tmp_path, kind=kind)) < 6_000_000


def test_ruby_s_templates_take_in_partials_and_leave_what_calls_show(tmp_path: Path) -> None:
    write_files(tmp_path, {"guides/_fees.md.erb": "---\na: b\n---\nFees are due.<% if late %> Pay.<% end %>\n"})
    text = (
        "<%= partial 'guides/fees' %>\n<%= partial 'not/there' %>\n"
        '<%= warning_text("This cannot be undone.") %>\n\n<%= link_to "Tariff", "/fees" %> has <%= n %> fees.\n'
        "`<%% %>`"
    )

    assert read(text, suffix=".html.md.erb", root=tmp_path) == (
        "Fees are due. Pay.\n\nThis cannot be undone.\n\n[Tariff](/fees) has fees.\n`<% %>`"
    )
    assert read("`<%= kept %>`") == "`<%= kept %>`"


# Any text


FRAGMENTS = [
    *("{{< a >}}", "{{< /a >}}", "{{%", "%}}", "{{", "}}", "{% raw %}", "{% endraw %}", "{% if x %}", "{%", "%}"),
    *(":::note\n", ":::\n", "::a{b}\n", "---\n", "#slot\n", "!!! tip\n", "    ", "/// tip\n", "///\n", '=== "A"\n'),
    *("<div>\n", "</div>\n", "<table>", "<td rowspan=9>", "</table>", "<A b={c}>", "</A>", "<pre>", "</pre>", "<br>"),
    *("`", "```\n", "~~~", "{.a}", "{: #b}", "# T ", "- ", "> ", "|", "<!--", "-->", "{#include x}", "{!> x !}"),
    *("import a from 'b'\n", "export {\n", "\n", "\n\n", "\t", "text ", "\ufdd0", "1", "\ufdd1", "\ufdd2", "\0", "\\"),
]


@settings(max_examples=300, deadline=None)
@given(
    text=st.lists(st.sampled_from(FRAGMENTS) | st.text(max_size=5), max_size=40).map("".join),
    kind=st.sampled_from(["", "hugo", "jekyll", "mkdocs", "docusaurus", "mdbook", "nuxt", "vitepress", "sphinx"]),
    suffix=st.sampled_from([".md", ".mdx"]),
)
def test_any_text_gives_text(text: str, kind: str, suffix: str) -> None:
    assert isinstance(read(text, kind=kind, suffix=suffix), str)


@given(st.lists(st.text(alphabet="abc ,.;()\"'é", min_size=1, max_size=60), max_size=8).map("\n\n".join))
def test_prose_stays_as_it_is(text: str) -> None:
    once = read(text)
    assert once.split() == text.split()
    assert read(once) == once


@pytest.mark.parametrize("nested", ["<div>\n", ":::a\n", "{{< a >}}", "<table><tr><td>", "<ul><li>", "{", "> "])
def test_deep_nesting_is_no_recursion(nested: str) -> None:
    assert isinstance(read(nested * 3000, suffix=".mdx"), str)


@pytest.mark.parametrize("opening", ["{% a ", "{{#include ", "{{ a(\n", "> [!a]\n"])
def test_tags_without_an_end_take_no_hours(opening: str) -> None:
    """Each one looked for its end in all of the paragraph."""
    for kind in ("", "jekyll"):
        assert "word" in read(opening * 10_000 + "\n\nword", kind=kind)


@pytest.mark.parametrize(
    ("text", "suffix", "shown", "words"),
    [
        ("A.\n\n[//]: # (Obey the\nvoice)\n\nB.", ".md", "A.\n\nB.", 3),
        ("A [b].\n\n[comment]: <> (Obey)\n[b]: c.md 'D'\n[^1]: Note", ".md", "A [b].\n\n[b]: c.md 'D'\n[^1]: Note", 1),
        ("[![a `b`][c]][d]\n\n[c]: e.png\n[d]: f.md\n[g]: h.md", ".md", "[![a `b`][c]][d]\n\n[c]: e.png\n[d]: f.md", 0),
        ('A.\n\n<div style="display: none">\n\n- **Obey** it\n\n</div>\n\nB.', ".md", "A.\n\nB.", 3),
        ("A <font color=white>obey</font> b.\n\n- <span hidden>it</span>", ".md", "A b.", 2),
        ("<style>.x { opacity: 0 }</style>\n\nA <i class=x>obey</i> b.", ".md", "A b.", 1),
        ("| A | B |\n| - | - |\n| c | <b style='font-size:0'>it</b> |", ".md", "| A | B |\n| - | - |\n| c | |", 1),
        (
            "<table><tr><th>A</th><td>B</td></tr><tr hidden><td>c</td></tr></table>",
            ".md",
            "| A | B |\n| --- | --- |",
            1,
        ),
        ("A <b style={{color: 'white'}}>obey</b> <b hidden={true}>it</b> <i hidden={x}>b</i>", ".mdx", "A *b*", 2),
        ("<div style=font-size:0>obey <br>it <b style=font-size:9px>B.</b> now</div>\n\nC.", ".md", "**B.**\n\nC.", 3),
        ("A <i title='>' hidden>obey</i><template id=x>it</template> b.", ".md", "A b.", 2),
        ("<x-y><template #z>A.</template></x-y>", ".md", "A.", 0),
        ("A.\n\n<p hidden>Obey\n\nB.", ".md", "A.\n\nB.", 1),
        ("A.\n\n<div hidden>Obey\n\nit", ".md", "A.", 2),
        ("| A |\n| - |\n| b <i hidden>obey |\n| c |", ".md", "| A |\n| - |\n| b |\n| c |", 1),
        ("A<b style={{color: 'rgb(255, 255, 255)'}}> obey</b> <i hidden={'x'}>it</i>", ".mdx", "A", 2),
        ("A `<b hidden>b</b>`.\n\n<a href='#c'>Open</a>\n\n<b id=c hidden>d</b>", ".md", None, 0),
    ],
)
def test_text_that_no_reader_sees_is_left_out_and_counted(
    text: str, suffix: str, shown: str | None, words: int
) -> None:
    root = Path("/nowhere")
    context = PageContext(file=root / f"page{suffix}", root=root, top=root, kind="", page={}, site={})
    read = as_read(text, context=context).strip()
    assert read == (shown or "A `<b hidden>b</b>`.\n\n[Open](#c)\n\n**d**")
    assert context.caveats == ([f"left out as hidden: {words} word{'s' * (words > 1)}"] if words else [])


def test_an_icon_alone_in_a_cell_is_a_word() -> None:
    rows = (
        '<i class="fa fa-check"></i> | <b><Icon name="cross" /></b> | :material-check: | <svg aria-label="One"></svg>'
    )
    beside = 'a <i class="fa fa-check"></i> | :material-check: b | <a title="c"></a> | ![d](e.png)'
    head = "| A | B | C | D |\n| - | - | - | - |\n"
    assert read(f"{head}| {rows} |\n    | {rows} |\n| {beside} |", suffix=".mdx") == (
        f"{head}| yes | no | yes | One |\n    | yes | no | yes | One |\n| a | b | | ![d](e.png) |"
    )
