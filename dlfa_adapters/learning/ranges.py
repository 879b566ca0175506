"""Which values the options of a training may have, which learning rates are tried, and where curves may go."""

import sys
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from dlfa_adapters.ground.environment import world_size
from dlfa_adapters.ground.errors import ConfigError, MissingExtraError

if TYPE_CHECKING:
    from dlfa_adapters.learning.settings import Settings, StepOptions
    from dlfa_adapters.tuning import Defaults, Tuning

_FROM_ONE = (1, sys.maxsize, "a whole number from 1 up")
_RATE = (sys.float_info.min, sys.float_info.max, "a number above 0")
RANGES: dict[str, tuple[float, float, str]] = {
    "batch_size": _FROM_ONE,
    "micro_batch_size": _FROM_ONE,
    "epochs": _FROM_ONE,
    "every": _FROM_ONE,
    "first_sentences": _FROM_ONE,
    "min_steps": (0, sys.maxsize, "a whole number from 0 up"),
    "patience": (0, sys.maxsize, "a whole number from 0 up"),
    "learning_rate": _RATE,
    "head_learning_rate": _RATE,
    "weight_decay": (0, sys.float_info.max, "a number from 0 up"),
    "aux_temperature": (sys.float_info.min, sys.float_info.max, "a number above 0"),
    "source_temperature": (sys.float_info.min, sys.float_info.max, "a number above 0"),
    "warmup": (0, 1, "a share of the steps, from 0 to 1"),
    "within": (0, 100, "points from 0 to 100"),
    "seed": (0, 2**32 - 1, f"a whole number from 0 to {2**32 - 1}"),  # what NumPy takes
}
"""Least and greatest value of each option, and how to say so."""

REPORT_TO = (
    "none", "azure_ml", "comet_ml", "mlflow", "neptune", "tensorboard", "trackio", "wandb", "codecarbon", "clearml",
    "dagshub", "flyte", "dvclive", "swanlab",
)  # fmt: skip
"""Where curves can go. What takes these words loads PyTorch, and they are wanted before; a test compares them."""


def check_ranges(options: Mapping[str, Any]) -> None:
    """Refuse a number that cannot work; None stands for what is still open.

    Raises:
        ConfigError: Naming the option, its range and the value that came.
    """
    for name, (low, high, allowed) in RANGES.items():
        value = options.get(name)
        if value is not None and not low <= value <= high:  # NaN is in no range
            raise ConfigError(f"{name} must be {allowed}, got {value!r}.")


def check_report_to(place: str) -> None:
    """Refuse a place for the curves that there is not, or whose package is not installed.

    Raises:
        ConfigError: Naming the places and the one that came.
        MissingExtraError: If the package is missing.
    """
    if place not in REPORT_TO:
        raise ConfigError(f"report_to must be one of {', '.join(REPORT_TO)}; got {place!r}.")
    if place != "none":
        from transformers.integrations import get_available_reporting_integrations

        if place not in get_available_reporting_integrations():
            raise MissingExtraError(f"--report-to {place} needs its package; type: pip install {place}")


def check_steps(steps: int) -> None:
    """Refuse, with a `ConfigError`, a number of steps below 1."""
    if steps < 1:
        raise ConfigError(f"steps must be a whole number from 1 up, got {steps!r}; type 2000.")


def parse_numbers(text: str, what: str = "layers") -> list[int]:
    """Numbers of layers or blocks from `4-9`, `1,7` or both.

    Raises:
        ConfigError: If it is neither, or a range runs backwards.
    """
    numbers: list[int] = []
    for part in text.split(","):
        first, _, last = part.strip().partition("-")
        if not first.isdecimal() or not (last or first).isdecimal() or int(last or first) < int(first):
            raise ConfigError(f"expected {what} such as 4-9 or 1,7, got {text!r}.")
        numbers += range(int(first), int(last or first) + 1)
    return numbers


def blocks_left_out(options: dict[str, Any]) -> dict[str, Any]:
    """Options in which `leave_out`, a text such as `1-6`, a number or several, is a tuple in order; None for none.

    Raises:
        ConfigError: If there is another thing in it than numbers from 1 up.
    """
    if (given := options.get("leave_out")) is None:
        return options
    blocks = parse_numbers(given, "blocks") if isinstance(given, str) else [given] if isinstance(given, int) else given
    if not all(isinstance(block, int) and block >= 1 for block in blocks):
        raise ConfigError(f"leave_out must be numbers of blocks, from 1 up, got {given!r}.")
    return {**options, "leave_out": tuple(sorted(set(blocks))) or None}


_SEVERAL = {"learning_rate": "learning_rates", "head_learning_rate": "head_learning_rates"}


def several_rates(options: dict[str, Any]) -> dict[str, Any]:
    """Options in which several rates, under whichever name, stand under the plural, and a single one does not.

    Raises:
        ConfigError: If one of several is no number above 0.
    """
    options = dict(options)
    for one, several in _SEVERAL.items():
        if isinstance(options.get(one), Iterable) and not isinstance(options[one], str):
            options[several] = options.pop(one)
        if options.get(several) is None:
            continue
        rates = tuple(sorted(set(options[several])))
        if not all(isinstance(rate, int | float) and 0 < rate < float("inf") for rate in rates):
            raise ConfigError(f"{several} must be numbers above 0, got {list(rates)}.")
        if len(rates) == 1:
            options[one] = rates[0]
        options[several] = rates if len(rates) != 1 else ()
    return options


def rates_to_try(steps: "StepOptions", defaults: "Defaults") -> tuple[float, ...] | None:
    """Rates of the head that a training tries: what is given, or where no rate is, what the tuning has; () for none.

    None stands for the encoder's, where several of those are tried, no rate of the head is given, and the tuning has
    one for both.
    """
    if steps.head_learning_rates is not None:
        return steps.head_learning_rates
    if steps.head_learning_rate:
        return ()
    if steps.learning_rates and defaults.learning_rate == defaults.head_learning_rate:
        return None
    return () if steps.learning_rate else defaults.head_learning_rates


def check_rates(settings: "Settings", tuning: "Tuning") -> None:
    """Refuse, with a `ConfigError`, several rates for a single training that cannot try them."""
    if settings.steps.learning_rates:
        raise ConfigError("Several --lr are tried by dlfa sweep and dlfa tune; give one, or several --head-lr.")
    if settings.steps.head_learning_rates and not tuning.on_states:
        raise ConfigError("Several --head-lr are tried by --tuning features, dlfa sweep and dlfa tune; give one.")


def at_the_edge(end: str, rate: float, tried: Iterable[float]) -> str:
    """The advice where the best rate has no neighbour on one side: it is the `lowest` or `highest` of those tried."""
    further = rate / 3 if end == "lowest" else rate * 3
    rates = ",".join(f"{each:g}" for each in sorted({*tried, float(f"{further:.0e}")}))
    return f"The best learning rate of the head, {rate:g}, is the {end} of those tried; try --head-lr {rates}."


def accumulation_steps(settings: "Settings") -> int:
    """Batches that a process adds up for a step.

    Raises:
        ConfigError: If the batch is no multiple of what all processes run at once.
    """
    batch, micro = settings.steps.batch_size, settings.machine.micro_batch_size
    at_once = (micro or batch) * world_size()
    if batch % at_once:
        raise ConfigError(
            f"The batch of {batch} cannot be divided among {world_size()} processes with {micro} items each at once; "
            f"type e.g. --batch-size {at_once}."
        )
    return batch // at_once
