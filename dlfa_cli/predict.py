"""`dlfa predict`: tag or label text in any language with the model of a run."""

import contextlib
import json
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

_COLOURS = {"PER": "green", "LOC": "cyan", "ORG": "magenta"}


def predict(
    run: Annotated[Path, typer.Argument(help="A run folder, e.g. what `dlfa demo` saved.")],
    text: Annotated[
        list[str] | None, typer.Argument(help="Texts; without any, or with -, lines of --file or stdin.")
    ] = None,
    file: Annotated[Path | None, typer.Option("--file", "-f", help="UTF-8 text, one text a line.")] = None,
    language: Annotated[
        str | None,
        typer.Option(
            "--language", "-l", help="Code such as zh, where the script does not tell: how text is split into words."
        ),
    ] = None,
    language_adapter: Annotated[
        str | None,
        typer.Option(help="Folder of a language adapter that replaces the source's (runs of --tuning stack)."),
    ] = None,
    precision: Annotated[str, typer.Option(help="`fp32`, or `bf16`: half the memory.")] = "fp32",
    compile: Annotated[bool, typer.Option("--compile", help="Use torch.compile: pays for many texts.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON list on stdout.")] = False,
) -> None:
    """Tag or label text, by what the run was trained for.

    A tagger writes a word and its tag a line, an empty line after each text; text is split into words at blanks and
    punctuation, Chinese and Japanese into characters. A classifier writes a label and its probability a line, one line
    for each text; the two texts of a pair have a TAB between them. Examples:

    `dlfa predict runs/ner-demo "Amina alisafiri hadi Kigali."`

    `dlfa predict runs/ner-demo --file news.txt --language zh --json`

    `cat news.txt | dlfa predict runs/ner-demo`

    `dlfa predict runs/ner-stack --language-adapter adapters/sw "Amina alisafiri hadi Kigali."`

    `dlfa predict runs/xnli --file pairs.tsv`
    """
    from dlfa_adapters.data.words import check_language
    from dlfa_adapters.ground.errors import ConfigError
    from dlfa_adapters.kinds import kind_of_task
    from dlfa_adapters.predict.load import check_has_language, check_precision, takes_pairs, task_of
    from dlfa_adapters.runs import read_run
    from dlfa_cli.screen import loading, typed

    check_precision(precision)
    if language is not None:
        check_language(language)
    if language_adapter is not None and "=" in language_adapter and not Path(language_adapter).exists():
        raise ConfigError(
            f"--language-adapter of predict takes one folder, got {language_adapter}; "
            f"type --language-adapter {typed(language_adapter.partition('=')[2])}."
        )
    read = read_run(run)
    if language_adapter is not None:
        check_has_language(read)
    task, texts = task_of(read), _texts(text, file)
    kind = kind_of_task(task)
    inputs = kind.read_lines(texts, language, takes_pairs(read))
    with loading("Loading the model"):
        from dlfa_adapters.predict.forms import load_fast

        model: Any = load_fast(read, language_adapter, precision=precision, compile=compile)
    with _counted(kind.verb, len(texts)) as step:
        answers = kind.answers(model, texts, inputs, step)
    if as_json:
        typer.echo(json.dumps(answers, ensure_ascii=False, indent=1))
        return
    for answer in answers:
        for line, colour in kind.printed(answer):
            typer.secho(line, fg=_COLOURS.get(colour))


@contextlib.contextmanager
def _counted(stage: str, total: int) -> Iterator[Callable[[int], None]]:
    """Progress in texts on stderr.

    Yields:
        What a model calls with the number of windows or texts that were just done.
    """
    from dlfa_adapters.ground.running import count_items
    from dlfa_cli.screen import errors_console, progress_bars

    with progress_bars(errors_console()) as progress:
        step = count_items(total, total, lambda done, total: progress(stage, done, total))
        yield step
        step(total)


def _texts(given: Sequence[str] | None, file: Path | None) -> list[str]:
    """The texts: arguments, or lines of a file, or lines of stdin, which `-` stands for."""
    from dlfa_adapters.data.readers.base import Notes
    from dlfa_adapters.data.readers.lines import decode_lines, read_lines
    from dlfa_adapters.ground.errors import ConfigError
    from dlfa_cli.screen import typed

    given, file = None if given == ["-"] else given, None if file == Path("-") else file
    if given and file:
        raise ConfigError("Give texts or --file, not both.")
    if given:
        if len(given) == 1 and Path(given[0]).is_file():
            raise ConfigError(f"{given[0]} is a file; type --file {typed(given[0])} to read its lines.")
        return [_argument(text) for text in given]
    if file:
        return read_lines(file, Notes(file, strict=True))
    if sys.stdin is None or sys.stdin.isatty():
        raise ConfigError('There is no text; type: dlfa predict RUN "a sentence", or --file FILE.')
    name = "standard input"
    return decode_lines(sys.stdin.buffer.read(), name, Notes(name, strict=True))


def _argument(text: str) -> str:
    """An argument read as UTF-8, also where the locale told Python something else, as a file is."""
    from dlfa_adapters.data.readers.base import Notes
    from dlfa_adapters.data.readers.lines import decode_lines

    if not any("\udc80" <= char <= "\udcff" for char in text):  # bytes that the locale has no character for
        return text
    name = f"the text {text!a}"
    return "\n".join(decode_lines(text.encode("utf-8", "surrogateescape"), name, Notes(name, strict=True)))
