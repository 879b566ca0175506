"""What is looked at: run folders, and an encoder; checked before anything is loaded."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from dlfa_adapters.runs import Run

Runs = Annotated[list[Path] | None, typer.Argument(metavar="RUN", help="Run folders, of any tuning.")]
EncoderToo = Annotated[
    str | None, typer.Option("--model", "-m", help="An encoder too, or alone: on the hub, a folder, or `offline`.")
]


def check_some_named(runs: Sequence[Path] | None, model: str | None) -> None:
    """Refuse a command that names no run and no encoder."""
    from dlfa_adapters.ground.errors import ConfigError

    if not runs and model is None:
        raise ConfigError("Name what is to be looked at: run folders, or an encoder with --model offline.")


def read_models(runs: Sequence[Path] | None, model: str | None, plot: Path | None) -> "list[Run]":
    """The runs of a command, when all that it names can be used: they, the encoder, and the plot."""
    from dlfa_adapters.data.places import check_encoder_name
    from dlfa_adapters.ground.plots import check_plot
    from dlfa_adapters.predict.centred import NOT_TOLD, check_not_centred
    from dlfa_adapters.predict.load import task_of
    from dlfa_adapters.runs import read_run

    _check_named_once([str(run) for run in runs or ()])
    read = [read_run(run) for run in runs or ()]
    if plot is not None:
        check_plot(plot)
    if model is not None:
        check_encoder_name(model)
    for run in read:
        task_of(run)
        check_not_centred(run, NOT_TOLD)
    return read


def runs_or_encoders(names: Sequence[str], *, alone: bool, named: str = "--before") -> "list[Run | str]":
    """Models by name: the runs among them are read, all else is taken for the name of an encoder.

    An encoder can be looked at by itself if it stands `alone`; the option `named` would allow it.

    Raises:
        RunError: If a run folder is not complete.
        ConfigError: If one is no run and cannot be an encoder.
    """
    from dlfa_adapters.data.places import check_encoder_name
    from dlfa_adapters.ground.errors import ConfigError
    from dlfa_adapters.predict.load import task_of
    from dlfa_adapters.runs import RUN_RECORD, read_run

    _check_named_once(names)
    read: list[Run | str] = []
    for name in names:
        if (Path(name) / RUN_RECORD).exists():
            run = read_run(name)
            task_of(run)
            read.append(run)
            continue
        if not alone:
            raise ConfigError(
                f"There is no run folder {name}; for an encoder name the one that it started from with {named}."
            )
        check_encoder_name(name)
        read.append(name)
    return read


def _check_named_once(names: Sequence[str]) -> None:
    """Refuse a model that is named twice: its rows would be those of one."""
    from dlfa_adapters.ground.errors import ConfigError

    places = [os.path.normpath(name) for name in names]
    if twice := next((name for name, place in zip(names, places, strict=True) if places.count(place) > 1), None):
        raise ConfigError(f"{twice} is named twice; name each model once.")
