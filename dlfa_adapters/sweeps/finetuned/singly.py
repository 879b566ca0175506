"""A training of a sweep by itself, through `training.train`: for encoders and tunings that are not stacked."""

import math
from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from torch import Tensor

from dlfa_adapters.learning import Plan, train
from dlfa_adapters.learning.dataset import Examples
from dlfa_adapters.learning.ensemble.batches import Batch
from dlfa_adapters.learning.ensemble.predict import Questions
from dlfa_adapters.learning.ensemble.training import TrainedMember
from dlfa_adapters.learning.frozen.kept import Epoch
from dlfa_adapters.learning.frozen.optimizer import Rate
from dlfa_adapters.runs.lifecycle import remove_training
from dlfa_adapters.sweeps.finetuned.ranks import alone
from dlfa_adapters.sweeps.prepare import Prepared
from dlfa_adapters.sweeps.trainings import Job


def train_singly(
    prepared: Prepared, job: Job, folder: Path, on_step: Callable[[int], None], *, targets: bool = True
) -> TrainedMember:
    """Train one model, and score it after each epoch.

    Args:
        prepared: The sweep.
        job: The head, with the seed of the training, and the learning rates.
        folder: Where its checkpoints and its run are while it lasts; both are deleted.
        on_step: Called with 1 after each step.
        targets: Whether to score the target languages, after each epoch.

    Returns:
        The model's scores, without weights.

    Raises:
        NotFiniteError: If the training diverges.
    """
    request, settings = prepared.request, prepared.settings
    spec, rates = job
    watcher = _Watcher(prepared, on_step, prepared.targets if targets else {})
    head = {name: value for name, value in asdict(spec).items() if name != "name"}
    options = {**settings.as_dict(), **head, "fuse_layer": spec.fuse_layer or None}
    options |= {"learning_rate": rates.encoder, "learning_rates": (), "head_learning_rate": rates.head}
    options |= {"head_learning_rates": (), "min_steps": 0}  # as long as the others
    try:
        with alone():
            run = train(
                request.task,
                train_data=request.train_data,
                dev_data=request.dev_data,
                language=request.language,
                labels=request.labels,
                model=request.model,
                tuning=str(prepared.tuning),
                out=folder,
                on_start=watcher.start,
                progress=watcher.progress,
                **request.reading.as_dict(),
                **options,
            )
    finally:
        remove_training(folder)
    scores = run.config["training"]["dev_scores"]
    number = -(-int(run.config["training"]["best"].split()[-1]) // watcher.in_epoch)  # `step 12`
    counts = watcher.counts[number - 1] if targets else {}
    return TrainedMember(
        spec,
        Rate(rates.head, settings.steps.weight_decay),
        scores,
        [math.inf] * len(scores),
        watcher.scores,
        [Epoch(number, scores[number - 1], {}, counts)],
    )


class _Watcher:
    """Looks at a model in training after each epoch."""

    def __init__(self, prepared: Prepared, on_step: Callable[[int], None], targets: Mapping[str, Examples]) -> None:
        self.prepared, self.on_step, self.targets = prepared, on_step, targets
        self.in_epoch = -(-len(prepared.train.rows) // prepared.settings.steps.batch_size)
        self.scores: dict[str, list[float]] = {}
        self.counts: list[dict[str, Tensor]] = []
        self._questions: dict[str, Questions] = {}
        self._model: Any = None
        self._steps = 0

    def start(self, plan: Plan) -> None:
        self._model = plan.model

    def progress(self, stage: str, done: int, total: int) -> None:
        if stage != "Training" or not done:
            return
        self.on_step(done)
        self._steps += done
        if self._steps % self.in_epoch == 0 or self._steps == total:
            self._look()

    def _look(self) -> None:
        model = self._model
        if not self._questions:
            pad = self.prepared.encoder.tokenizer.pad_token_id or 0
            self._questions = {
                language: Questions(examples, pad, model.device) for language, examples in self.targets.items()
            }
        model.eval()
        counts = {}
        for language, questions in self._questions.items():
            ids = questions.ask(1, lambda batch: _logits(model, batch), str(self.prepared.settings.machine.precision))
            found, [score] = questions.score(ids)
            counts[language] = found[0]
            self.scores.setdefault(language, []).append(score)
        self.counts.append(counts)
        model.train()


def _logits(model: Any, batch: Batch) -> Tensor:
    """Logits of a whole model, (1, items, labels)."""
    types = {} if batch.types is None else {"token_type_ids": batch.types}
    logits: Tensor = model(input_ids=batch.ids, attention_mask=batch.mask, **types).logits
    return logits.flatten(0, -2)[None].float()
