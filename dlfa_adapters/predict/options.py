"""What a run reads besides its inputs: options of its kind of task, and runs that they name."""

from collections.abc import Mapping
from typing import Any

from dlfa_adapters.fusion.options import A_RUN_UNLESS, no_such_option, options_of
from dlfa_adapters.ground.errors import ConfigError
from dlfa_adapters.kinds import Kind
from dlfa_adapters.predict.centred import check_not_centred
from dlfa_adapters.runs import Run, read_run


def options_of_run(run: Run, kind: Kind, given: Mapping[str, Any]) -> dict[str, Any]:
    """What a run of a kind reads besides its inputs; `given` options take the place of its own.

    Raises:
        ConfigError: If it has none of that name.
        RunError: If a run that is named is no complete run.
    """
    own = run.config.get("options", {})
    check_runs(kind, given)
    if new := [name for name in given if name not in own]:
        raise ConfigError(
            f"The run {run.folder} was trained without {new[0]}, so it reads none; leave it out, or train with it."
        )
    return {**own, **given}


def check_runs(kind: Kind, options: Mapping[str, Any]) -> None:
    """Check that runs that options (of `Kind.options`) name are there, and need not be told the language of a text.

    Raises:
        ConfigError: If the kind has no such option, or a run was trained on centred languages.
        RunError: If a folder is no complete run.
    """
    from dlfa_adapters.predict.load import kind_of

    for folder in runs_in(kind, options).values():
        kind_of(run := read_run(folder))
        check_not_centred(run, "it cannot serve another run, which does not tell it the language")


def with_runs(kind: Kind, options: Mapping[str, Any]) -> dict[str, Any]:
    """Options with the model in the place of each run folder that they name; see `check_runs`."""
    from dlfa_adapters.predict.load import load_run

    return {**options, **{name: load_run(folder) for name, folder in runs_in(kind, options).items()}}


def runs_in(kind: Kind, options: Mapping[str, Any]) -> dict[str, str]:
    """The run folders among options, by name; see `check_runs`."""
    known = {} if kind.options is None else options_of(kind.options)
    if unknown := [name for name in options if name not in known]:
        raise ConfigError(no_such_option(f"A run for {kind.name} has no", unknown[0], known))
    folders = {}
    for name, value in options.items():
        words = known[name].metadata.get(A_RUN_UNLESS)
        if value is not None and words is not None and value not in words:
            folders[name] = str(value)
    return folders
