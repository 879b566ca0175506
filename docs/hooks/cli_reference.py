"""Writes the reference of the command line from the commands themselves, so that it cannot fall behind them.

MkDocs calls `on_page_markdown` for every page; where one has the line `<!-- the commands -->`, the text of
`reference()` takes its place. It reads signatures and docstrings of `dlfa_cli`, and of the dataclasses of options in
`dlfa_adapters`, which does not load PyTorch.
"""

import inspect
import os
import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import typer

MARK = "<!-- the commands -->"

_PLACEHOLDERS = {int: "N", float: "X", Path: "PATH", str: "TEXT"}


@dataclass(frozen=True)
class Command:
    """A command: its full name, such as `dlfa data check`, the function behind it, and its help."""

    name: str
    function: Callable[..., Any]
    help: str

    @property
    def paragraphs(self) -> list[str]:
        """Its help, a line each."""
        return [" ".join(part.split()) for part in self.help.split("\n\n")]

    @property
    def anchor(self) -> str:
        """Its place on the page."""
        return self.name.replace(" ", "-")


@dataclass(frozen=True)
class Parameter:
    """An argument or option of a command, from the signature of its function."""

    name: str
    type: Any
    info: Any
    default: Any

    @property
    def is_option(self) -> bool:
        """Whether it is named on the command line."""
        return type(self.info).__name__ == "OptionInfo"

    @property
    def spelling(self) -> str:
        """How it is typed, with a placeholder for its value."""
        plain, several = _plain_type(self.type)
        placeholder = self.info.metavar or _placeholder(plain)
        if not self.is_option:
            name = self.info.metavar or self.name.upper()
            return f"`{name}`" + (" …" if several else "")
        spelt = ", ".join(f"`{name}`" for name in self.names)
        return spelt if plain is bool else f"{spelt} `{placeholder}`" + (" …" if several else "")

    @property
    def names(self) -> list[str]:
        """The names of an option, long ones first."""
        # in `Annotated[str, typer.Option("--model", "-m")]` typer first takes "--model" for a default
        first = self.info.default if isinstance(self.info.default, str) else None
        spelt = [name for each in (first, *(self.info.param_decls or ())) if each for name in each.split("/")]
        given = [name for name in spelt if name.startswith("-")]
        long = "--" + self.name.replace("_", "-")
        if not given:
            given = [long, long.replace("--", "--no-", 1)] if _plain_type(self.type)[0] is bool else [long]
        return sorted(given, key=lambda name: name.startswith("--"), reverse=True)

    @property
    def row(self) -> str:
        """Its row in a table."""
        text = " ".join((self.info.help or "").split()).replace("|", "\\|")
        required = self.default is inspect.Parameter.empty
        shown = "required" if required else "" if self.default is None or self.default is False else f"`{self.default}`"
        return f"| {self.spelling} | {text} | {shown} |"


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Put the reference where a page asks for it; a hook of MkDocs."""
    return markdown.replace(MARK, reference()) if MARK in markdown else markdown


def reference() -> str:
    """All commands in Markdown: an overview, then a section for each with its text, examples, arguments and options."""
    from dlfa_cli.main import app

    found = list(commands(app, "dlfa"))
    rows = [f"| [`{command.name}`](#{command.anchor}) | {_first_sentence(command)} |" for command in found]
    overview = "\n".join(["| command | does |", "|---|---|", *rows])
    return "\n\n".join([overview, *map(_section, found)])


def commands(app: typer.Typer, prefix: str) -> Iterator[Command]:
    """Every command of an application and of the groups in it."""
    for registered in app.registered_commands:
        function = registered.callback
        if function is not None and not registered.hidden:
            texts = (registered.help or inspect.getdoc(function), registered.epilog)
            text = "\n\n".join(text for text in texts if text)
            yield Command(f"{prefix} {registered.name or function.__name__.replace('_', '-')}", function, text)
    for group in app.registered_groups:
        if group.typer_instance is not None and group.name:
            yield from commands(group.typer_instance, f"{prefix} {group.name}")


def parameters(command: Command) -> list[Parameter]:
    """What a command takes, in the order of its signature; options that are read off the library stand behind them."""
    hints = get_type_hints(command.function, include_extras=True)
    taken = [
        (each.name, hints[each.name], each.default) for each in inspect.signature(command.function).parameters.values()
    ]
    if (generated := getattr(command.function, "generated", None)) is not None:
        from dlfa_cli.from_dataclasses import signature_of

        if "dlfa_adapters" not in sys.modules:
            os.environ["DLFA_MODELS_LATER"] = "1"  # the models, and PyTorch with them, are not needed
        taken += [(each.name, each.annotation, each.default) for each in signature_of(generated)]
    found = []
    for name, hint, default in taken:
        annotated, *infos = get_args(hint) or (hint,)  # a typer.Context stands alone
        info = next((info for info in infos if type(info).__name__ in ("OptionInfo", "ArgumentInfo")), None)
        if info is not None and not info.hidden:
            found.append(Parameter(name, annotated, info, default))
    return found


def _section(command: Command) -> str:
    found = parameters(command)
    arguments = [parameter for parameter in found if not parameter.is_option]
    panels: dict[str, list[Parameter]] = {}
    for parameter in found:
        if parameter.is_option:
            panels.setdefault(parameter.info.rich_help_panel or "Options", []).append(parameter)
    parts = [f"## {command.name} {{ #{command.anchor} }}", _text(command)]
    if arguments:
        parts.append(_table("Arguments", arguments))
    return "\n\n".join([*parts, *(_table(title, options) for title, options in panels.items())])


def _text(command: Command) -> str:
    """The help of a command, with its examples as one block."""
    out: list[str] = []
    examples: list[str] = []
    for paragraph in [*command.paragraphs, ""]:
        if re.fullmatch(r"`[^`]+`[.,;]?", paragraph):
            examples.append(paragraph.strip("`.,;"))
            continue
        if examples:
            out.append("\n".join(["```bash", *examples, "```"]))
            examples = []
        out.append(paragraph)
    return "\n\n".join(out).strip()


def _table(title: str, rows: list[Parameter]) -> str:
    return "\n".join([f"| {title} | | default |", "|---|---|---|", *(parameter.row for parameter in rows)])


def _first_sentence(command: Command) -> str:
    return re.split(r"(?<=\.)\s", command.paragraphs[0], maxsplit=1)[0].replace("|", "\\|")


def _plain_type(annotation: Any) -> tuple[Any, bool]:
    """The type of one value, and whether several may be given."""
    if get_origin(annotation) in (Union, UnionType):
        annotation = next(kind for kind in get_args(annotation) if kind is not type(None))
    if get_origin(annotation) in (list, tuple):
        return get_args(annotation)[0], True
    return annotation, False


def _placeholder(plain: Any) -> str:
    if get_origin(plain) is Literal:
        return "|".join(map(str, get_args(plain)))
    return _PLACEHOLDERS.get(plain, "VALUE")
