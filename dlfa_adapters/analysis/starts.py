"""The encoder that a training started from, which its model is held against."""

from collections.abc import Sequence

from dlfa_adapters.ground.errors import ConfigError, RunError
from dlfa_adapters.runs import Run


def start_of(model: Run | str) -> str:
    """The name of the encoder that a run was trained on.

    Raises:
        ConfigError: If it is no run.
    """
    if isinstance(model, Run):
        return str(model.config["encoder"]["name"])
    raise ConfigError(f"{model} is no run, which would tell what it started from; name that encoder with --before.")


def check_start(run: Run, fingerprint: str, how: str = "name the weights that it was trained on with --before") -> None:
    """Refuse an encoder, by its fingerprint, that is not the one which a run was trained on; `how` ends the sentence.

    Raises:
        RunError: If it is another one.
    """
    recorded = run.config["encoder"]
    if fingerprint != recorded["fingerprint"]:
        raise RunError(
            f"The run {run.folder} was trained on {recorded['name']} with fingerprint {recorded['fingerprint']}, the "
            f"encoder found under that name has {fingerprint}; {how}."
        )


def common_start(models: Sequence[Run | str]) -> str:
    """The encoder that all of some runs were trained on.

    Raises:
        ConfigError: If they were trained on several, or one is no run.
    """
    names = dict.fromkeys(start_of(model) for model in models)
    if len(names) > 1:
        raise ConfigError(
            f"The runs were trained on several encoders, {', '.join(names)}; look at those of each by themselves."
        )
    return next(iter(names))
