"""The collector of code blocks finds what it should, and its comparison fails where it must."""

from math import inf
from pathlib import Path

import pytest

from .blocks import demo_figures, find_blocks, same_output
from .shell import Shell, _lines

PAGE = """Text.

```bash
dlfa demo   # a comment
```

```text
printed
```

More text.

<!-- norun: needs a hub -->
```python
x = 1
```

<!-- output: figures -->

```
 1.5 B-PER
```

1. In a list:

    ```tsv title="a/b.tsv"
    Anna\tB-PER
    ```

<!-- norun: of nothing, for text follows -->
But.

````markdown
```bash
inner
```
````
"""


@pytest.fixture
def blocks(tmp_path):
    (tmp_path / "page.md").write_text(PAGE, "utf-8")
    return find_blocks(tmp_path / "page.md", tmp_path)


def test_what_is_found(blocks):
    assert [(block.language, block.line) for block in blocks] == [
        ("bash", 3), ("text", 7), ("python", 14), ("", 20), ("tsv", 26), ("markdown", 33),
    ]  # fmt: skip
    assert [block.is_output for block in blocks] == [False, True, False, True, False, False]
    assert [block.marks for block in blocks] == [{}, {}, {"norun": "needs a hub"}, {"output": "figures"}, {}, {}]
    assert (blocks[4].title, blocks[4].text) == ("a/b.tsv", "Anna\tB-PER")
    assert blocks[1].place == "page.md:7"


def test_an_open_fence_is_an_error(tmp_path):
    (tmp_path / "page.md").write_text("```bash\ndlfa demo\n", "utf-8")
    with pytest.raises(ValueError, match=r"page.md:1: the fence is not closed"):
        find_blocks(tmp_path / "page.md", tmp_path)


@pytest.mark.parametrize(
    ("expected", "got", "within", "same"),
    [
        ("a  b", "a b\n", 0, True),
        ("a b", "a c", 0, False),
        ("a … c", "a b c", 0, True),
        ("a\n…\nd", "a\nb\nc\nd", 0, True),
        ("a\n…\nd", "a\nb\nc\ne", 0, False),
        ("a\n…", "a", 0, True),
        ("1.5 B-PER", "1.6 O", 0, False),
        ("1.5 B-PER", "1.6 O", inf, True),
        ("1.5 B-PER", "1.6 x", inf, False),
        ("1.5 B-PER", "1.6 B-PER", 0.2, True),
        ("1.5 B-PER", "1.6 O", 0.2, False),
        ("1.5 B-PER", "1.8 B-PER", 0.2, False),
        ("1 … 2,000\n…\n3", "1 5 2,001\n9\n3", 1, True),
        ("1 … 2,000\n…\n3", "1 5 2,001\n9\n5", 1, False),
        ("–", "1.0", 1, False),
        ("–", "–", 1, True),
        ("D_8* D_9", "D_8 D_9*", inf, True),
        ("D_8 D_9", "D_8 D_8", inf, False),
        ("Saved in runs/a after 12 s.", "Saved in runs/a after 1 s.", inf, True),
        ("Rome[LOC]", "Rome", inf, False),
    ],
)
def test_comparison(expected, got, within, same):
    assert same_output(expected, got, within) is same


def test_lines_of_a_shell():
    text = '$ dlfa predict RUN \\\n  "a b" # why\n# nothing\ncat x | dlfa y > z && echo'
    assert _lines(text) == [["dlfa", "predict", "RUN", "a b"], ["cat", "x", "|", "dlfa", "y", ">", "z", "&&", "echo"]]


def test_the_shell_knows_what_it_may_trust(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pyproject.toml").touch()
    shell = Shell(tmp_path, {"demo"}, (tmp_path, {}))
    assert shell.run('echo one > a && cat a | wc -l\npip install -e ".[demo]"').stdout.strip() == "1"
    assert shell.run("cat missing && echo two").code == 1
    with pytest.raises(AssertionError, match=r"the project has the extras \['demo'\]"):
        shell.run('pip install -e ".[demos]"')
    for command in ("pytest tests/none.py", "rm -rf /", "curl example.org"):
        with pytest.raises(AssertionError):
            shell.run(command)
    assert shell.count == {"shell": 4, "checked by form": 5}


def test_the_table_of_the_demo_is_the_same_everywhere():
    """Whether its figures are right, `tests/cli/test_demo.py::test_the_real_thing` says, which runs the demo."""
    root = Path(__file__).parents[2]
    readme = demo_figures(root / "README.md")
    assert len(readme) == 20
    assert len(readme["dev"]) == 13
    assert demo_figures(root / "docs" / "index.md") == readme
    others = [row["D_7"] for language, row in readme.items() if language not in ("rate", "dev", "en", "mean")]
    assert sum(others) / len(others) == pytest.approx(readme["mean"]["D_7"], abs=0.1)  # of rounded figures
    tutorial = demo_figures(root / "docs" / "tutorials" / "first-tagger.md")
    assert tutorial.items() <= readme.items()


def test_commands_that_are_not_run_are_looked_at():
    shell = Shell(Path(__file__).parents[2], set(), (Path(), {}))
    shell.check_options("dlfa train ner --fuse-layer 8 -m x  # why\ntorchrun -m dlfa_cli tune ner --lr 1 | cat")
    for text in ("dlfa train ner --fuse-layers 8", "dlfa trian ner", "torchrun -m dlfa_cli demo --epochs 3"):
        with pytest.raises(AssertionError, match=r"has no|there is no"):
            shell.check_options(text)
