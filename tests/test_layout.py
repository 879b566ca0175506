"""Who imports whom, and how long a module is, read from the source."""

import ast
import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
SOURCES = sorted(path for package in ("dlfa_adapters", "dlfa_cli") for path in (ROOT / package).rglob("*.py"))

# Left to right: a module imports from its own group and from those before it.
ORDER = [
    {"_version", "ground"},
    {"fusion"},
    {"tasks"},
    {"data"},
    {"encoders"},
    {"kinds"},
    {"heads"},
    {"models"},
    {"tuning"},
    {"runs"},
    {"predict"},
    {"scores"},
    {"learning"},
    {"sweeps"},
    {"analysis"},
    {"report"},
    {"export"},
    {"demo"},
    {"dlfa_adapters"},  # the package's own __init__: the public names
    {"dlfa_cli"},
]
MAX_LINES = 250
LONGER: dict[str, str] = {}  # path: the reason why it is one idea all the same
HEAVY = {"dlfa_adapters", "adapters", "torch", "transformers", "datasets", "peft", "evaluate", "sklearn", "scipy"}


def module_name(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {module_name(path) for path in SOURCES}


def imports(tree: ast.AST, module: str, is_package: bool) -> set[str]:
    """Every module that is imported anywhere in a tree, in functions too, and by name with `import_module`."""
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                package = module.split(".") if is_package else module.split(".")[:-1]
                base = ".".join([*package[: len(package) - node.level + 1], *([node.module] if node.module else [])])
            # from package import module
            found |= {f"{base}.{a.name}" if f"{base}.{a.name}" in MODULES else base for a in node.names}
        elif isinstance(node, ast.Call) and node.args and isinstance(node.args[0], ast.Constant):
            function = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            if function in ("import_module", "__import__"):
                found.add(str(node.args[0].value))
    return found


def at_import_time(tree: ast.Module) -> ast.Module:
    """The tree without what does not run when the module is imported: bodies of functions, `if TYPE_CHECKING:`."""

    class Prune(ast.NodeTransformer):
        def visit_FunctionDef(self, node):
            return None

        visit_AsyncFunctionDef = visit_Lambda = visit_FunctionDef

        def visit_If(self, node):
            if ast.unparse(node.test) in ("TYPE_CHECKING", "typing.TYPE_CHECKING"):
                node.body = [ast.Pass()]
            return self.generic_visit(node)

    return Prune().visit(tree)


def part(module: str) -> str:
    """The entry of ORDER that a module of ours belongs to."""
    names = module.split(".")
    return names[0] if names[0] == "dlfa_cli" or len(names) == 1 else names[1]


def group(module: str) -> int:
    [index] = [i for i, names in enumerate(ORDER) if part(module) in names] or [-1]
    assert index >= 0, f"{module} is in no group of ORDER: say where it belongs."
    return index


def ours(names: set[str]) -> set[str]:
    return {name for name in names if name.split(".")[0] in ("dlfa_adapters", "dlfa_cli")}


def imports_of(path: Path) -> set[str]:
    return imports(ast.parse(path.read_text("utf-8")), module_name(path), path.name == "__init__.py")


def test_there_is_something_to_look_at():
    assert {"dlfa_adapters.fusion.aif", "dlfa_adapters.tasks.task", "dlfa_cli"} <= MODULES


@pytest.mark.parametrize("path", SOURCES, ids=module_name)
def test_imports_go_in_one_direction(path):
    module = module_name(path)
    wrong = sorted(name for name in ours(imports_of(path)) if group(name) > group(module))
    assert not wrong, f"{module} imports {wrong}, which stand after it in the order."


def test_folders_do_not_import_each_other_in_circles():
    arrows: dict[str, set[str]] = {}
    for path in SOURCES:
        source = part(module_name(path))
        arrows.setdefault(source, set()).update({part(name) for name in ours(imports_of(path))} - {source})

    def reach(start, seen):
        for target in arrows.get(start, set()) - seen:
            seen |= {target} | reach(target, seen | {target})
        return seen

    assert not [name for name in arrows if name in reach(name, set())]


def circle(arrows: dict[str, set[str]]) -> list[str]:
    """A way from a node back to itself, or an empty list."""
    done: set[str] = set()

    def walk(node: str, way: list[str]) -> list[str]:
        if node in way:
            return [*way[way.index(node) :], node]
        if node in done:
            return []
        ways = (walk(target, [*way, node]) for target in sorted(arrows.get(node, ())))
        found = next(filter(None, ways), [])
        done.add(node)
        return found

    return next(filter(None, (walk(node, []) for node in sorted(arrows))), [])


def test_modules_do_not_import_each_other_in_circles():
    """Not even within a folder, when they are imported; which of two comes first must not matter."""
    arrows = {}
    for path in SOURCES:
        module = module_name(path)
        tree = at_import_time(ast.parse(path.read_text("utf-8")))
        arrows[module] = ours(imports(tree, module, path.name == "__init__.py")) & MODULES - {module}
    assert sum(map(len, arrows.values())) > 200
    assert circle(arrows) == []


def test_a_circle_is_found():
    assert circle({"a": {"b", "c"}, "b": {"d"}, "c": {"d"}, "d": set()}) == []
    assert circle({"a": {"b"}, "b": {"c", "d"}, "d": {"b"}}) == ["b", "d", "b"]


def test_every_dependency_is_imported_or_has_its_reason():
    text = (ROOT / "pyproject.toml").read_text("utf-8").split("\ndependencies = [\n")[1].split("\n]")[0]
    pins = [re.match(r'  "([\w-]+)[^"]*", +# (.+)', line) for line in text.split("\n")]
    assert all(pins), "every pin has its reason beside it"
    names = {name.split(".")[0] for path in SOURCES for name in imports_of(path)}
    unused = {pin[1] for pin in pins if pin[1].replace("-", "_") not in names}
    assert unused == {"accelerate"}  # Transformers' Trainer imports it


@pytest.mark.parametrize("path", SOURCES, ids=module_name)
def test_only_heads_and_tuning_know_adapters(path):
    if part(module_name(path)) not in ("heads", "tuning") and module_name(path) != "dlfa_adapters.encoders.load":
        assert not [name for name in imports_of(path) if name.split(".")[0] == "adapters"]


@pytest.mark.parametrize("path", [path for path in SOURCES if "fusion" in path.parts], ids=module_name)
def test_fusion_needs_torch_alone(path):
    allowed = {"torch", "jaxtyping"} | set(sys.stdlib_module_names)
    names = {name for name in imports_of(path) if not f"{name}.".startswith("dlfa_adapters.fusion.")}
    assert {name.split(".")[0] for name in names} <= allowed


@pytest.mark.parametrize("path", [path for path in SOURCES if "dlfa_cli" in path.parts], ids=module_name)
def test_the_command_line_starts_without_the_library(path):
    """`dlfa --help` must not wait for torch: `import dlfa_adapters` costs what `import adapters` costs, seconds."""
    tree = at_import_time(ast.parse(path.read_text("utf-8")))
    names = imports(tree, module_name(path), path.name == "__init__.py")
    assert not {name.split(".")[0] for name in names} & HEAVY


@pytest.mark.parametrize("path", SOURCES, ids=module_name)
def test_modules_are_short(path):
    name = str(path.relative_to(ROOT))
    lines = len(path.read_text("utf-8").splitlines())
    assert (lines > MAX_LINES) == (name in LONGER), f"{name} has {lines} lines; at most {MAX_LINES}, or a reason."


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("import adapters.heads", "adapters.heads"),
        ("def f():\n    from adapters import init", "adapters"),
        ("if TYPE_CHECKING:\n    import torch", "torch"),
        ("from dlfa_adapters import fusion", "dlfa_adapters.fusion"),
        ("from dlfa_adapters import __version__", "dlfa_adapters"),
        ("from dlfa_adapters.fusion import AIF", "dlfa_adapters.fusion"),
        ("from . import span_tags", "dlfa_adapters.tasks.span_tags"),
        ("from .task import Task", "dlfa_adapters.tasks.task"),
        ("from ..fusion.norm import NORMS", "dlfa_adapters.fusion.norm"),
        ("importlib.import_module('peft')", "peft"),
    ],
)
def test_every_way_to_import_is_seen(source, found):
    assert imports(ast.parse(source), "dlfa_adapters.tasks.pos", is_package=False) == {found}


def test_what_runs_at_import_time():
    source = "import a\nif TYPE_CHECKING:\n    import b\ndef f():\n    import c\nclass C:\n    import d"
    assert imports(at_import_time(ast.parse(source)), "dlfa_cli.x", is_package=False) == {"a", "d"}


@pytest.mark.parametrize(
    ("module", "index"), [("dlfa_adapters.ground.errors", 0), ("dlfa_adapters", 18), ("dlfa_cli.main", 19)]
)
def test_groups(module, index):
    assert group(module) == index


def test_a_folder_that_is_in_no_group_must_be_placed():
    with pytest.raises(AssertionError, match="say where it belongs"):
        group("dlfa_adapters.misc")
