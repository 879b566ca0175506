"""What a language adapter is trained with: its options, checked, and the plan before the first step."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dlfa_adapters.encoders import Encoder
from dlfa_adapters.ground.environment import device_name
from dlfa_adapters.ground.errors import ConfigError
from dlfa_adapters.learning.loops import LANGUAGE
from dlfa_adapters.learning.plan_words import learning_in_words
from dlfa_adapters.learning.ranges import check_steps
from dlfa_adapters.learning.settings import Settings, make_settings, resolve
from dlfa_adapters.tuning import PartSize, Tuning
from dlfa_adapters.tuning.bottleneck import LanguageTuning

LANGUAGE_OPTIONS = LANGUAGE.honours
"""The fields of `Settings` that a language adapter's training has."""


@dataclass(frozen=True)
class LanguagePlan:
    """A training that is about to begin; `train_language` hands it to `on_start`.

    Attributes:
        tuning: Language and form of the adapter.
        settings: Resolved ones.
        encoder: The encoder, with adapter and decoder on it.
        text: What is learnt from, in figures.
        report: Parameters by part.
        out: Where the adapter will be.
        notes: Sentences that the user should read.
    """

    tuning: LanguageTuning
    settings: Settings
    encoder: Encoder
    text: dict[str, Any]
    report: list[PartSize]
    out: Path
    notes: list[str] = field(default_factory=list)

    def lines(self) -> list[str]:
        """What is going to be trained, for the screen or a log."""
        text, adapter = self.text, self.tuning.record()
        without = f", none in block {', '.join(map(str, adapter['leave_out']))}" if adapter["leave_out"] else ""
        return [
            f"Encoder: {self.encoder.origin}",
            f"Adapter: {self.tuning.language}, {adapter['config']}, reduction {adapter['reduction']:g}{without}; "
            f"{adapter['decoder']} decoder over the encoder's embeddings",
            f"Text: {', '.join(text['files'])}: {text['paragraphs']:,} paragraphs, {text['held_out']:,} held out; "
            f"{text['pieces']:,} pieces in {text['rows']:,} rows",
            learning_in_words(self.report),
            steps_in_words(self.settings),
        ]


@dataclass(frozen=True)
class TrainedLanguage:
    """A language adapter in its folder.

    Attributes:
        folder: Where it is.
        record: What `language.json` holds: `language`, `adapter`, `encoder`, `text`, `perplexity`, `training`,
            `versions`, and under `files` the sha256 of every other file.
    """

    folder: Path
    record: dict[str, Any]


def steps_in_words(settings: Settings) -> str:
    """How long and at which rates is learnt by masked language modelling: a line."""
    steps, length, precision = settings.steps, settings.text.max_length, settings.machine.precision
    return (
        f"Steps: {steps.max_steps}, batch {steps.batch_size} x {length}, learning rate {steps.learning_rate:g}, "
        f"decoder {steps.head_learning_rate:g}, {precision}; {device_name('no GPU')}"
    )


def language_settings(tuning: LanguageTuning, steps: int, options: dict[str, Any]) -> Settings:
    """Resolved settings.

    Raises:
        ConfigError: If there is no option of that name, or a value cannot work.
    """
    for name in options:
        if name not in LANGUAGE_OPTIONS:
            raise ConfigError(
                f"The training of a language adapter has no option {name!r}; it has {', '.join(LANGUAGE_OPTIONS)}."
            )
    check_steps(steps)
    return masked_settings(tuning, steps, options)


def masked_settings(tuning: Tuning, steps: int, options: dict[str, Any]) -> Settings:
    """Resolved settings of a training by masked language modelling, which has defaults of its own."""
    return resolve(make_settings(**{"batch_size": 64, "every": 500, **options}, max_steps=steps), tuning)


def as_options(settings: Settings) -> dict[str, Any]:
    """What `language_settings` takes again."""
    flat = settings.as_dict()
    return {name: flat[name] for name in LANGUAGE_OPTIONS}
