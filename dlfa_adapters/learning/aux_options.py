"""Auxiliary tasks: which are named, with which data. Looked at before PyTorch is loaded."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dlfa_adapters.data.places import check_languages, check_source
from dlfa_adapters.ground.errors import ConfigError, DataError
from dlfa_adapters.kinds import kind_of_task
from dlfa_adapters.tasks import get_task
from dlfa_adapters.tuning import Tuning

if TYPE_CHECKING:
    from dlfa_adapters.learning.settings import Settings

_FORM = "aux must be data by task, such as pos=FILE,pawsx=FILE; got {!r}."


def aux_as_text(options: dict[str, Any]) -> dict[str, Any]:
    """Options in which `aux`, a text or a mapping from task to place, is a text: `pos=FILE,pawsx=FILE`.

    Raises:
        ConfigError: If it is neither, or a task comes twice.
    """
    given = options.get("aux")
    if given is None:
        return options
    if isinstance(given, Mapping):
        given = ",".join(f"{task}={place}" for task, place in given.items())
    return {**options, "aux": ",".join(f"{task}={place}" for task, place in read_aux(given).items())}


def read_aux(text: Any) -> dict[str, str]:
    """The data of each task in `pos=FILE,pawsx=FILE`.

    Raises:
        ConfigError: If it is not of that form.
    """
    places: dict[str, str] = {}
    for part in text.split(",") if isinstance(text, str) else [""]:
        task, _, place = (each.strip() for each in part.partition("="))
        if not task or not place:
            raise ConfigError(_FORM.format(text))
        if task in places:
            raise ConfigError(f"aux names {task} twice, got {text!r}.")
        places[task] = place
    return places


def languages_of(place: str, task: str, named: Sequence[str]) -> str | None:
    """In which languages auxiliary data are read: the source language, or those of several that there are data in.

    Returns:
        As `load_split` takes them; None: what the name of a single file says, or English.

    Raises:
        DataError: If there are data in none of those that are named.
    """
    if len(named) < 2:
        return named[0] if named else None
    if Path(place).is_file():
        return None
    missing = []
    for code in named:
        try:
            check_languages(place, task, "train", [code])
        except DataError as error:
            missing.append((code, error))
    if len(missing) == len(named):
        raise missing[0][1]
    return ",".join(code for code in named if code not in dict(missing))


def check_aux(task: str, settings: "Settings", tuning: Tuning | None, languages: Sequence[str]) -> None:
    """Refuse auxiliary tasks that cannot be learnt beside a task; the tuning is looked at where it is known.

    Raises:
        ConfigError: If a task is the main one or of a kind with other labels, the tuning has one head alone, states are
            to be cached or centred, or nothing is to be drawn by a temperature.
        DataError: If there are no such data.
    """
    if settings.steps.aux is None:
        if settings.steps.aux_temperature is not None:
            raise ConfigError("--aux-temperature is for --aux; name auxiliary tasks, or leave it out.")
        return
    if tuning is not None and tuning.saved == "peft":
        raise ConfigError("--aux needs a model with several heads, which PEFT's is not; type --tuning lora.")
    if settings.machine.states == "cached":
        raise ConfigError("--states cached is for one task; leave it or --aux out.")
    if settings.text.center is not None:
        raise ConfigError("--center is for one task; leave it or --aux out.")
    for name, place in read_aux(settings.steps.aux).items():
        if name in (task, "train", "dev"):
            raise ConfigError(f"--aux names {name}, which stands for something else in a run; name others.")
        for known in filter(None, (get_task(name), get_task(task))):
            if kind_of_task(known).label_inputs != ("labels",):
                raise ConfigError(f"--aux is for tags and labels, and {known.name} has trees; leave it out.")
        check_source(place if place.startswith(("hub:", "samples:")) else Path(place), "train")
        languages_of(place, name, languages)
