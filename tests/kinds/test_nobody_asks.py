"""Nothing outside asks which kind of task it is, or by what it is scored: it calls the kind.

A kind that is added would otherwise have to be added wherever one is asked for. What is looked for is a comparison with
the name of a kind or of a metric (`==`, `!=`, `in`, `match`), a dictionary with such a key, a tuple, list or set that
holds one, which can only be there to look something up in it; and an import of what belongs to one kind alone.
"""

import ast
from pathlib import Path

import pytest

from dlfa_adapters.kinds import SCORED, scores_for
from dlfa_adapters.tasks import KINDS, TASKS

ROOT = Path(__file__).parent.parent.parent
OWN = ("dlfa_adapters/kinds/", "dlfa_adapters/tasks/")  # what a kind is, and the table of the tasks that there are
SOURCES = {
    str(path.relative_to(ROOT)): ast.parse(path.read_text("utf-8"))
    for package in ("dlfa_adapters", "dlfa_cli")
    for path in sorted((ROOT / package).rglob("*.py"))
}
OUTSIDE = [path for path in SOURCES if not path.startswith(OWN)]
NAMES = {name for kind_and_metric in SCORED for name in kind_and_metric} | {
    score.name for task in TASKS.values() for score in scores_for(task)
}
LISTS = {"dlfa_adapters/heads/schema.py": "the head types of adapters, to refuse any other: nothing is looked up"}


def strings(node: ast.AST | None) -> set[object]:
    """The constant that a node is, or those that it holds side by side."""
    if isinstance(node, ast.Constant):
        return {node.value}
    if isinstance(node, ast.Tuple | ast.List | ast.Set):
        return set().union(*map(strings, node.elts))
    return set()


def asks(tree: ast.AST) -> list[int]:
    """Lines where something is compared with a name, or looked up under it."""
    lines = []
    for node in ast.walk(tree):
        found: set[object] = set()
        if isinstance(node, ast.Compare):
            found = set().union(*map(strings, (node.left, *node.comparators)))
        elif isinstance(node, ast.MatchValue):
            found = strings(node.value)
        elif isinstance(node, ast.Dict):
            found = set().union(*map(strings, node.keys))
        if found & NAMES:
            lines.append(node.lineno)
    return lines


def holds(tree: ast.AST) -> list[int]:
    """Lines with a tuple, list or set that holds a name."""
    nodes = (node for node in ast.walk(tree) if isinstance(node, ast.Tuple | ast.List | ast.Set))
    return [node.lineno for node in nodes if strings(node) & NAMES]


def imports_a_kind(tree: ast.AST) -> list[int]:
    """Lines that import from the package of a single kind."""
    packages = tuple(f"{type(kind).__module__.split('.')[2]}" for kind in KINDS.values())
    return [
        node.lineno
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom)
        and (node.module or "").startswith(tuple(f"dlfa_adapters.kinds.{name}" for name in packages))
    ]


def test_there_are_names_to_look_for():
    assert {"tagging", "classification", "span_f1", "accuracy", "span_f1_lenient", "macro_f1"} <= NAMES
    assert len(OUTSIDE) > 100


@pytest.mark.parametrize("path", OUTSIDE)
def test_nobody_asks_for_a_kind_or_a_metric(path):
    assert not asks(SOURCES[path]), f"{path} asks for a kind or metric by name; call the kind."


@pytest.mark.parametrize("path", OUTSIDE)
def test_nobody_keeps_a_list_of_kinds_or_metrics(path):
    assert bool(holds(SOURCES[path])) == (path in LISTS), f"{path} lists kinds or metrics; give the kind an attribute."


@pytest.mark.parametrize("path", OUTSIDE)
def test_nobody_knows_a_single_kind(path):
    assert not imports_a_kind(SOURCES[path]), f"{path} imports what belongs to one kind alone; call the kind."


@pytest.mark.parametrize(
    ("source", "number"),
    [
        ('task.kind == "tagging"', 1),
        ('"span_f1" != metric', 1),
        ('kind in ("tagging", "text")', 1),
        ('kind not in {"classification"}', 1),
        ('match metric:\n    case "accuracy" | "other":\n        pass', 1),
        ('match kind, metric:\n    case "tagging", _:\n        pass', 1),
        ('{"tagging": 1, "classification": 2}[kind]', 1),
        ("kind == known.kind", 0),
        ('kind: str = "tagging"', 0),
        ('result["accuracy"]', 0),
    ],
)
def test_every_way_to_ask_is_seen(source, number):
    assert len(asks(ast.parse(source))) == number
