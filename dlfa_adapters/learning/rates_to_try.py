"""Options that are several learning rates to try."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from dlfa_adapters.ground.errors import ConfigError

if TYPE_CHECKING:
    from dlfa_adapters.learning.settings import Settings, StepOptions
    from dlfa_adapters.tuning import Defaults, Tuning

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
    """Refuse several rates for a single training that cannot try them.

    Raises:
        ConfigError: If so.
    """
    if settings.steps.learning_rates:
        raise ConfigError("Several --lr are tried by dlfa sweep and dlfa tune; give one, or several --head-lr.")
    if settings.steps.head_learning_rates and not tuning.on_states:
        raise ConfigError("Several --head-lr are tried by --tuning features, dlfa sweep and dlfa tune; give one.")


def at_the_edge(end: str, rate: float, tried: Iterable[float]) -> str:
    """What a user is told whose best rate has no neighbour on one side.

    Args:
        end: `lowest` or `highest`.
        rate: The rate.
        tried: What was tried.
    """
    further = rate / 3 if end == "lowest" else rate * 3
    said = ",".join(f"{each:g}" for each in sorted({*tried, float(f"{further:.0e}")}))
    return f"The best learning rate of the head, {rate:g}, is the {end} of those tried; try --head-lr {said}."
