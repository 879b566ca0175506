"""`dlfa analyze probing`."""

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dlfa_cli.analyze.models import runs_or_encoders
from dlfa_cli.options import RESAMPLES, AsJson, Format, Resamples, TagColumn, WordColumn, language_list, numbers

if TYPE_CHECKING:
    from dlfa_adapters.analysis.states import Opened
    from dlfa_adapters.runs import Run


def probing(
    models: Annotated[list[str], typer.Argument(metavar="MODEL...", help="Run folders; with --model encoders too.")],
    tasks: Annotated[
        list[str] | None,
        typer.Option("--task", "-t", metavar="TASK[=PLACE]", help="A probing task and its training data. Repeatable."),
    ] = None,
    dev: Annotated[
        list[str] | None, typer.Option("--dev", metavar="TASK=PLACE", help="Dev data of a task. Repeatable.")
    ] = None,
    data: Annotated[
        list[str] | None,
        typer.Option(
            "--data", "-d", metavar="TASK=PLACE", help="Test data of a task; default: dev is scored. Repeatable."
        ),
    ] = None,
    model: Annotated[
        str | None,
        typer.Option("--model", "-m", help="The pre-trained encoder; default: the one that the runs began with."),
    ] = None,
    languages: Annotated[
        str | None, typer.Option("--languages", help="Only these of --data, such as `de,sw`; default: all.")
    ] = None,
    language: Annotated[
        str | None, typer.Option("--language", "-l", help="Language of train and dev; default: en, or by file name.")
    ] = None,
    limit: Annotated[
        int | None, typer.Option(min=1, help="Take the first N items of each language, in each part.")
    ] = None,
    layers: Annotated[str | None, typer.Option(help="Layers to read, e.g. 4-9 or 1,12; default: the last.")] = None,
    score: Annotated[str, typer.Option(help="`macro-f1` over labels, or the task's own `metric`.")] = "macro-f1",
    lr: Annotated[str, typer.Option(help="First learning rates; dev chooses, probe by probe.")] = "1e-3,1e-2,1e-1,1",
    epochs: Annotated[int, typer.Option(min=1, help="Passes over the training data.")] = 5,
    resamples: Resamples = RESAMPLES,
    seed: Annotated[int, typer.Option(min=0, help="Seed of training and bootstrap.")] = 0,
    format: Format = None,
    word_column: WordColumn = None,
    tag_column: TagColumn = None,
    as_json: AsJson = False,
    plot: Annotated[Path | None, typer.Option(help="Draw models by tasks into this .svg, .png or .pdf.")] = None,
) -> None:
    """What fine-tuning on one task did to what the encoder tells of others: a matrix of models by tasks.

    A linear classifier for each probing task learns on the frozen pre-trained encoder (probe), and on that of each
    model (ceiling). Prints ceiling minus probe, with intervals. Examples:

    `dlfa analyze probing runs/ner-lora --task pos --task ner`

    `dlfa analyze probing runs/pos-en runs/ner-en -t pos=udpos/ -t ner=panx/ -d pos=udpos/ -d ner=panx/ --limit 2000`

    `dlfa analyze probing ./adapted --model xlm-roberta-base --task ner=panx/ --layers 1-12 --json > probing.json`
    """
    from dlfa_adapters.analysis.probing.options import ProbeOptions
    from dlfa_adapters.data.places import Reading, check_encoder_name, check_source
    from dlfa_adapters.ground.errors import ConfigError
    from dlfa_adapters.ground.plots import check_plot
    from dlfa_adapters.learning.checks import default_source
    from dlfa_adapters.learning.ranges import parse_numbers
    from dlfa_adapters.predict.centred import NOT_TOLD, check_not_centred
    from dlfa_cli.screen import loading, print_lines, progress_bars, show_json, show_tables

    chosen_rates = numbers(lr, "--lr")
    options = ProbeOptions(learning_rates=chosen_rates, epochs=epochs, seed=seed, score=score, resamples=resamples)
    chosen = parse_numbers(layers) if layers else None
    if not tasks:
        raise ConfigError("Name what is probed for: --task pos=PLACE, or --task pos for the samples; repeatable.")
    if languages is not None and not data:
        raise ConfigError("--languages is for test data; name some with --data TASK=PLACE, or leave it out.")
    trained = {
        name: place or default_source(name, f"--task {name}=PLACE,")
        for name, place in _by_task(tasks, "--task").items()
    }
    dev_data, test_data = (_by_task(each or [], name, trained) for each, name in ((dev, "--dev"), (data, "--data")))
    for place, split in [*((x, "train") for x in trained.values()), *((x, "test") for x in test_data.values())]:
        check_source(place, split, format)
    reading = Reading(format, word_column, tag_column)
    reading.check([*trained.values(), *dev_data.values(), *test_data.values()])
    if plot is not None:
        check_plot(plot)
    if model is not None:
        check_encoder_name(model)
    read = runs_or_encoders(models, alone=model is not None, named="--model")
    for run in read:
        if not isinstance(run, str):
            check_not_centred(run, NOT_TOLD)
    with loading() as screen:
        from dlfa_adapters.analysis.probing.data import read_probe_data
        from dlfa_adapters.analysis.probing.models import probe_models
        from dlfa_adapters.analysis.probing.models_report import plot_probing, probing_notes, probing_tables
        from dlfa_adapters.analysis.starts import common_start
        from dlfa_adapters.data.assemble import left_out

    before = model or common_start(read)
    wanted = language_list(languages)
    probed = [
        read_probe_data(
            task, place, dev_data.get(task), test_data.get(task), language=language, languages=wanted, limit=limit,
            reading=reading,
        )
        for task, place in trained.items()
    ]  # fmt: skip
    for each in probed:
        print_lines(screen, [f"Read: {line}" for line in each.taken])
        if each.dropped:
            print_lines(screen, [f"{each.task.name}, left out: {left_out(each.dropped)}."])
    with progress_bars(screen) as progress:
        opened = _opened(before, read, checked=model is None)
        found = probe_models(next(opened)[1], opened, probed, options, chosen, progress)
    if plot is not None:
        plot_probing(found, plot)
    if as_json:
        show_json(found.to_dict())
    else:
        show_tables(probing_tables(found), probing_notes(found))


