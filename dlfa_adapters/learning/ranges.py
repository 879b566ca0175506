"""Which numbers the options of a training may have, and where curves may go."""

import sys
from collections.abc import Mapping
from typing import Any

from dlfa_adapters.ground.errors import ConfigError, MissingExtraError

_FROM_ONE = (1, sys.maxsize, "a whole number from 1 up")
_RATE = (sys.float_info.min, sys.float_info.max, "a number above 0")
RANGES: dict[str, tuple[float, float, str]] = {
    "batch_size": _FROM_ONE,
    "micro_batch_size": _FROM_ONE,
    "epochs": _FROM_ONE,
    "every": _FROM_ONE,
    "min_steps": (0, sys.maxsize, "a whole number from 0 up"),
    "patience": (0, sys.maxsize, "a whole number from 0 up"),
    "learning_rate": _RATE,
    "head_learning_rate": _RATE,
    "weight_decay": (0, sys.float_info.max, "a number from 0 up"),
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

    Args:
        options: Options by name.

    Raises:
        ConfigError: Naming the option, its range and the value that came.
    """
    for name, (low, high, said) in RANGES.items():
        value = options.get(name)
        if value is not None and not low <= value <= high:  # NaN is in no range
            raise ConfigError(f"{name} must be {said}, got {value!r}.")


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
    """Refuse a number of steps that is none.

    Raises:
        ConfigError: If it is below 1.
    """
    if steps < 1:
        raise ConfigError(f"steps must be a whole number from 1 up, got {steps!r}; type 2000.")
