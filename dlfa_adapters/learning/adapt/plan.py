"""What domain adaptation is about to do, and what comes of it."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dlfa_adapters.data.assemble import left_out
from dlfa_adapters.encoders import Encoder
from dlfa_adapters.learning.adapt.options import AdaptOptions
from dlfa_adapters.learning.language import steps_in_words
from dlfa_adapters.learning.plan_words import learning_in_words
from dlfa_adapters.learning.settings import Settings
from dlfa_adapters.tuning import PartSize
from dlfa_adapters.tuning.adaptation import Adaptation
from dlfa_adapters.tuning.bottleneck import LanguageTuning


@dataclass(frozen=True)
class AdaptPlan:
    """An adaptation that is about to begin; `adapt_encoder` hands it to `on_start`.

    Attributes:
        options: Which text, and what learns.
        tuning: What it makes of the encoder.
        settings: Resolved ones.
        encoder: The encoder, with the decoder on it.
        text: What is learnt from, in figures.
        report: Parameters by part.
        out: Where the encoder or adapter will be.
        task: The task that the text is of, or None.
        taken: What the files were taken for.
        notes: Sentences that the user should read.
    """

    options: AdaptOptions
    tuning: Adaptation | LanguageTuning
    settings: Settings
    encoder: Encoder
    text: dict[str, Any]
    report: list[PartSize]
    out: Path
    task: str | None = None
    taken: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def lines(self) -> list[str]:
        """What is going to be done, for the screen or a log."""
        text, options = self.text, self.options
        what = "an adapter, the encoder stays as it is" if options.is_adapter else options.learns
        hidden = "whole words" if options.whole_words else "pieces"
        units = [f"{name} {count:,}" for name, count in text["languages"].items()]
        pairs = f", {text['pairs']:,} of them pairs, which stay pairs" if text["pairs"] else ""
        decoder = (
            "the checkpoint's own"
            if self.tuning.decoder is not None
            else "new, for this encoder has none; tied to its input embeddings, and learnt too"
        )
        return [
            f"Encoder: {self.encoder.origin}",
            f"Adapts: {what}; hides 15 % of the text, {hidden}",
            f"Decoder: {decoder}",
            *(f"Read: {line}" for line in self.taken),
            f"Text, without labels: {', '.join(units)} texts{pairs}; {text['held_out']:,} held out; "
            f"{text['pieces']:,} pieces in {text['rows']:,} rows",
            *([f"Left out: {left_out(text['dropped'])}."] if text["dropped"] else []),
            learning_in_words(self.report),
            steps_in_words(self.settings),
        ]


@dataclass(frozen=True)
class Adapted:
    """An adapted encoder, or an adapter, in its folder.

    Attributes:
        folder: Where it is; a name of an encoder, or for an adapter what stands behind `stack:`.
        record: What `adapted.json` holds, or for an adapter `language.json`.
    """

    folder: Path
    record: dict[str, Any]

    @property
    def is_adapter(self) -> bool:
        """Whether it is an adapter, and the encoder the one that was there."""
        return "adapter" in self.record
