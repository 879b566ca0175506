"""What the recipes are as texts: documented, short, made of public names, and not a package."""

import ast
import importlib
import re
import shlex
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from dlfa_adapters.tuning import get_tuning
from dlfa_cli.recipes import recipes

ROOT = Path(__file__).parents[2]
RECIPES = recipes()
SCRIPTS = {path.relative_to(ROOT / "recipes").with_suffix("").as_posix(): path for path in RECIPES.values()}
DOCUMENTED = set(
    re.findall(r"^::: (\S+)", "\n".join(p.read_text("utf-8") for p in (ROOT / "docs").rglob("*.md")), re.MULTILINE)
)
MOST_LINES = 80


@pytest.fixture(params=SCRIPTS)
def tree(request):
    return ast.parse(SCRIPTS[request.param].read_text("utf-8"))


def imported(tree):
    """(module, name) of everything that a recipe takes from the packages here; name None for a whole module."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((alias.name, None) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from ((node.module or "." * node.level, alias.name) for alias in node.names)


def is_public(module, name):
    """Whether the reference documents a name, or the `__all__` of its package lists it."""
    return f"{module}.{name}" in DOCUMENTED or name in getattr(importlib.import_module(module), "__all__", ())


def test_recipes_import_public_names_only(tree):
    ours = [(module, name) for module, name in imported(tree) if module.split(".")[0] not in sys.stdlib_module_names]
    assert ours
    for module, name in ours:
        assert module.split(".")[0] == "dlfa_adapters", module
        assert name is not None, f"{module}: import its names"
        assert not any(part.startswith("_") for part in (*module.split("."), name)), (module, name)
        assert is_public(module, name), f"{module}.{name} is neither documented nor in an __all__"


def test_what_is_public():
    assert is_public("dlfa_adapters.learning", "train")
    assert not is_public("dlfa_adapters.learning.run", "Ready")


def test_nothing_private_is_read(tree):
    """No `something._name`."""
    attributes = [node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)]
    assert [name for name in attributes if name.startswith("_")] == []


def test_a_recipe_is_one_short_script(tree):
    assert not [node for node in ast.walk(tree) if isinstance(node, ast.ClassDef)]
    functions = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}
    main = functions["main"]
    assert main.end_lineno - main.lineno + 1 <= MOST_LINES
    assert tree.body[-1].test.left.id == "__name__"


def test_the_docstring_says_what_it_reproduces_from_what_and_at_what_cost(tree):
    doc = ast.get_docstring(tree)
    assert re.match(r"[A-Z][^\n]{20,110}\.\n\n", doc)
    for heading in ("\nReproduces: ", "\nData: ", "\nTime and memory: "):
        assert heading in doc


@pytest.mark.parametrize("name", SCRIPTS)
def test_the_commands_in_the_docstring_can_be_typed(name, recipe, monkeypatch):
    """Each is parsed up to the first call of the library; what is behind it is tested with small data."""
    module = recipe(name, SCRIPTS[name])
    commands = re.findall(rf"^    python recipes/{name}\.py *(.*?)(?:#.*)?$", module.__doc__, re.MULTILINE)
    assert len(commands) >= 2
    works = next(work for work in ("pretrain_bert", "train", "run_sweep") if hasattr(module, work))
    monkeypatch.setattr(module, works, called := Called())
    depth = SimpleNamespace(model=SimpleNamespace(config=SimpleNamespace(num_hidden_layers=12)))
    monkeypatch.setattr(module, "load_encoder", lambda name: depth, raising=False)
    monkeypatch.setattr(module, "read_parallel", lambda path, limit: [], raising=False)
    for command in commands:
        with pytest.raises(Called.Stop):
            module.main(shlex.split(command))
    for options in called.options:
        get_tuning(options.get("tuning", "full"))


class Called:
    """Takes the arguments of a call and ends it."""

    class Stop(Exception):
        """The call."""

    def __init__(self):
        self.options = []

    def __call__(self, *args, **options):
        self.options.append(options)
        raise self.Stop


def test_recipes_are_no_package():
    code = "import recipes"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "not a package; type: dlfa recipes cp ner" in done.stderr


def test_no_package_imports_recipes():
    for path in (path for package in ("dlfa_adapters", "dlfa_cli") for path in (ROOT / package).rglob("*.py")):
        names = {module.split(".")[0] for module, _ in imported(ast.parse(path.read_text("utf-8")))}
        assert "recipes" not in names, path


def test_the_reference_lists_every_recipe_and_no_other():
    page = (ROOT / "docs" / "reference" / "recipes.md").read_text("utf-8")
    assert sorted(re.findall(r"^\| `([\w/]+)` \|", page, re.MULTILINE)) == sorted(RECIPES)
