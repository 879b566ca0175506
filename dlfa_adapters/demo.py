"""The demo: learn named entities from English sample sentences, then tag other languages, on a laptop without a hub.

The sentences are samples written for this project: the scores show how the method behaves and are no results.
"""

from dataclasses import dataclass
from pathlib import Path
from statistics import fmean

from dlfa_adapters.data.reading import sample_file, sample_languages
from dlfa_adapters.data.sources import load_data
from dlfa_adapters.data.words import split_words
from dlfa_adapters.encoders import load_encoder
from dlfa_adapters.ground.environment import Progress
from dlfa_adapters.ground.files import sha256_of
from dlfa_adapters.ground.folders import draft_beside
from dlfa_adapters.kinds import kind_of_task, metrics_for
from dlfa_adapters.learning.dataset import make_examples
from dlfa_adapters.learning.features import add_trained_head, all_rates, spec_of
from dlfa_adapters.learning.finish import windows_of
from dlfa_adapters.learning.frozen import Linear, learn_on_states, predict_heads, with_states
from dlfa_adapters.learning.frozen.stacks import all_layers
from dlfa_adapters.learning.settings import make_settings
from dlfa_adapters.runs import Run, check_run_place, write_run
from dlfa_adapters.runs.record import run_record
from dlfa_adapters.sweeps.variants import make_variants
from dlfa_adapters.tasks import NER

EPOCHS = 8
RATES = (1e-2, 3e-2, 1e-1)
"""Learning rates that every head is tried at; English dev chooses for each. 521 sentences are 17 steps an epoch: at
lower rates no head, and the baseline least of all, gets anywhere in so few steps."""

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
    """What the demo found.

    Attributes:
        encoder: One line: where the encoder's weights come from.
        columns: `last` (the baseline) and `D_1`, ..., `D_L`.
        alone: By the column `D_k`, what a linear head on layer k alone has: the dev score, and the mean over the target
            languages as `mean` gives it.
        scores: Span F1 (lenient, in percent) by language and column, on the test samples.
        dev_scores: The same on English dev, which chose the epochs and the layer.
        epochs: How many passes over the training data each column used.
        rates: The learning rate of each column, which English dev chose.
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
    model, tokenizer, last = loaded.model, loaded.tokenizer, loaded.model.config.num_hidden_layers
    settings = make_settings(gate=GATE, seed=seed)
    languages = sample_languages("ner")
    wanted = {
        "train": ("train", "en"),
        "dev": ("dev", "en"),
        **{language: ("test", language) for language in languages},
    }
    data = {
        name: make_examples(NER, load_data("samples:ner", NER, split, [language]), tokenizer, settings)
        for name, (split, language) in wanted.items()
    }
    alone = [f"layer {k}" for k in range(1, last)]
    specs = make_variants(spec_of(settings, "", ()), last, extra=[name.replace(" ", "s:") for name in alone])
    with draft_beside(Path(out)) as folder:
        states = with_states(model, data, all_layers(specs, last), tokenizer.pad_token_id, folder, report)
        trials = learn_on_states(
            specs,
            states["train"],
            states["dev"],
            NER,
            Linear(epochs),
            rates=[all_rates(RATES)] * len(specs),
            seed=seed,
            on_progress=lambda done, total: report(f"Training {len(specs)} heads side by side", done, total),
        )
        heads = {trial.head.spec.name: trial.head for trial in trials}
        scores = {}
        for language in languages:
            tags = dict(zip(heads, predict_heads(list(heads.values()), states[language], NER.labels), strict=True))
            scores[language] = {name: _percent(tags[name], data[language].gold) for name in heads}
            report("Scoring", 1, len(languages))
    columns = [name for name in heads if name not in alone]
    picked = heads[max(columns, key=lambda column: heads[column].quality)]
    add_trained_head(model, NER.name, picked, NER.labels)
    config = run_record(
        NER,
        encoder=loaded.describe(),
        head={"fusion": picked.spec.head.fusion, "fuse_layer": list(picked.spec.head.layers), "gate": GATE},
        windows=windows_of(settings),
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
    tagger = kind_of_task(NER).predictor(model, tokenizer, NER.labels, windows_of(settings), None)
    words = {language: split_words(text, language) for language, text in TASTE.items()}
    return DemoResult(
        encoder=loaded.origin,
        columns=columns,
        scores={language: {column: row[column] for column in columns} for language, row in scores.items()},
        dev_scores={column: round(heads[column].dev_score, 2) for column in columns},
        epochs={column: heads[column].epoch for column in columns},
        rates={column: heads[column].rate.learning_rate for column in columns},
        alone={f"D_{name[6:]}": (round(heads[name].dev_score, 2), _mean(scores, name)) for name in alone},
        picked=picked.spec.name,
        taste=list(zip(words, words.values(), tagger.answer(list(words.values()))[0], strict=True)),
        run=write_run(out, config, lambda folder: model.save_head(str(folder / "head"), NER.name)),
    )


def _percent(predicted: list[list[str]], gold: list[list[str]]) -> float:
    """The main score of some tags."""
    metric = metrics_for(NER)[0]
    score = metric.compute(predictions=predicted, references=gold, labels=NER.labels)[metric.main_score]
    return round(100 * (score or 0.0), 2)


def _mean(scores: dict[str, dict[str, float]], column: str) -> float:
    return round(fmean(row[column] for language, row in scores.items() if language != "en"), 2)
