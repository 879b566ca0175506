"""`dlfa predict`, `export`, `convert`: the model of a run at work on text, as an ONNX file, or for Transformers."""

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from dlfa_cli.options import EvaluationPrecision, LanguageAdapter, RunFolder, Upos, read_besides

_COLOURS = {"PER": "green", "LOC": "cyan", "ORG": "magenta"}


def predict(
    run: RunFolder,
    text: Annotated[
        list[str] | None, typer.Argument(help="Texts; without any, or with -, lines of --file or stdin.")
    ] = None,
    file: Annotated[Path | None, typer.Option("--file", "-f", help="UTF-8 text, one text a line.")] = None,
    language: Annotated[
        str | None,
        typer.Option(
            "--language",
            "-l",
            help="Code such as zh, where the script does not tell: how text is split into words or sentences.",
        ),
    ] = None,
    language_adapter: LanguageAdapter = None,
    precision: EvaluationPrecision = "fp32",
    compile: Annotated[bool, typer.Option("--compile", help="Use torch.compile: pays for many texts.")] = False,
    upos: Upos = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON list on stdout.")] = False,
) -> None:
    """Tag, label or parse text, by what the run was trained for.

    A tagger writes a word and its tag a line, an empty line after each text; text is split into words at blanks and
    punctuation, Chinese and Japanese into characters. A classifier writes a label and its probability a line, one line
    for each text; the two texts of a pair have a TAB between them. A parser writes CoNLL-U; it reads texts, or CoNLL-U,
    of which all but heads and relations is kept. Examples:

    `dlfa predict runs/ner-demo "Amina alisafiri hadi Kigali."`

    `dlfa predict runs/ner-demo --file news.txt --language zh --json`

    `cat news.txt | dlfa predict runs/ner-demo`

    `dlfa predict runs/ner-stack --language-adapter adapters/sw "Amina alisafiri hadi Kigali."`

    `dlfa predict runs/xnli --file pairs.tsv`

    `dlfa predict runs/parse-lora --file words.conllu > parsed.conllu`
    """
    from dlfa_adapters.data.layout import check_language
    from dlfa_adapters.data.readers.oddities import have_labels
    from dlfa_adapters.ground.environment import count_items
    from dlfa_adapters.ground.errors import ConfigError
    from dlfa_adapters.kinds import kind_of_task
    from dlfa_adapters.predict.centred import check_centred
    from dlfa_adapters.predict.load import check_has_language, check_precision, takes_pairs, task_of
    from dlfa_adapters.runs import read_run
    from dlfa_cli.screen import loading, progress_bars, typed

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
    options = read_besides(read, upos)
    check_centred(read, [language])
    task, texts = task_of(read), _texts(text, file)
    if have_labels(texts, task.labels, bool(takes_pairs(read))):
        raise ConfigError(
            "Texts are expected, but behind every one stands a TAB and a label of the run; to score them type "
            f"dlfa evaluate {typed(run)} --data {file or 'FILE'}, or give the texts alone."
        )
    kind = kind_of_task(task)
    inputs = kind.read_lines(texts, language, takes_pairs(read))
    with loading("Loading the model") as screen:
        from dlfa_adapters.predict.forms import load_fast

        model: Any = load_fast(read, language_adapter, precision=precision, compile=compile, options=options)
    with progress_bars(screen) as progress:
        step = count_items(len(inputs), len(inputs), lambda done, total: progress(kind.verb, done, total))
        model.language = language
        answers = kind.answers(model, texts, inputs, step)
        step(len(inputs))
    if as_json:
        typer.echo(json.dumps(answers, ensure_ascii=False, indent=1))
        return
    for answer in answers:
        for line, colour in kind.printed(answer):
            typer.secho(line, fg=_COLOURS.get(colour))


def _texts(given: Sequence[str] | None, file: Path | None) -> list[str]:
    """The texts: arguments, or lines of a file, or lines of stdin, which `-` stands for."""
    from dlfa_adapters.data.readers.base import Notes
    from dlfa_adapters.data.readers.lines import read_lines
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
    return _decoded(sys.stdin.buffer.read(), "standard input")


def _argument(text: str) -> str:
    """An argument read as UTF-8, also where the locale has another encoding, as a file is."""
    if not any("\udc80" <= char <= "\udcff" for char in text):  # bytes that the locale has no character for
        return text
    return "\n".join(_decoded(text.encode("utf-8", "surrogateescape"), f"the text {text!a}"))


def _decoded(data: bytes, name: str) -> list[str]:
    from dlfa_adapters.data.readers.base import Notes
    from dlfa_adapters.data.readers.lines import decode_lines

    return decode_lines(data, name, Notes(name, strict=True))


def export(
    run: RunFolder,
    out: Annotated[Path, typer.Argument(metavar="OUT.onnx", help="The file; what it needs is written beside it.")],
    language_adapter: LanguageAdapter = None,
) -> None:
    """Write the model of a run for use without PyTorch, after comparing its logits with PyTorch's.

    Beside the file come the labels, tokenizer.json, and a small package that tags words or labels texts with numpy,
    onnxruntime and tokenizers alone. Needs the extra `onnx`. Examples:

    `dlfa export runs/ner-demo onnx/ner.onnx`

    `dlfa export runs/ner-stack onnx-sw/ner.onnx --language-adapter adapters/sw`
    """
    from dlfa_adapters.export.files import check_extra, check_place
    from dlfa_adapters.predict.load import check_has_language, kind_of
    from dlfa_adapters.runs import read_run
    from dlfa_cli.screen import loading, progress_bars

    check_extra()
    check_place(out)
    kind_of(read := read_run(run))
    if language_adapter is not None:
        check_has_language(read)
    with loading() as screen:
        from dlfa_adapters.export import export_onnx

    with progress_bars(screen) as progress:
        written = export_onnx(read, out, language_adapter=language_adapter, progress=progress)
    shapes = ", ".join(f"{batch}x{length}" for batch, length in written.shapes)
    screen.print(f"Logits within {written.difference:.1e} of PyTorch's (batch x length {shapes})", markup=False)
    typer.echo(written.file)


def convert(
    run: Annotated[Path, typer.Argument(help="A run folder.")],
    out: Annotated[Path, typer.Argument(help="A new folder.")],
) -> None:
    """Write the model of a run as Transformers writes one: with the encoder, a LoRA merged into it, and a card.

    A run folder works in `pipeline(...)` as it is; the new folder needs neither the run nor the encoder, and can be put
    on a hub. Runs of `bottleneck` and `stack` have no such form. Example:

    `dlfa convert runs/ner-lora my-tagger`
    """
    from dlfa_adapters.kinds import kind_named
    from dlfa_adapters.predict.load import check_new, kind_of
    from dlfa_adapters.runs import read_run
    from dlfa_cli.screen import loading, visible

    kind_of(read := read_run(run))
    check_new(out)
    with loading("Loading the model"):
        from dlfa_adapters.predict.forms import convert_run

        folder = convert_run(read, out)
    task = kind_named(kind_of(read)).pipeline
    typer.echo(f"Saved in {visible(str(folder))}. Use it in Python:\n")
    typer.echo("  import dlfa_adapters\n  from transformers import pipeline\n")
    typer.echo(f"  model = pipeline({task!r}, model={str(folder)!r})")