def _by_task(given: list[str], option: str, known: dict[str, str] | None = None) -> dict[str, str]:
    """The place behind each task; "" for none."""
    from dlfa_adapters.ground.errors import ConfigError

    found: dict[str, str] = {}
    for text in given:
        task, equals, place = text.partition("=")
        if not task or (known is not None and not place) or (equals and not place):
            raise ConfigError(f"{option} expects TASK=PLACE, got {text!r}; type e.g. {option} ner=panx/.")
        if task in found:
            raise ConfigError(f"{option} names {task} twice; give each task once.")
        if known is not None and task not in known:
            raise ConfigError(f"{option} is for {task}, but the tasks are {', '.join(known)}; add --task {task}=PLACE.")
        found[task] = place
    return found


def _opened(before: str, models: "list[Run | str]", *, checked: bool) -> "Iterator[tuple[str | None, Opened]]":
    """The pre-trained encoder, then the models, each opened when it is wanted."""
    from dlfa_adapters.analysis.probing.models import check_shape
    from dlfa_adapters.analysis.starts import check_start
    from dlfa_adapters.analysis.states import Opened, in_turn, open_encoder, open_run
    from dlfa_adapters.encoders import fingerprint
    from dlfa_adapters.runs import Run

    encoder = open_encoder(before)
    for model in models:
        if checked and isinstance(model, Run):
            check_start(model, fingerprint(encoder.model), "name the weights that it was trained on with --model")

    def open_one(model: Run | str) -> tuple[str | None, Opened]:
        return (str(model.config["task"]), open_run(model)) if isinstance(model, Run) else (None, open_encoder(model))

    def open_before() -> tuple[str | None, Opened]:
        return None, encoder

    ways: list[Callable[[], tuple[str | None, Opened]]] = [open_before, *(partial(open_one, model) for model in models)]
    yield from in_turn(ways, lambda opened: check_shape(encoder, opened[1]))
