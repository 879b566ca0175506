"""`dlfa predict`: tag text in any language with the model of a run."""

import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated

import typer

_COLOURS = {"PER": "green", "LOC": "cyan", "ORG": "magenta"}


def predict(
    run: Annotated[Path, typer.Argument(help="A run folder, e.g. what `dlfa demo` saved.")],
    text: Annotated[list[str] | None, typer.Argument(help="Texts; without any, lines of --file or stdin.")] = None,
    file: Annotated[Path | None, typer.Option("--file", "-f", help="UTF-8 text, one text a line.")] = None,
    language: Annotated[
        str | None, typer.Option("--language", "-l", help="Code such as zh, where the script does not tell.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON list on stdout.")] = False,
) -> None:
    """Tag text: a word and its tag a line, an empty line after each text.

    Text is split into words at blanks and punctuation; Chinese and Japanese into characters. Examples:

    `dlfa predict runs/ner-demo "Amina alisafiri hadi Kigali."`

    `dlfa predict runs/ner-demo --file news.txt --language zh --json`

    `cat news.txt | dlfa predict runs/ner-demo`
    """
    from dlfa_cli.screen import errors_console, progress_bars, quiet_libraries

    with errors_console().status("Loading the model"):
        from dlfa_adapters.data.words import split_words
        from dlfa_adapters.evaluation.evaluate import count_items
        from dlfa_adapters.evaluation.load import load_tagger
        from dlfa_adapters.runs import read_run

        quiet_libraries()
        read = read_run(run)
        texts = _texts(text, file)
        tagger = load_tagger(read)
    words = [split_words(line, language) for line in texts]
    with progress_bars(errors_console()) as progress:
        step = count_items(len(words), len(words), lambda done, total: progress("Tagging", done, total))
        tags = tagger.predict(words, on_progress=step)
        step(len(words))
    if as_json:
        rows = zip(texts, words, tags, strict=True)
        typer.echo(json.dumps([_as_dict(*row) for row in rows], ensure_ascii=False, indent=1))
    else:
        _show(words, tags)


def _texts(given: Sequence[str] | None, file: Path | None) -> list[str]:
    """The texts: arguments, or lines of a file, or lines of stdin."""
    from dlfa_adapters.data.readers.base import Notes
    from dlfa_adapters.data.readers.lines import decode_lines, read_lines
    from dlfa_adapters.errors import ConfigError

    if given and file:
        raise ConfigError("Give texts or --file, not both.")
    if given:
        return [_argument(text) for text in given]
    if file:
        return read_lines(file, Notes(file, strict=True))
    if sys.stdin.isatty():
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


def _as_dict(text: str, words: list[str], tags: list[str]) -> dict[str, object]:
    return {"text": text, "words": words, "tags": tags, "entities": list(_entities(words, tags))}


def _entities(words: list[str], tags: list[str]) -> Iterator[dict[str, object]]:
    """Spans of words, `stop` behind the last one; an I- without its B- begins one too, as conlleval has it."""
    from dlfa_adapters.evaluation.metrics.spans import lenient_spans

    for kind, first, last in lenient_spans(tags):
        yield {"type": kind, "start": first, "stop": last + 1, "words": words[first : last + 1]}


def _show(words: list[list[str]], tags: list[list[str]]) -> None:
    """Columns that the readers take: word, tab, tag, and an empty line after each text; in colour on a terminal."""
    for sentence, sentence_tags in zip(words, tags, strict=True):
        for word, tag in zip(sentence, sentence_tags, strict=True):
            typer.secho(f"{word}\t{tag}", fg=_COLOURS.get(tag[2:]))
        typer.echo()
