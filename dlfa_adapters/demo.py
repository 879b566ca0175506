"""The demo: learn named entities from English sample sentences, then tag other languages, on a laptop without a hub.

The sentences are samples written for this project: the scores show how the method behaves and are no results.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import fmean
from typing import Any

from dlfa_adapters.data.places import sample_file, sample_languages
from dlfa_adapters.data.sources import load_data
from dlfa_adapters.data.words import split_words
from dlfa_adapters.encoders import load_encoder
from dlfa_adapters.ground.environment import Progress
from dlfa_adapters.ground.files import sha256_of
from dlfa_adapters.ground.folders import draft_beside
from dlfa_adapters.kinds import SpanF1, kind_of_task
from dlfa_adapters.learning.cut import windows_of
from dlfa_adapters.learning.dataset import make_examples
from dlfa_adapters.learning.features import all_rates, spec_of
from dlfa_adapters.learning.finish import write_head_run
from dlfa_adapters.learning.frozen import Linear, learn_on_states, predict_heads, with_states
from dlfa_adapters.learning.frozen.stacks import all_layers
from dlfa_adapters.learning.settings import TextOptions, make_settings
from dlfa_adapters.runs import Run, check_run_place
from dlfa_adapters.sweeps.variants import make_variants
from dlfa_adapters.tasks import NER

RATES = (1e-2, 3e-2, 1e-1)
"""Learning rates that every head is tried at. 521 sentences are 17 steps an epoch: at lower rates no head, and the
baseline least of all, gets anywhere in so few steps."""

GATE = "attention"
"""The bounded gate: with a few hundred sentences the printed one learns several times slower."""

TASTE = {
    "es": "Lucía Ferrer dejó Valparaíso para trabajar en la Universidad de Salamanca.",
    "ru": "В среду Ольга Климова прилетела из Казани в Белград на встречу с Яндексом.",
    "hi": "मीरा जोशी पिछले साल जयपुर से लंदन गईं और अब विश्व बैंक में काम करती हैं।",
}
"""Sentences to look at, in languages that the model never saw labels for."""


@dataclass(frozen=True)
class DemoResult:
    """What the demo found; a column is `last` (the baseline) or `D_1`, ..., `D_L`.

    Attributes:
        encoder: One line: where the encoder's weights come from.
        columns: Their names.
        scores: Span F1 (lenient, in percent) by language and column, on the test samples.
        dev_scores: By column the same on English dev, which chose epochs, rates and the column.
        epochs: By column, how many passes over the training data were best.
        rates: By column, the learning rate that was.
        alone: By column, what a linear head on that layer alone has: the dev score, and the mean as `mean` gives it.
        picked: The column with the best dev score.
        taste: Language, words and tags of a few sentences.
        run: The folder of the picked model.
    """

    encoder: str
    columns: list[str]
    scores: dict[str, dict[str, float]]
    dev_scores: dict[str, float]
    epochs: dict[str, int]
    rates: dict[str, float]
    alone: dict[str, tuple[float, float]]
    picked: str
    taste: list[tuple[str, list[str], list[str]]]
    run: Run

    def mean(self, column: str) -> float:
        """The mean over the target languages, English left out."""
        return _mean(self.scores, column)


def run_demo(
    encoder: str = "offline",
    *,
    out: str | Path = "runs/ner-demo",
    seed: int = 0,
    epochs: int = 8,
    progress: Progress | None = None,
) -> DemoResult:
    """Train the baseline and D_1..D_L side by side on English, pick by English dev, score all languages, save.

    The encoder stays frozen: its states are computed once, and all heads are trained on them together, each at several
    learning rates. Beside them stands a linear head on each layer alone.

    Args:
        encoder: `offline`, a folder, or a name on the hub.
        out: Where the picked model's run folder goes; an earlier run there is replaced.
        seed: Of the heads' first weights and of the order of the batches.
        epochs: Most passes over the training data; each head keeps the epoch that is best on English dev.
        progress: Called after each step.

    Raises:
        ConfigError: If the encoder cannot be loaded, or something that is not a run stands in the way of `out`.
        MissingExtraError: If `offline` is asked for and the extra `demo` is not installed.
    """
    check_run_place(Path(out))
    report = progress or (lambda stage, done, total: None)
    report("Loading the encoder", 0, 1)
    loaded = load_encoder(encoder)
    report("Loading the encoder", 1, 1)
    model, tokenizer, num_layers = loaded.model, loaded.tokenizer, loaded.model.config.num_hidden_layers
    longest = min(TextOptions.max_length, loaded.most_pieces)
    settings, languages = make_settings(gate=GATE, seed=seed, max_length=longest), sample_languages("ner")
    parts = {"train": ("train", "en"), "dev": ("dev", "en")} | {language: ("test", language) for language in languages}
    data = {
        name: make_examples(NER, load_data("samples:ner", NER, split, [language]), tokenizer, settings)
        for name, (split, language) in parts.items()
    }
    base = spec_of(settings, "", (), kind_of_task(NER))
    specs = make_variants(base, num_layers, extra=[f"layers:{k}" for k in range(1, num_layers)])
    with draft_beside(Path(out)) as folder:
        states = with_states(model, data, all_layers(specs, num_layers), tokenizer.pad_token_id, folder, report)
        train, dev, rates = states["train"], states["dev"], [all_rates(RATES)] * len(specs)
        told = partial(report, f"Training {len(specs)} heads side by side")
        trials = learn_on_states(specs, train, dev, NER, Linear(epochs), rates=rates, seed=seed, on_progress=told)
        heads = {trial.head.spec.name: trial.head for trial in trials}
        scores = {}
        for language in languages:
            tags = predict_heads(list(heads.values()), states[language], NER.labels)
            scores[language] = dict(zip(heads, (_percent(each, data[language].gold) for each in tags), strict=True))
            report("Scoring", 1, len(languages))
    dev_scores = {name: round(head.dev_score, 2) for name, head in heads.items()}
    columns = {name: head for name, head in heads.items() if head.spec.head.fusion != "layer"}
    picked = max(columns, key=lambda column: columns[column].quality)
    fusion, epoch, rate = columns[picked].spec.head, columns[picked].epoch, columns[picked].rate.learning_rate
    files = {split: sha256_of(sample_file("ner", split, "en")) for split in ("train", "dev")}
    test = {language: row[picked] for language, row in scores.items()}
    run = write_head_run(
        out,
        loaded,
        NER,
        columns[picked],
        settings,
        head={"fusion": fusion.fusion, "fuse_layer": list(fusion.layers), "gate": GATE},
        training={"epochs": epoch, "learning_rate": rate, "rates_tried": list(RATES), "picked_on": "English dev"},
        data={split: {"source": "samples:ner", "language": "en", "sha256": sha256} for split, sha256 in files.items()},
        metrics={"name": "span_f1_lenient", "dev": {"en": dev_scores[picked]}, "test": test},
    )
    tagger = kind_of_task(NER).predictor(model, tokenizer, NER.labels, windows_of(settings), None)
    words = {language: split_words(text, language) for language, text in TASTE.items()}
    return DemoResult(
        encoder=loaded.origin,
        columns=list(columns),
        scores={language: {column: row[column] for column in columns} for language, row in scores.items()},
        dev_scores={column: dev_scores[column] for column in columns},
        epochs={column: head.epoch for column, head in columns.items()},
        rates={column: head.rate.learning_rate for column, head in columns.items()},
        alone={f"D_{k}": (dev_scores[f"layer {k}"], _mean(scores, f"layer {k}")) for k in range(1, num_layers)},
        picked=picked,
        taste=list(zip(words, words.values(), tagger.answer(list(words.values()))[0], strict=True)),
        run=run,
    )


def _mean(scores: dict[str, dict[str, float]], column: str) -> float:
    return round(fmean(row[column] for language, row in scores.items() if language != "en"), 2)


def _percent(tags: Sequence[Any], gold: Sequence[Any]) -> float:
    """The score of NER, in percent; 0 where there is no span."""
    score = SpanF1().compute(predictions=tags, references=gold, labels=NER.labels)[SpanF1.main_score]
    return round(100 * (score or 0.0), 2)
