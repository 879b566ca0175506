"""A training of a sweep by itself, through `training.train`: for encoders and tunings that are not stacked."""

from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

from torch import Tensor

from dlfa_adapters.frozen import HeadSpec
from dlfa_adapters.frozen.kept import Epoch
from dlfa_adapters.runs.folder import remove_run
from dlfa_adapters.sweep.ensemble_batches import Batch
from dlfa_adapters.sweep.ensemble_predict import Questions
from dlfa_adapters.sweep.ensemble_training import TrainedMember
from dlfa_adapters.sweep.finetuned_ranks import alone
from dlfa_adapters.sweep.prepare import Prepared
from dlfa_adapters.training import Plan, train
from dlfa_adapters.training.checkpoints import remove_work


def train_singly(prepared: Prepared, spec: HeadSpec, folder: Path, on_step: Callable[[int], None]) -> TrainedMember:
    """Train one model, and score it after each epoch on every language.

    Args:
        prepared: The sweep.
        spec: The head, with the seed of the training.
        folder: Where its checkpoints and its run are while it lasts; both are deleted.
        on_step: Called with 1 after each step.

    Returns:
        The model's scores, without weights.

    Raises:
        NotFiniteError: If the training diverges.
    """
    request, settings = prepared.request, prepared.settings
    watcher = _Watcher(prepared, on_step)
    head = {name: value for name, value in asdict(spec).items() if name != "name"}
    options = {**settings.as_dict(), **head, "fuse_layer": spec.fuse_layer or None}
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
        remove_run(folder)
        remove_work(folder)
    member = TrainedMember(spec, watched=watcher.scores)
    for number, score in enumerate(run.config["training"]["dev_scores"], 1):
        epoch = Epoch(number, score, {}, watcher.counts[number - 1])
        member.after_epoch(number, score, settings.within, lambda epoch=epoch: epoch)  # type: ignore[misc]
    return member


class _Watcher:
    """Looks at a model in training after each epoch."""

    def __init__(self, prepared: Prepared, on_step: Callable[[int], None]) -> None:
        self.prepared, self.on_step = prepared, on_step
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
        in_epoch = -(-len(self.prepared.train.rows) // self.prepared.settings.batch_size)
        if self._steps % in_epoch == 0 or self._steps == total:
            self._look()

    def _look(self) -> None:
        model = self._model
        if not self._questions:
            pad = self.prepared.encoder.tokenizer.pad_token_id or 0
            self._questions = {
                language: Questions(examples, pad, model.device) for language, examples in self.prepared.targets.items()
            }
        model.eval()
        counts = {}
        for language, questions in self._questions.items():
            ids = questions.ask(1, lambda batch: _logits(model, batch), str(self.prepared.settings.precision))
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
