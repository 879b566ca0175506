"""The paper map: every symbol can be imported, every test and script is there, every number of the paper has a row."""

import ast
import importlib
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "docs" / "paper-map.md").read_text("utf-8")
COLUMNS = ["in the paper", "what it is", "here", "test", "script"]
NOT_HERE = ("not yet", "not mapped", "not reproduced")


def rows():
    """(heading, cells) of every table."""
    heading, found = "", []
    for line in TEXT.split("\n"):
        if line.startswith("## "):
            heading = line[3:]
        elif line.startswith("|") and not line.startswith("|---"):
            found.append((heading, [cell.strip() for cell in line.strip("|").split("|")]))
    return [(heading, cells) for heading, cells in found if cells != COLUMNS]


ROWS = rows()
NAMES = [f"{heading}: {cells[0]}" for heading, cells in ROWS]


def symbol(path):
    """What a dotted path names: a module, or an attribute of one, at any depth."""
    parts = path.split(".")
    for count in range(len(parts), 0, -1):
        try:
            found = importlib.import_module(".".join(parts[:count]))
        except ModuleNotFoundError:
            continue
        for name in parts[count:]:
            found = getattr(found, name)
        return found
    raise AssertionError(f"{path} cannot be imported")


@pytest.mark.parametrize(("heading", "cells"), ROWS, ids=NAMES)
def test_a_row_leads_somewhere(heading, cells):
    assert len(cells) == len(COLUMNS), cells
    _, what, here, test, script = cells
    assert what
    symbols = re.findall(r"`(dlfa_adapters[\w.]*)`", here)
    for path in symbols:
        assert symbol(path) is not None
    assert symbols or here.startswith(NOT_HERE), f"{cells[0]}: neither a symbol nor a reason"
    assert bool(symbols) == bool(test), f"{cells[0]}: a symbol needs its test, and a test its symbol"
    for path in re.findall(r"`(tests/[^`]+)`", test):
        file, _, name = path.partition("::")
        tree = ast.parse((ROOT / file).read_text("utf-8"))
        functions = {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
        assert not name or name in functions, f"{file} has no {name}"
        assert any(function.startswith("test") for function in functions)
    for path in re.findall(r"`([^`]+)`", script):
        assert (ROOT / path).is_file(), path


def test_every_table_has_the_same_columns():
    assert TEXT.count("| " + " | ".join(COLUMNS) + " |") == 4


def test_no_equation_table_or_figure_of_the_paper_is_without_a_row():
    named = " ".join(cells[0] for heading, cells in ROWS if heading == "DLFA")
    for number in range(1, 5):
        assert f"Equation ({number})" in named
        assert re.search(rf"Figures? (\d, )*{number}\b", named)
    for number in ("I", "II", "III", "IV", "V", "VI", "VII"):
        assert re.search(rf"Table {number}\b", named), number


def test_the_four_papers_are_there():
    assert list(dict.fromkeys(heading for heading, _ in ROWS)) == ["DLFA", "LANGINFO", "BETO", "XMULTI"]
