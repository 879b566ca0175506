"""Every code block of README, CONTRIBUTING and the site is run, and what it is said to print is compared.

The Python blocks of a page share one namespace and run in order, with its commands, in a folder of the page's own that
holds a few small data files (`FILES`). So that this takes a minute and no network:

- the *offline encoder* is a random BERT of 12 layers and width 16, the samples are their first six items, and where a
  page names no number of epochs it is one;
- names of encoders on the hub are folders of those names, with the same tiny BERT, in the working folder, and
  `datasets.load_dataset` gives ten sentences for PAN-X;
- `dlfa` and scripts run inside this process; `dlfa demo` and two sweeps run once for all pages;
- what installs, tests or builds the project is checked by its form.

Above a fence, a page can say: `<!-- norun: reason -->` (counted, with the reason, at the end of the session; the
options of its commands must exist); `<!-- output -->` (what the block before prints; text right below a block is that
without saying); `<!-- output: figures -->` (numbers and predicted tags are the real encoder's, so the tiny one's are
not compared); `<!-- fails -->` (the command must end with exit code 2, and its message is the output). A block with
`title="NAME"` is a file of that name.

`DLFA_DOCS_REAL=1` runs everything with the real offline encoder and compares figures too.
"""

import ast
import contextlib
import io
import math
import re
import shutil
from collections import Counter
from pathlib import Path

import pytest

from dlfa_adapters.data.places import sample_file

from .blocks import SHELLS, Block, find_blocks, pages, same_output
from .conftest import HUB_NAMES, REAL, tiny_encoder
from .shell import Done, Shell, inside

ROOT = Path(__file__).parents[2]
PAGES = {path.relative_to(ROOT).as_posix(): path for path in pages(ROOT)}
REAL_TOLERANCE = 3.0  # points of F1: another number of threads can make another epoch the best
SHOWN = ("", "text", "tsv", "json", "yaml", "toml", "bibtex", "markdown")
"""Languages of blocks that are looked at and not run."""

FILES = {
    "train-en.tsv": ("ner", "train", "en", 60),
    "dev-en.tsv": ("ner", "dev", "en", 20),
    "test-sw.tsv": ("ner", "test", "sw", 10),
    "test-de.tsv": ("ner", "test", "de", 10),
    "train.conll": ("ner", "train", "en", 60),
    "dev.conll": ("ner", "dev", "en", 20),
    "download/panx/train-en.tsv": ("ner", "train", "en", 30),
    "download/panx/dev-en.tsv": ("ner", "dev", "en", 10),
    "download/panx/dev-de.tsv": ("ner", "test", "de", 10),
    "download/panx/dev-sw.tsv": ("ner", "test", "sw", 10),
    "download/panx/test-de.tsv": ("ner", "test", "de", 10),
    "download/panx/test-sw.tsv": ("ner", "test", "sw", 10),
}
"""Data files in the working folder: sample, split, language, and how many sentences."""


@pytest.fixture(scope="session")
def files(tmp_path_factory):
    """A folder with the data files and encoders, copied for each page."""
    folder = tmp_path_factory.mktemp("reader")
    for name, (sample, split, language, sentences) in FILES.items():
        text = sample_file(sample, split, language).read_text("utf-8")
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("\n\n".join(text.split("\n\n")[:sentences]) + "\n", "utf-8")
    for language in ("en", "sw"):
        sentences = sample_file("ner", "test", language).read_text("utf-8").split("\n\n")[:20]
        text = "\n".join(" ".join(row.split("\t")[0] for row in sentence.split("\n") if row) for sentence in sentences)
        (folder / f"text-{language}.txt").write_text(text + "\n", "utf-8")
    shutil.copy(folder / "text-sw.txt", folder / "news.txt")
    for name in HUB_NAMES:
        tiny_encoder(folder / name)
    return folder


@pytest.fixture(scope="session")
def shared(reader_machine, tmp_path_factory):
    """Where commands that several pages have run once."""
    return tmp_path_factory.mktemp("shared"), {}


@pytest.fixture(scope="session")
def extras():
    """Names of the project's extras."""
    text = (ROOT / "pyproject.toml").read_text("utf-8").split("[project.optional-dependencies]")[1].split("\n[")[0]
    return set(re.findall(r"^([\w-]+) = \[", text, re.MULTILINE))


class Page:
    """Runs the blocks of a page."""

    def __init__(self, shell: Shell) -> None:
        self.shell = shell
        self.namespace: dict[str, object] = {"__name__": "__main__"}
        self.last = Done()
        self.count: Counter[str] = Counter()
        self.not_run: list[str] = []

    def take(self, block: Block) -> None:
        """Run a block, write it as a file, or compare it with what was printed last."""
        if "norun" in block.marks:
            assert len(block.marks["norun"]) > 10, f"{block.place}: norun needs its reason"
            self.not_run.append(f"{block.place}: {block.marks['norun']}")
            if block.language in SHELLS:
                self.shell.check_options(block.text)
        elif block.title:
            path = Path(block.title)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(block.text + "\n", "utf-8")
            self.count["files written"] += 1
        elif block.is_output:
            self._compare(block)
        elif block.language == "python":
            self.last = Done(stdout=self._python(block))
            self.count["Python blocks run"] += 1
        elif block.language in SHELLS:
            self._commands(block)
        else:
            assert block.language in SHOWN, f"{block.place}: this test cannot run {block.language!r}"
            self.count["blocks shown"] += 1

    def _python(self, block: Block) -> str:
        tree = ast.parse(block.text, f"{block.page}")
        ast.increment_lineno(tree, block.line)
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(tree, block.page, "exec"), self.namespace)
        return printed.getvalue()

    def _commands(self, block: Block) -> None:
        before = self.shell.count.copy()
        done = self.shell.run(block.text)
        fails = "fails" in block.marks
        assert done.code == (2 if fails else 0), f"{block.place}: exit code {done.code}\n{done.stderr}"
        if fails:
            done.stdout += done.stderr
        new = self.shell.count - before
        checked = new.pop("checked by form", 0)
        self.count["commands checked by form"] += checked
        self.count["commands run"] += new.total()
        if new:  # what was only looked at has printed nothing
            self.last = done

    def _compare(self, block: Block) -> None:
        within = (REAL_TOLERANCE if REAL else math.inf) if block.marks.get("output") == "figures" else 0
        assert same_output(block.text, self.last.stdout, within), (
            f"{block.place}: the page shows\n{block.text}\n\nand this was printed:\n{self.last.stdout}"
        )
        self.count["outputs compared"] += 1


@pytest.mark.parametrize("name", [name for name, path in PAGES.items() if "```" in path.read_text("utf-8")])
@pytest.mark.usefixtures("registries", "no_shape_checks")  # of which a reader has none
def test_blocks_of(name, files, extras, shared, tmp_path, record_property):
    folder = tmp_path / "work"
    shutil.copytree(files, folder)
    page = Page(Shell(ROOT, extras, shared))
    with inside(folder):
        page.shell.once("demo")  # many pages go on with its run
        for block in find_blocks(PAGES[name], ROOT):
            page.take(block)
    record_property("documentation", dict(page.count))
    record_property("not run", page.not_run)
