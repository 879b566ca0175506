"""Lists on reference pages are those of the project: extras, variables that code reads or sets, options of a head."""

import ast
import re
from pathlib import Path
from pkgutil import resolve_name

import pytest

from dlfa_adapters.fusion.options import options_of
from dlfa_adapters.kinds import KINDS
from dlfa_adapters.tasks.head_options import HeadOptions

ROOT = Path(__file__).parents[2]
REFERENCE = ROOT / "docs" / "reference"
PAGE = (REFERENCE / "environment.md").read_text("utf-8")
NAME = re.compile("[A-Z][A-Z0-9]*(_[A-Z0-9]+)*")


def first_cells(heading, page=PAGE):
    """Names in the first column of the table below a heading."""
    part = page.split(f"## {heading}\n")[1].split("\n## ")[0]
    rows = [line.split("|")[1] for line in part.split("\n") if line.startswith("| `")]
    return {name for row in rows for name in re.findall("`([^`]+)`", row)}


def variables(tree):
    """Environment variables that a module names: keys of `os.environ`, and tuples of names that it looks for there."""
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Subscript) and ast.unparse(node.value) == "os.environ":
            found.add(node.slice)
        if isinstance(node, ast.Call) and ast.unparse(node.func).startswith("os.environ.") and node.args:
            found.add(node.args[0])
        if isinstance(node, ast.Compare) and any(ast.unparse(c) == "os.environ" for c in node.comparators):
            found.add(node.left)
    return {node.value for node in found if isinstance(node, ast.Constant)}


def test_every_extra_is_there():
    text = (ROOT / "pyproject.toml").read_text("utf-8").split("[project.optional-dependencies]")[1].split("\n[")[0]
    assert first_cells("Extras") == set(re.findall(r"^([\w-]+) = \[", text, re.MULTILINE))


def test_every_variable_of_the_code_is_there():
    sources = [path for package in ("dlfa_adapters", "dlfa_cli") for path in (ROOT / package).rglob("*.py")]
    used = set().union(*(variables(ast.parse(path.read_text("utf-8"))) for path in sources))
    assert {"DLFA_CACHE", "DLFA_DEBUG", "OMP_WAIT_POLICY"} <= used
    assert all(NAME.fullmatch(name) for name in used)
    assert used - set(re.findall("`([A-Z0-9_]+)`", PAGE)) == set()


OTHER_KEYS = {"head_type", "inner_head_type", "num_labels", "label2id", "encoder", "format", "versions"}
OF_THE_INNER_HEAD = {"layers", "activation_function", "dropout_prob"}


def test_every_option_of_a_saved_head_is_there():
    page = (REFERENCE / "saved-heads.md").read_text("utf-8")
    brought = {name for kind in KINDS.values() for cls in kind.own_heads.values() for name in options_of(cls)}
    assert {"arc_size", "upos_size"} <= brought
    there = first_cells("A head of `adapters`", page) - OTHER_KEYS - OF_THE_INNER_HEAD
    assert there == {*HeadOptions.known("dlfa"), *brought}


def documented():
    """Every name with a place on a page of the API."""
    pages = "\n".join(path.read_text("utf-8") for path in (REFERENCE / "api").glob("*.md"))
    return re.findall(r"^::: (\S+)", pages, re.MULTILINE)


def moved():
    """Every name in the second column of the table of names that moved."""
    part = (
        (ROOT / "docs" / "how-to" / "upgrade.md").read_text("utf-8").split("## Names that moved\n")[1].split("\n## ")[0]
    )
    for row in (line for line in part.split("\n") if line.startswith("| `")):
        place = ""
        for name in re.findall("`([^`]+)`", row.split("|")[2]):
            place = name if "." in name else place
            yield name if "." in name else f"{place}.{name}"


@pytest.mark.parametrize("names", [documented, moved])
def test_names_on_pages_are_there(names):
    found = list(names())
    assert len(found) > 20
    for name in found:
        assert resolve_name(name) is not None, name
