"""Which options each way of training honours; what was given beside them is refused by name.

The options of a fusion are every loop's that has one: they are the module's.
"""

from dataclasses import dataclass

from dlfa_adapters.ground.errors import ConfigError
from dlfa_adapters.kinds import options_of_kinds
from dlfa_adapters.learning.settings import Settings
from dlfa_adapters.tuning import Tuning

_HEAD = ("fusion", "fuse_layer", "pooling", "classifier", "lstm_hidden", "lstm_dropout")
_CUT = ("max_length", "context", "first_sentences")
_TEXT = (*_CUT, "parallel", "target_text", "center")
_RATES = ("learning_rate", "head_learning_rate")
_OPTIMISER = ("batch_size", "weight_decay", "warmup", "max_grad_norm", "seed")
_SOURCES = ("source_weights", "source_temperature")
_AUX = ("aux", "aux_temperature")
_MACHINE = ("micro_batch_size", "precision", "gradient_checkpointing", "compile", "report_to")


_SPELLED = {"learning_rate": "--lr", "head_learning_rate": "--head-lr", "micro_batch_size": "--micro-batch"}


def spelled(name: str) -> str:
    """How an option is typed on the command line."""
    name = name.removesuffix("s") if name in ("learning_rates", "head_learning_rates") else name
    return _SPELLED.get(name, f"--{name.replace('_', '-')}")


@dataclass(frozen=True)
class Loop:
    """A way of training.

    Attributes:
        name: What it is called in a sentence.
        honours: The options that change something in it; of some it takes one value alone, and says so itself.
    """

    name: str
    honours: tuple[str, ...]

    def check(self, settings: Settings) -> None:
        """Refuse by name, with a `ConfigError`, what would change nothing; what is the default counts as left out."""
        flat, own = settings.as_dict(), settings.head.fusion_options
        known = Settings.known(settings.head.fusion)
        same = {"micro_batch_size": flat["batch_size"]}  # as it is filled in, and given again by `--resume`
        unused = [
            spelled(name)
            for name, value in flat.items()
            if name not in self.honours
            and not hasattr(own, name)
            and value not in (None, (), [], known[name].default, same.get(name))
        ]
        if unused:
            them = "it" if len(unused) == 1 else "them"
            raise ConfigError(f"{self.name} has no use for {', '.join(unused)}; leave {them} out.")


TRAINER = Loop(
    "A training of the encoder",
    (*_HEAD, *options_of_kinds(), *_TEXT, "epochs", "max_steps", "min_steps", *_RATES, *_OPTIMISER, "patience", "every",
     *_MACHINE, "states", "leave_out", *_SOURCES, *_AUX),
)  # fmt: skip
LINEAR_ON_STATES = Loop(
    "--tuning features, where the encoder runs once and a linear classifier learns on its states,",
    ("fusion", "fuse_layer", "pooling", "classifier", *options_of_kinds(), *_TEXT, "epochs", "max_steps", "min_steps",
     *_RATES, "head_learning_rates", "batch_size", "weight_decay", "within", "seed", "precision", *_SOURCES, "aux"),
)  # fmt: skip
LSTM_ON_STATES = Loop(
    "--tuning features, where the encoder runs once and an LSTM learns on its states,",
    (*_HEAD, *options_of_kinds(), *_TEXT, "epochs", "max_steps", "min_steps", *_RATES, "head_learning_rates",
     "batch_size", "max_grad_norm", "seed", "precision", *_SOURCES),
)  # fmt: skip
FROZEN_SWEEP = Loop(
    "A sweep of a frozen encoder",
    ("pooling", "classifier", *options_of_kinds(), *_CUT, "center", "epochs", "max_steps", *_RATES,
     "head_learning_rates", "batch_size", "weight_decay", "within", "seed", "precision", *_SOURCES),
)  # fmt: skip
FINETUNED_SWEEP = Loop(
    "A sweep of fine-tuned encoders, which are scored after each epoch,",
    ("pooling", "classifier", "lstm_hidden", "lstm_dropout", *options_of_kinds(), *_CUT, "center", "epochs",
     "max_steps", *_RATES, "head_learning_rates", "learning_rates", *_OPTIMISER, *_MACHINE, *_SOURCES),
)  # fmt: skip
LANGUAGE = Loop(
    "The training of a language adapter",
    ("batch_size", "micro_batch_size", "max_length", *_RATES, "weight_decay", "warmup", "max_grad_norm", "every",
     "precision", "gradient_checkpointing", "compile", "report_to", "seed"),
)  # fmt: skip


def loop_of(settings: Settings, tuning: Tuning) -> Loop:
    """The loop of a single training."""
    if not tuning.on_states:
        return TRAINER
    return LINEAR_ON_STATES if settings.head.classifier == "linear" else LSTM_ON_STATES


def check_honoured(settings: Settings, tuning: Tuning) -> None:
    """Refuse by name, with a `ConfigError`, what would change nothing in a training."""
    loop_of(settings, tuning).check(settings)


def check_swept(settings: Settings, tuning: Tuning) -> None:
    """Refuse by name, with a `ConfigError`, what would change nothing in a sweep."""
    if settings.head.fuse_layer is not None:
        raise ConfigError("A sweep tries many fuse layers; name them with --layers instead of --fuse-layer.")
    if settings.head.fusion != "dlfa":
        raise ConfigError(
            f"A sweep trains dlfa and the controls; type --with {settings.head.fusion} instead of --fusion."
        )
    (FROZEN_SWEEP if tuning.on_states else FINETUNED_SWEEP).check(settings)
