"""Every help screen shows what to type, and what it shows can be typed."""

import re
import shlex

import pytest
import typer
from typer.testing import CliRunner

from dlfa_cli.main import app

GROUP = typer.main.get_command(app)


def commands(group=GROUP, name="dlfa"):
    """Name -> command, groups too."""
    found = {name: group}
    for part, command in getattr(group, "commands", {}).items():
        found |= commands(command, f"{name} {part}")
    return found


def examples(command):
    text = "\n".join(filter(None, [command.help, command.epilog]))
    return [example for example in re.findall(r"`([^`]+)`", text) if "dlfa" in example]


@pytest.mark.parametrize("name", commands())
def test_every_help_has_an_example_of_its_own(name):
    assert [example for example in examples(commands()[name]) if name in example]


@pytest.mark.parametrize("example", sorted({e for command in commands().values() for e in examples(command)}))
def test_every_example_can_be_typed(example):
    """Its options are there and have values that fit."""
    words = shlex.split(example.split(">")[0].split("|")[-1])
    words = words[words.index("dlfa" if "dlfa" in words else "dlfa_cli") + 1 :]
    command, context = GROUP, None
    while words and words[0] in getattr(command, "commands", {}):
        command = command.commands[words.pop(0)]
    if command is GROUP:
        return  # `dlfa COMMAND --help` and the like
    context = command.make_context("dlfa", words or ["--help"], resilient_parsing=not words)
    assert context.command is command


def test_dlfa_alone_shows_where_to_begin():
    out = " ".join(CliRunner().invoke(app, []).output.split())
    assert out.index("dlfa demo") < out.index("dlfa predict runs/ner-demo") < out.index("dlfa report")


def options(command):
    """The options of a command, as its help shows them."""
    return [param for param in command.get_params(typer.Context(command)) if param.param_type_name == "option"]


@pytest.mark.parametrize("name", commands())
def test_a_flag_asks_for_no_value(name):
    printed = CliRunner().invoke(app, [*name.split()[1:], "--help"], terminal_width=200).output
    assert "--help" in printed
    assert "bool" not in printed.lower()


@pytest.mark.parametrize("name", commands())
def test_every_option_says_what_it_is_by_itself(name):
    """Not "its ..." or "of ...", of which a reader of one line cannot know what is meant."""
    for option in options(commands()[name]):
        assert re.match(r"(?!Its |Of |Between |Share of steps).", option.help or ""), option.name
