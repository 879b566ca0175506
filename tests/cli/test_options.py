"""An option that takes one value and is given twice is an error, in every command."""

import pytest
import typer.main
from typer.testing import CliRunner

from dlfa_cli.main import app
from dlfa_cli.options import sources


def commands(group, path=()):
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from commands(command, (*path, name))
        else:
            yield (*path, name), command


COMMANDS = dict(commands(typer.main.get_command(app)))


def options(path):
    """Of a command, with those that are read off the library."""
    params = COMMANDS[path].get_params(typer.Context(COMMANDS[path]))
    return [parameter for parameter in params if parameter.param_type_name == "option"]


@pytest.mark.parametrize("path", COMMANDS, ids=" ".join)
def test_every_option_of_one_value_is_given_once(path):
    single = [option for option in options(path) if not (option.multiple or option.is_flag)]
    for option in single:
        first, *_, last = (option.opts[0], *option.opts)
        result = CliRunner().invoke(app, [*path, first, "1", last, "2"])
        assert result.exit_code == 2
        said = " ".join(result.stderr.replace("│", " ").split())
        assert f"expected {max(option.opts, key=len)} once, but it is given 2 times" in said


def test_options_that_are_lists_and_flags_may_come_again():
    lists = {option.name for path in COMMANDS for option in options(path) if option.multiple}
    assert {"fuse_layer", "language_adapter"} <= lists
    result = CliRunner().invoke(app, ["evaluate", "nowhere", "-d", "x", "--json", "--json", "--language-adapter", "a=b",
                                      "--language-adapter", "c=d"])  # fmt: skip
    assert "once, but" not in result.output
    assert "nowhere" in str(result.exception)


def test_completion_of_a_second_value_is_no_error():
    command = COMMANDS["evaluate",]
    context = command.make_context("evaluate", ["run", "-d", "x", "-d", "y"], resilient_parsing=True)
    assert context.params["data"] == "y"


@pytest.mark.parametrize(
    ("given", "found"),
    [
        (None, None),
        (["train.tsv"], "train.tsv"),
        (["hub:panx"], "hub:panx"),
        (["en=a.tsv"], {"en": "a.tsv"}),
        (["en=a.tsv", "pt-br=b=c.tsv"], {"en": "a.tsv", "pt-br": "b=c.tsv"}),
    ],
)
def test_places_by_language(given, found):
    assert sources(given, "--train") == found


@pytest.mark.parametrize("given", [["a.tsv", "b.tsv"], ["en=a.tsv", "b.tsv"], ["en=a.tsv", "en=b.tsv"]])
def test_several_places_have_a_language_each(given):
    with pytest.raises(
        typer.BadParameter, match=r"given 2 times; leave one of them, .* --train en=train-en.tsv --train"
    ):
        sources(given, "--train")


def test_a_file_with_an_equals_sign(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "en=a.tsv").touch()
    assert sources(["en=a.tsv"], "--train") == "en=a.tsv"


def test_several_files_are_a_folder():
    result = CliRunner().invoke(app, ["evaluate", "run", "--data", "a.tsv", "--data", "b.tsv"])
    assert "leave one of them or name a folder that holds both." in " ".join(result.output.replace("│", " ").split())
