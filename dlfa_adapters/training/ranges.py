"""Which values the options of a training may have: numbers, and where its curves go."""

import sys

from dlfa_adapters.errors import ConfigError, MissingExtraError

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


def check_ranges(options: object) -> None:
    """Refuse a number that cannot work; None stands for what is still open.

    Args:
        options: Something with the options of `RANGES` as attributes; those that it does not have are not looked at.

    Raises:
        ConfigError: Naming the option, its range and the value that came.
    """
    for name, (low, high, said) in RANGES.items():
        value = getattr(options, name, None)
        if value is not None and not low <= value <= high:  # NaN is in no range
            raise ConfigError(f"{name} must be {said}, got {value!r}.")


def check_report_to(name: str) -> None:
    """Refuse a place for the curves that Trainer does not know, or whose package is not installed.

    Raises:
        ConfigError: If there is no such place.
        MissingExtraError: If its package is missing.
    """
    from transformers.integrations import get_available_reporting_integrations
    from transformers.integrations.integration_utils import INTEGRATION_TO_CALLBACK

    if name != "none" and name not in INTEGRATION_TO_CALLBACK:
        raise ConfigError(f"report_to must be none, {', '.join(INTEGRATION_TO_CALLBACK)}; got {name!r}.")
    if name != "none" and name not in get_available_reporting_integrations():
        raise MissingExtraError(f"--report-to {name} needs its package; type: pip install {name}")
