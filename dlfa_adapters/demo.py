"""The demo: learn named entities from English sample sentences, then tag other languages, on a laptop without a hub.

The sentences are samples written for this project: the scores show how the method behaves and are no results.
"""

from functools import partial
from pathlib import Path
from statistics import fmean
from typing import NamedTuple

from dlfa_adapters.data.places import sample_file, sample_languages
from dlfa_adapters.data.words import split_words
from dlfa_adapters.ground.environment import Progress
from dlfa_adapters.ground.files import sha256_of
from dlfa_adapters.ground.folders import draft_beside
from dlfa_adapters.kinds import kind_of_task
from dlfa_adapters.learning.cut import windows_of
from dlfa_adapters.learning.features import all_rates
from dlfa_adapters.learning.finish import write_head_run
from dlfa_adapters.learning.frozen import Linear, TrainedHead, learn_on_states, predict_ids, with_states
from dlfa_adapters.learning.frozen.stacks import all_layers
from dlfa_adapters.learning.settings import make_settings
from dlfa_adapters.runs import Run, check_run_place
from dlfa_adapters.sweeps.prepare import Request, prepare_sweep
from dlfa_adapters.tuning import get_tuning

RATES = (1e-2, 3e-2, 1e-1)
"""Learning rates that every head is tried at. 521 sentences are 17 steps an epoch: at lower rates no head, and the
baseline least of all, gets anywhere in so few steps."""

TASTE = {
    "es": "Lucía Ferrer dejó Valparaíso para trabajar en la Universidad de Salamanca.",
    "ru": "В среду Ольга Климова прилетела из Казани в Белград на встречу с Яндексом.",
    "hi": "मीरा जोशी पिछले साल जयपुर से लंदन गईं और अब विश्व बैंक में काम करती हैं।",
}
"""Sentences to look at, in languages that the model never saw labels for."""


class DemoResult(NamedTuple):
    """What the demo found; scores are span F1 (lenient), in percent.

    Attributes:
        encoder: One line: where the encoder's weights come from.
        columns: `last` (the baseline), and `D_1`, ..., `D_L`.
        heads: These, and `layer 1`, ..., a linear head on each layer alone, at the rate and after the epoch that were
            best on English dev.
        scores: By language and head, on the test samples.
        picked: Which of the columns is best on English dev.
        taste: Language, words and tags of a few sentences.
        run: The folder of the picked model.
    """

    encoder: str
    columns: list[str]
    heads: dict[str, TrainedHead]
    scores: dict[str, dict[str, float]]
    picked: str
    taste: list[tuple[str, list[str], list[str]]]
    run: Run

    def mean(self, name: str) -> float:
        """The mean of a head over the target languages, English left out."""
        return round(fmean(row[name] for language, row in self.scores.items() if language != "en"), 2)


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
    check_run_place(out := Path(out))
    report = progress or (lambda stage, done, total: None)
    report("Loading the encoder", 0, 1)
    # The bounded gate: with a few hundred sentences the printed one learns several times slower.
    settings, languages = make_settings(gate="attention", seed=seed), tuple(sample_languages("ner"))
    request = Request(task="ner", languages=languages, model=encoder, extra=("layers",), seeds=1)
    sweep = prepare_sweep(request, get_tuning("features"), settings, out)
    report("Loading the encoder", 1, 1)
    loaded, task, kind = sweep.encoder, sweep.task, kind_of_task(sweep.task)
    specs = [spec for spec in sweep.specs if spec.name != "layer 0"]
    with draft_beside(out) as folder:
        data, layers = {"train": sweep.train, "dev": sweep.dev, **sweep.targets}, all_layers(specs, sweep.num_layers)
        states = with_states(loaded.model, data, layers, loaded.tokenizer.pad_token_id, folder, report)
        train, dev, rates = states["train"], states["dev"], [all_rates(RATES)] * len(specs)
        told = partial(report, f"Training {len(specs)} heads side by side")
        trials = learn_on_states(specs, train, dev, task, Linear(epochs), rates=rates, seed=seed, on_progress=told)
        heads, scores = {trial.head.spec.name: trial.head for trial in trials}, {}
        for language, examples in sweep.targets.items():
            predicted = predict_ids(list(heads.values()), states[language], task.labels)
            found = kind.scorer()(examples.tags, task.labels)(predicted)
            scores[language] = {name: round(score, 2) for name, score in zip(heads, found, strict=True)}
            report("Scoring", 1, len(languages))
    columns = [name for name in heads if not name.startswith("layer")]
    picked = max(columns, key=lambda name: heads[name].quality)
    best, test = heads[picked], {language: row[picked] for language, row in scores.items()}
    at_best = {"epochs": best.epoch, "learning_rate": best.rate.learning_rate, "rates_tried": list(RATES)}
    run = write_head_run(
        out,
        loaded,
        task,
        best,
        sweep.settings,
        training={**at_best, "picked_on": "English dev"},
        data={x: {**sweep.data[x], "sha256": sha256_of(sample_file("ner", x, "en"))} for x in ("train", "dev")},
        metrics={"name": "span_f1_lenient", "dev": {"en": round(best.dev_score, 2)}, "test": test},
    )
    tagger = kind.predictor(loaded.model, loaded.tokenizer, task.labels, windows_of(sweep.settings), None)
    words = {language: split_words(text, language) for language, text in TASTE.items()}
    tagged = zip(words, words.values(), tagger.answer(list(words.values()))[0], strict=True)
    return DemoResult(loaded.origin, columns, heads, scores, picked, list(tagged), run)
