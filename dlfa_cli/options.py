"""What commands have in common: options, how they are shown and taken, and what their values mean.

Those of heads and trainings are not here: `from_dataclasses` makes them.
"""

import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

READING = "Reading"
_LANGUAGE_AND_PLACE = re.compile(r"([A-Za-z][\w-]*)=(.+)")

Format = Annotated[
    str | None,
    typer.Option("--format", "-f", help="Where it is not found rightly: columns, conllu, ...", rich_help_panel=READING),
]
WordColumn = Annotated[
    str | None,
    typer.Option(help="Column of the words: from 0, or its name in the header row.", rich_help_panel=READING),
]
TagColumn = Annotated[
    str | None,
    typer.Option(help="Column of the tags: from 0, from -1 backwards, or its name.", rich_help_panel=READING),
]

Model = Annotated[
    str, typer.Option("--model", "-m", help="`offline` (from the package index), a folder, or a name on the hub.")
]
RunFolder = Annotated[Path, typer.Argument(help="A run folder, e.g. what `dlfa demo` saved.")]
LanguageAdapter = Annotated[
    str | None,
    typer.Option(help="Folder of a language adapter that replaces the source's (runs of --tuning stack)."),
]
EvaluationPrecision = Annotated[str, typer.Option(help="`fp32`, or `bf16`: half the memory.")]
Upos = Annotated[
    str | None,
    typer.Option(help="Parsing: parts of speech to read, `gold` of the data or a run of a tagger; default: the run's."),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON on stdout.")]

RESAMPLES, _MOST_RESAMPLES = 1000, 1_000_000
Resamples = Annotated[int, typer.Option(min=1, max=_MOST_RESAMPLES, help="Bootstrap resamples.")]
BootstrapSeed = Annotated[int, typer.Option(min=0, help="Seed of the bootstrap.")]


class Command(TyperCommand):
    """A command that refuses a second value where one alone would be used: the last one would silently win.

    A command that is marked by `from_dataclasses.with_options` has the library's options as well.
    """

    _options: list[Any] | None = None

    def get_params(self, ctx: Any) -> list[Any]:
        """The options and arguments."""
        params = _without_types_of_flags(super().get_params(ctx))
        if (options := self._generated()) is None:
            return params
        at = next((i for i, each in enumerate(params) if getattr(each, "rich_help_panel", None) == READING), -1)
        return [*params[:at], *_without_types_of_flags(options), *params[at:]]

    def _generated(self) -> list[Any] | None:
        """Options that are read off the library, once; None where the command has none."""
        generated = getattr(self.callback, "generated", None)
        if generated is not None and self._options is None:
            from dlfa_cli.from_dataclasses import click_options

            self._options = click_options(generated)
        return self._options

    def invoke(self, ctx: Any) -> Any:
        """Run the command; see `click.Command.invoke`."""
        if (options := self._generated()) is not None:
            from dlfa_cli.from_dataclasses import take_options

            take_options(ctx, [option.name for option in options])
        return super().invoke(ctx)

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the arguments; see `click.Command.parse_args`.

        Raises:
            typer.BadParameter: An option that takes one value has more.
        """
        if args and not ctx.resilient_parsing:
            _, _, order = self.make_parser(ctx).parse_args(args=list(args))
            options: list[Any] = [each for each in order if each.param_type_name == "option"]
            for option, times in Counter(options).items():
                if times > 1 and not (option.multiple or option.is_flag or option.count):
                    name = max(option.opts, key=len)
                    folder = " or name a folder that holds both" if name == "--data" else ""
                    raise typer.BadParameter(
                        f"expected {name} once, but it is given {times} times; leave one of them{folder}."
                    )
        return super().parse_args(ctx, args)


class CommandGroup(TyperGroup):
    """A command that has others below it."""

    def get_params(self, ctx: Any) -> list[Any]:
        """The options and arguments."""
        return _without_types_of_flags(super().get_params(ctx))


def sources(given: list[str] | None, option: str) -> str | dict[str, str] | None:
    """The place of some data, or those in `en=train-en.tsv`, by language; None where the option was left out.

    Raises:
        typer.BadParameter: If there are several, and not each has a language of its own.
        ConfigError: If two are of one language, spelled in two ways.
    """
    from dlfa_adapters.scores.groups import check_each_once

    if not given:
        return None
    if len(given) == 1 and (not _LANGUAGE_AND_PLACE.fullmatch(given[0]) or Path(given[0]).exists()):
        return given[0]
    matches = [match for text in given if (match := _LANGUAGE_AND_PLACE.fullmatch(text))]
    by_language = {match[1]: match[2] for match in matches}
    if len(by_language) < len(given):
        each = " ".join(f"{option} {place}".removeprefix("DATA ") for place in ("en=train-en.tsv", "de=train-de.tsv"))
        raise typer.BadParameter(
            f"expected {option} once, or once for each language, but it is given {len(given)} times; leave one of "
            f"them, name a folder that holds both, or give each its language, e.g. {each}."
        )
    check_each_once(by_language, option)
    return by_language


def adapters_by_language(given: Sequence[str]) -> dict[str, str]:
    """The folders in `de=adapters/de`, by language.

    Raises:
        ConfigError: If one is not of this form, or a language comes twice.
    """
    return file_by_language(given, "--language-adapter", "FOLDER", "de=adapters/de")


def files_by_language(
    given: Sequence[str] | None, option: str, what: str = "FILE", such_as: str = "en=en.txt"
) -> dict[str, list[str]]:
    """The files in `en=en.txt`, by language; a language may have several.

    Raises:
        ConfigError: If one is not of this form, or a language is spelled in two ways.
    """
    from dlfa_adapters.ground.errors import ConfigError
    from dlfa_adapters.scores.groups import check_each_once

    files: dict[str, list[str]] = {}
    for text in given or ():
        match = _LANGUAGE_AND_PLACE.fullmatch(text)
        if match is None:
            raise ConfigError(f"{option} expects LANGUAGE={what}, got {text!r}; type e.g. {option} {such_as}.")
        files.setdefault(match[1], []).append(match[2])
    check_each_once(files, option)
    return files


def file_by_language(given: Sequence[str] | None, option: str, *form: str) -> dict[str, str]:
    """The file of each language in `en=en.txt`.

    Raises:
        ConfigError: If one is not of this form, or a language comes twice.
    """
    from dlfa_adapters.ground.errors import ConfigError

    files: dict[str, str] = {}
    for language, of_language in files_by_language(given, option, *form).items():
        if len(of_language) > 1:
            raise ConfigError(f"{option} names {language} twice: {' and '.join(of_language)}.")
        [files[language]] = of_language
    return files


def read_besides(run: Any, upos: str | None) -> dict[str, Any]:
    """What a run shall read in the place of what it says itself; see `options_of_run`.

    Raises:
        ConfigError: If it reads nothing of the sort.
        RunError: If what is named is no run.
    """
    from dlfa_adapters.kinds import kind_named
    from dlfa_adapters.predict.load import kind_of
    from dlfa_adapters.predict.options import options_of_run

    options = {} if upos is None else {"upos": upos}
    options_of_run(run, kind_named(kind_of(run)), options)
    return options


def each_reads_besides(runs: Sequence[Any], upos: str | None) -> list[dict[str, Any]]:
    """`read_besides` of several runs that are compared; those that read nothing of the sort go on reading nothing.

    Raises:
        ConfigError: If none reads it.
        RunError: If what is named is no run.
    """
    readers = [run for run in runs if upos is not None and "upos" in run.config.get("options", {})]
    return [read_besides(run, upos if run in readers or not readers else None) for run in runs]


def language_list(text: str | None) -> list[str] | None:
    """The codes in `de,sw`; None where there are none."""
    return [code for part in (text or "").split(",") if (code := part.strip())] or None


def numbers(text: str, option: str, what: str = "a rate or several, such as 1e-3,1e-2,") -> tuple[float, ...]:
    """The numbers in `1e-3,1e-2`.

    Raises:
        ConfigError: If one is no number.
    """
    from dlfa_adapters.ground.errors import ConfigError

    try:
        return tuple(float(part) for part in text.split(","))
    except ValueError:
        raise ConfigError(f"expected {what} in {option}, got {text!r}.") from None


def rates(text: str | None, option: str) -> float | tuple[float, ...] | None:
    """A rate, several to try with commas between them, or None where the option was left out."""
    values = () if text is None else numbers(text, option)
    return values if len(values) > 1 else next(iter(values), None)


def was_typed(context: typer.Context, name: str) -> bool:
    """Whether an option was typed, and has not its default because it was left out."""
    source = context.get_parameter_source(name)
    return source is not None and source.name == "COMMANDLINE"


def _without_types_of_flags(params: list[Any]) -> list[Any]:
    """The same; a flag takes no value, so no `<bool>` is shown behind it, whichever release of typer it is."""
    for param in params:
        if getattr(param, "is_flag", False):
            param.metavar = ""
    return params
