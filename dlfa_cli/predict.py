"""`dlfa predict`: tag text in any language with the model of a run."""

import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

_COLOURS = {"PER": "green", "LOC": "cyan", "ORG": "magenta"}


def predict(
    run: Annotated[Path, typer.Argument(help="A run folder, e.g. what `dlfa demo` saved.")],
    text: Annotated[list[str] | None, typer.Argument(help="Texts; without any, lines of --file or stdin.")] = None,
    file: Annotated[Path | None, typer.Option("--file", "-f", help="UTF-8 text, one text a line.")] = None,
    language: Annotated[
        str | None, typer.Option("--language", "-l", help="Code such as zh, where the script does not tell.")
    ] = None,
    language_adapter: Annotated[
        str | None,
        typer.Option(help="Folder of a language adapter that replaces the source's (runs of --tuning stack)."),
    ] = None,
    precision: Annotated[str, typer.Option(help="`fp32`, or `bf16`: half the memory.")] = "fp32",
    compile: Annotated[bool, typer.Option("--compile", help="Use torch.compile: pays for many texts.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON list on stdout.")] = False,
) -> None:
    """Tag text: a word and its tag a line, an empty line after each text.

    Text is split into words at blanks and punctuation; Chinese and Japanese into characters. Examples:

    `dlfa predict runs/ner-demo "Amina alisafiri hadi Kigali."`

    `dlfa predict runs/ner-demo --file news.txt --language zh --json`

    `cat news.txt | dlfa predict runs/ner-demo`

    `dlfa predict runs/ner-stack --language-adapter adapters/sw "Amina alisafiri hadi Kigali."`
    """
    from dlfa_cli.screen import errors_console, progress_bars, quiet_libraries

    with errors_console().status("Loading the model"):
        from dlfa_adapters.data.words import split_words
        from dlfa_adapters.evaluation.fast import load_fast
        from dlfa_adapters.evaluation.load import check_tags, task_of
        from dlfa_adapters.evaluation.progress import count_items
        from dlfa_adapters.runs import read_run

        quiet_libraries()
        read = read_run(run)
        texts = _texts(text, file)
        check_tags(read)
        tagger: Any = load_fast(read, language_adapter, precision=precision, compile=compile)
    words = [split_words(line, language) for line in texts]
    with progress_bars(errors_console()) as progress:
        step = count_items(len(words), len(words), lambda done, total: progress("Tagging", done, total))
        tags = tagger.predict(words, on_progress=step)
        step(len(words))
    if as_json:
        rows, spans = zip(texts, words, tags, strict=True), task_of(read).metric == "span_f1"
        typer.echo(json.dumps([_as_dict(*row, spans) for row in rows], ensure_ascii=False, indent=1))
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


def _as_dict(text: str, words: list[str], tags: list[str], spans: bool) -> dict[str, object]:
    """A text with its words, their offsets and tags; and the entities, where the tags are of spans."""
    from dlfa_adapters.data.words import word_offsets

    offsets = word_offsets(text, words)
    entities = list(_entities(text, words, offsets, tags)) if spans else []
    return {"text": text, "words": words, "offsets": offsets, "tags": tags, "entities": entities}


def _entities(
    text: str, words: list[str], offsets: list[tuple[int, int]], tags: list[str]
) -> Iterator[dict[str, object]]:
    """Spans with their place in the text; an I- without its B- begins one too, as conlleval has it."""
    from dlfa_adapters.evaluation.metrics.spans import lenient_spans

    for kind, first, last in lenient_spans(tags):
        start, end = offsets[first][0], offsets[last][1]
        yield {"type": kind, "text": text[start:end], "start": start, "end": end, "words": words[first : last + 1]}


def _show(words: list[list[str]], tags: list[list[str]]) -> None:
    """Columns that the readers take: word, tab, tag, and an empty line after each text; in colour on a terminal."""
    for sentence, sentence_tags in zip(words, tags, strict=True):
        for word, tag in zip(sentence, sentence_tags, strict=True):
            typer.secho(f"{word}\t{tag}", fg=_COLOURS.get(tag[2:]))
        typer.echo()
