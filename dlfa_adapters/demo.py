"""The demo: learn named entities from English sample sentences, then tag other languages, on a laptop without a hub.

The sentences are samples written for this project: the scores show how the method behaves and are no results.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

from dlfa_adapters.data.samples import sample_file, sample_languages
from dlfa_adapters.data.sources import load_data
from dlfa_adapters.data.words import split_words
from dlfa_adapters.encoders import Encoder, load_encoder
from dlfa_adapters.ground.files import sha256_of
from dlfa_adapters.ground.running import Progress, count_items
from dlfa_adapters.kinds import kind_of_task
from dlfa_adapters.kinds.predictor import Predictor
from dlfa_adapters.learning.features import add_trained_head, all_rates
from dlfa_adapters.learning.frozen import (
    HeadSpec,
    Linear,
    TaggedStates,
    TrainedHead,
    encode_tagged,
    learn_on_states,
    predict_heads,
)
from dlfa_adapters.runs import Run, write_run
from dlfa_adapters.runs.folder import check_run_place
from dlfa_adapters.runs.record import run_record
from dlfa_adapters.tasks import NER

EPOCHS = 8
RATES = (1e-2, 3e-2, 1e-1)
"""Learning rates that every head is tried at; English dev chooses for each. 521 sentences are 17 steps an epoch: at
lower rates no head, and the baseline least of all, gets anywhere in so few steps."""

GATE = "attention"
"""The bounded gate: with a few hundred sentences the printed one learns several times slower."""

DEMO_WINDOWS: dict[str, Any] = {"max_length": 128, "context": 64}
TASTE = {
    "es": "Lucía Ferrer dejó Valparaíso para trabajar en la Universidad de Salamanca.",
    "ru": "В среду Ольга Климова прилетела из Казани в Белград на встречу с Яндексом.",
    "hi": "मीरा जोशी पिछले साल जयपुर से लंदन गईं और अब विश्व बैंक में काम करती हैं।",
}
"""Sentences to look at, in languages that the model never saw labels for."""


@dataclass(frozen=True)
class DemoResult:
    """What the demo found.

    Attributes:
        encoder: One line: where the encoder's weights come from.
        columns: `last` (the baseline) and `D_1`, ..., `D_L`.
        alone: By the column `D_k`, what a linear head on layer k alone has: the dev score, and the mean over the target
            languages as `mean` gives it.
        scores: Span F1 (lenient, in percent) by language and column, on the test samples; None if undefined.
        dev_scores: The same on English dev, which chose the epochs and the layer.
        epochs: How many passes over the training data each column used.
        rates: The learning rate of each column, which English dev chose.
        picked: The column with the best dev score.
        taste: Language, words and tags of a few sentences.
        run: The folder of the picked model.
    """

    encoder: str
    columns: list[str]
    scores: dict[str, dict[str, float | None]]
    dev_scores: dict[str, float]
    epochs: dict[str, int]
    rates: dict[str, float]
    alone: dict[str, tuple[float, float]]
    picked: str
    taste: list[tuple[str, list[str], list[str]]]
    run: Run

    def mean(self, column: str) -> float:
        """The mean over the target languages, English left out; an undefined score is left out, 0 if all are."""
        return _mean({language: row[column] for language, row in self.scores.items()})


def run_demo(
    encoder: str = "offline",
    *,
    out: str | Path = "runs/ner-demo",
    seed: int = 0,
    epochs: int = EPOCHS,
    progress: Progress | None = None,
) -> DemoResult:
    """Train the baseline and D_1..D_L side by side on English, pick by English dev, score all languages, save.

    The encoder stays frozen: its hidden states are computed once, all heads are trained on them together, each at
    several learning rates, of which English dev chooses one. Beside them stands a linear head on each layer alone.

    Args:
        encoder: `offline`, a folder, or a name on the hub.
        out: Where the picked model's run folder goes; an earlier run there is replaced.
        seed: Of the heads' first weights and of the order of the batches.
        epochs: Most passes over the training data; each head keeps the epoch that is best on English dev.
        progress: Called after each step.

    Returns:
        Scores, choice and run folder.

    Raises:
        ConfigError: If the encoder cannot be loaded, or something that is not a run stands in the way of `out`.
        MissingExtraError: If `offline` is asked for and the extra `demo` is not installed.
    """
    check_run_place(Path(out))
    report = progress or (lambda stage, done, total: None)
    report("Loading the encoder", 0, 1)
    loaded = load_encoder(encoder)
    report("Loading the encoder", 1, 1)
    train, dev, tests = _states(loaded, report)
    specs = _specs(train.states.num_layers, seed)
    trials = learn_on_states(
        specs,
        train,
        dev,
        NER,
        Linear(epochs),
        rates=[all_rates(RATES)] * len(specs),
        seed=seed,
        on_progress=lambda done, total: report(f"Training {len(specs)} heads side by side", done, total),
    )
    heads = {trial.head.spec.name: trial.head for trial in trials}
    scores: dict[str, dict[str, float | None]] = {}
    for language, data in tests.items():
        predicted = predict_heads(list(heads.values()), data, NER.labels)
        scores[language] = {name: _percent(data.tags, tags) for name, tags in zip(heads, predicted, strict=True)}
        report("Scoring", 1, len(tests))
    alone = {
        f"D_{k}": (round(head.dev_score, 2), _mean({language: row[name] for language, row in scores.items()}))
        for k in range(1, train.states.num_layers)
        if (head := heads[name := f"layer {k}"])
    }
    columns = [name for name, head in heads.items() if head.spec.head.fusion != "layer"]
    scores = {language: {column: row[column] for column in columns} for language, row in scores.items()}
    picked = heads[max(columns, key=lambda column: heads[column].quality)]
    run, tagger = _save(loaded, picked, out, seed, scores)
    words = {language: split_words(text, language) for language, text in TASTE.items()}
    return DemoResult(
        encoder=loaded.origin,
        columns=columns,
        scores=scores,
        dev_scores={column: round(heads[column].dev_score, 2) for column in columns},
        epochs={column: heads[column].epoch for column in columns},
        rates={column: heads[column].rate.learning_rate for column in columns},
        alone=alone,
        picked=picked.spec.name,
        taste=list(zip(words, words.values(), tagger.answer(list(words.values()))[0], strict=True)),
        run=run,
    )


def _specs(num_layers: int, seed: int) -> list[HeadSpec]:
    """The baseline, D_1..D_L and each layer below the last alone, all from the same seed."""
    baseline = HeadSpec.of("last", fusion="last", seed=seed)
    fused = (HeadSpec.of(f"D_{k}", fuse_layer=(k,), gate=GATE, seed=seed) for k in range(1, num_layers + 1))
    alone = (HeadSpec.of(f"layer {k}", fusion="layer", fuse_layer=(k,), seed=seed) for k in range(1, num_layers))
    return [baseline, *fused, *alone]


def _mean(scores: Mapping[str, float | None]) -> float:
    """The mean over the target languages: English and undefined scores are left out, 0 if nothing is left."""
    kept = [score for language, score in scores.items() if language != "en" and score is not None]
    return round(fmean(kept or [0.0]), 2)


def _states(encoder: Encoder, report: Progress) -> tuple[TaggedStates, TaggedStates, dict[str, TaggedStates]]:
    """Hidden states of the English train and dev samples, and of the test sample in each language."""
    wanted = [("train", "en"), ("dev", "en"), *(("test", language) for language in sample_languages("ner"))]
    data = {
        (split, language): load_data("samples:ner", task="ner", split=split, languages=[language])
        for split, language in wanted
    }
    total = sum(len(rows) for rows in data.values())
    states = {}
    for key, rows in data.items():
        step = count_items(len(rows), total, lambda done, total: report("Computing hidden states, once", done, total))
        words, tags = list(rows["words"]), list(rows["tags"])
        states[key] = encode_tagged(encoder.model, encoder.tokenizer, words, tags, **DEMO_WINDOWS, on_progress=step)
        step(len(rows))
    train, dev = states.pop(("train", "en")), states.pop(("dev", "en"))
    return train, dev, {language: test for (_, language), test in states.items()}


def _percent(gold: Sequence[Sequence[str]], predicted: Sequence[Sequence[str]]) -> float | None:
    """Span F1, lenient, in percent; None if there is no span."""
    metric = kind_of_task(NER).metrics(NER)[0]
    score = metric.compute(predictions=predicted, references=gold, labels=NER.labels)[metric.main_score]
    return None if score is None else round(100 * score, 2)


def _save(
    encoder: Encoder,
    picked: TrainedHead,
    out: str | Path,
    seed: int,
    scores: dict[str, dict[str, float | None]],
) -> tuple[Run, Predictor]:
    """Put the picked head on the encoder and write the run folder."""
    head = picked.spec.head
    add_trained_head(encoder.model, NER.name, picked, NER.labels)
    config = run_record(
        NER,
        encoder=encoder.describe(),
        head={"fusion": head.fusion, "fuse_layer": list(head.layers), "gate": head.fusion_options.gate},
        windows={**DEMO_WINDOWS, "pooling": "first"},
        tuning="features",
        seed=seed,
        training={
            "epochs": picked.epoch,
            "learning_rate": picked.rate.learning_rate,
            "rates_tried": list(RATES),
            "picked_on": "English dev",
        },
        data={
            split: {"source": "samples:ner", "language": "en", "sha256": sha256_of(sample_file("ner", split, "en"))}
            for split in ("train", "dev")
        },
        metrics={
            "name": "span_f1_lenient",
            "dev": {"en": round(picked.dev_score, 2)},
            "test": {language: row[picked.spec.name] for language, row in scores.items()},
        },
    )
    run = write_run(out, config, lambda folder: encoder.model.save_head(str(folder / "head"), NER.name))
    windows = {"pooling": "first", **DEMO_WINDOWS}
    return run, kind_of_task(NER).predictor(encoder.model, encoder.tokenizer, NER.labels, windows, None)
