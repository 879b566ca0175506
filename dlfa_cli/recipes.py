"""`dlfa recipes`: scripts to read, run, copy and edit."""

import ast
import re
from pathlib import Path
from typing import Annotated

import typer

from dlfa_cli.options import Command, CommandGroup

TASKS = "tasks.py"
"""The script with the table of tasks."""

recipes_app = typer.Typer(
    cls=CommandGroup,
    help="Scripts to copy and edit, one for each task and each table of the paper. Example: `dlfa recipes cp ner`.",
    no_args_is_help=True,
)


@recipes_app.command("ls", cls=Command)
def list_recipes() -> None:
    """List the recipes. Example: `dlfa recipes ls`."""
    names = recipes()
    width = max(map(len, names))
    for name in names:
        typer.echo(f"{name:{width}}  {about(name)}")


@recipes_app.command("cp", cls=Command)
def copy_recipe(
    name: Annotated[str, typer.Argument(help="A name that `dlfa recipes ls` lists.")],
    to: Annotated[Path, typer.Argument(metavar="DEST", help="A file or a folder.", show_default=False)] = Path(),
    force: Annotated[bool, typer.Option("--force", help="Overwrite.")] = False,
) -> None:
    """Copy a recipe, to edit it.

    A file that is there stays, unless --force is given. Examples:

    `dlfa recipes cp ner`

    `dlfa recipes cp paper/table2_sweep experiments/my_sweep.py`
    """
    typer.echo(copy(name, to, force))


def recipes() -> dict[str, Path]:
    """Name -> file of every recipe: the tasks, which share one; `paper/...`, tables and figures of papers; others."""
    folder = recipes_folder()
    others = [path for path in sorted(folder.glob("[!_]*.py")) if path.name != TASKS]
    scripts = [*sorted(folder.glob("*/[!_]*.py")), *others]
    return {
        **dict.fromkeys(_table(folder / TASKS), folder / TASKS),
        **{path.relative_to(folder).with_suffix("").as_posix(): path for path in scripts},
    }


def text_of(name: str) -> str:
    """A recipe; of one that several tasks share, with the task's name in it."""
    path = recipes()[name]
    text = path.read_text("utf-8")
    return text if path.name != TASKS else re.sub(r'^TASK = "\w+"$', f'TASK = "{name}"', text, flags=re.MULTILINE)


def recipes_folder(package: Path = Path(__file__).parent) -> Path:
    """Where the recipes are: in the installed package, or beside it in a checkout.

    Raises:
        FileNotFoundError: If they are in neither place.
    """
    package = package.resolve()
    installed, checkout = package / "_recipes", package.parent / "recipes"
    for folder, sign in ((installed, installed / TASKS), (checkout, package.parent / "pyproject.toml")):
        if folder.is_dir() and sign.is_file():
            return folder
    raise FileNotFoundError(
        f"there are no recipes in {installed} or {checkout}; install the package again: pip install dlfa-adapters"
    )


def about(name: str) -> str:
    """What a recipe says of itself: its row of the table of tasks, or the first line of its docstring."""
    path = recipes()[name]
    if path.name == TASKS:
        return str(_table(path)[name]["about"])
    return (ast.get_docstring(ast.parse(path.read_text("utf-8"))) or "").partition("\n")[0]


def copy(name: str, to: Path, force: bool = False) -> Path:
    """Copy a recipe, by its name with or without `.py`, to a file or into a folder that exists; the place of the copy.

    Raises:
        FileNotFoundError: If there is no such recipe.
        FileExistsError: If something is in the way, and for a file `force` does not say to overwrite it.
    """
    known = recipes()
    name = name.removesuffix(".py")
    if name not in known:
        raise FileNotFoundError(f"there is no recipe {name!r}; there are {', '.join(known)}.")
    target = to / f"{Path(name).stem}.py" if to.is_dir() else to
    if target.exists() and (target.is_dir() or not force):
        raise FileExistsError(f"{target} exists; give another name, or type --force to overwrite it.")
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(text_of(name), "utf-8")
    return target


def _table(script: Path) -> dict[str, dict[str, str]]:
    """The table of tasks in a script, which is read and not run."""
    tree = ast.parse(script.read_text("utf-8"))
    [table] = [
        node.value for node in tree.body if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "TASKS"
    ]
    return dict(ast.literal_eval(table))
