"""Trainer and AdapterTrainer with what every training here needs, and nothing that would change their results."""

import logging
import math
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from transformers import PrinterCallback, Trainer, TrainerCallback

from dlfa_adapters.data.batching import SameLengthSampler
from dlfa_adapters.encoders.centre import Centring
from dlfa_adapters.encoders.compute import LowerStates
from dlfa_adapters.ground.environment import wait_for_everyone, without_lines
from dlfa_adapters.heads import AdapterTrainer
from dlfa_adapters.kinds.examples import Examples
from dlfa_adapters.learning.arguments import parameter_groups
from dlfa_adapters.learning.dev import dev_score, patience_is_over
from dlfa_adapters.learning.from_block import NUMBERS, numbered, with_numbers
from dlfa_adapters.learning.safeguards import check_gradients, check_loss, prune, removed_if_the_disk_is_full, seal
from dlfa_adapters.learning.settings import Settings
from dlfa_adapters.learning.several_tasks import SeveralTasks
from dlfa_adapters.tuning import frozen_modules

logger = logging.getLogger(__name__)

_SECOND_NAME = "prompt_tuning.base_model_embeddings.weight"


class TrainingMixin:
    """Rates of their own for heads, frozen parts in eval mode, batches by length, sealed checkpoints, finite numbers.

    Args:
        model: A model that a tuning has prepared.
        args: From `training_arguments`.
        settings: Resolved ones.
        pad_token_id: The tokenizer's.
        train: Training data.
        dev: Source dev data, or None.
        on_step: Called with the number of each step, from 1, when it is done.
        on_epoch: Called with the number of each epoch, likewise, before dev is scored after it.
        lower: Cached states of training and dev data, which stand in for lower blocks; None: those run.
        centring: What is taken off the states that the head reads; None: nothing.
    """

    def __init__(
        self,
        model: Any,
        args: Any,
        *,
        settings: Settings,
        pad_token_id: int | None,
        train: Examples | SeveralTasks,
        dev: Examples | None,
        on_step: Callable[[int], None],
        on_epoch: Callable[[int], None] = lambda number: None,
        lower: LowerStates | None = None,
        centring: Centring | None = None,
    ) -> None:
        self.settings, self.frozen, self.lower = settings, frozen_modules(model), lower
        self.mixture = getattr(train, "mixture", None)  # of text to mask there is none
        self.centring, numbers = centring, bool(lower or centring)
        both = [each.row_languages() for each in (train, dev) if isinstance(each, Examples)] if centring else []
        self.languages = [language for languages in both for language in languages]
        self.learning = [parameter for parameter in model.parameters() if parameter.requires_grad]
        super().__init__(  # type: ignore[call-arg]
            model,
            args,
            with_numbers(train.collator(pad_token_id)) if numbers else train.collator(pad_token_id),
            train_dataset=numbered(train.rows) if numbers else train.rows,
            eval_dataset=None if dev is None else numbered(dev.rows, len(train.rows)) if numbers else dev.rows,
            compute_metrics=dev_score(dev) if dev is not None else None,
            preprocess_logits_for_metrics=None if dev is None else lambda logits, labels: dev.encoded.kept(logits),
            callbacks=[_Seams(settings, on_step, on_epoch)],
        )
        self.remove_callback(PrinterCallback)  # type: ignore[attr-defined]

    def train(self: Any, *args: Any, **kwargs: Any) -> Any:
        """Train; meanwhile cached states stand in for lower blocks, and heads read centred states."""
        with (
            self.lower.installed(self.model) if self.lower else nullcontext(),
            self.centring.installed(self.model) if self.centring else nullcontext(),
        ):
            return super().train(*args, **kwargs)  # type: ignore[misc]

    def create_optimizer(self: Any) -> Any:
        """AdamW, as Trainer makes it, with a rate of its own for the head."""
        if self.optimizer is None:
            groups = parameter_groups(
                self.model,
                set(self.get_decay_parameter_names(self.model)),
                weight_decay=self.args.weight_decay,
                learning_rate=self.args.learning_rate,
                head_learning_rate=self.settings.steps.head_learning_rate,
            )
            make, options = Trainer.get_optimizer_cls_and_kwargs(self.args, self.model)
            self.optimizer = make(groups, **options)
        return self.optimizer

    def compute_loss(self: Any, model: Any, inputs: dict[str, Any], *args: Any, **kwargs: Any) -> Any:
        """The loss, with frozen parts in eval mode; it must be finite."""
        numbers = inputs.pop(NUMBERS, None)
        with (
            self.lower.read(numbers) if self.lower else nullcontext(),
            self.centring.reading([self.languages[i] for i in numbers.tolist()]) if self.centring else nullcontext(),
        ):
            return self._loss(model, inputs, *args, **kwargs)

    def _loss(self: Any, model: Any, inputs: dict[str, Any], *args: Any, **kwargs: Any) -> Any:
        if not model.training:
            return super().compute_loss(model, inputs, *args, **kwargs)  # type: ignore[misc]
        for module in self.frozen:
            module.eval()
        result = super().compute_loss(model, inputs, *args, **kwargs)  # type: ignore[misc]
        loss = result[0] if isinstance(result, tuple) else result
        check_loss(model, inputs, loss.detach(), self.state.global_step + 1)
        return result

    def _get_num_items_in_batch(self: Any, batch_samples: list[Any], device: Any) -> Any:
        """Of an accumulated batch, by the first of the labels, whatever the head calls it."""
        name = self.label_names[0]
        labels = [{"labels": batch[name]} for batch in batch_samples if name in batch]
        return super()._get_num_items_in_batch(labels, device)  # type: ignore[misc]

    def training_step(self: Any, *args: Any, **kwargs: Any) -> Any:
        """Forward and backward. Gradients must be finite; looked at before Trainer scales all of them by their norm.

        With fp16 they may not be: the scaler then leaves the step out.
        """
        loss = super().training_step(*args, **kwargs)  # type: ignore[misc]
        if self.accelerator.sync_gradients and not self.args.fp16:
            check_gradients(self.model, self.state.global_step + 1, self.learning)
        return loss

    def floating_point_ops(self, inputs: Any) -> int:
        """Not counted: nobody reads the number, and Trainer walks through all parameters for it in every step."""
        return 0

    def _get_train_sampler(self: Any, train_dataset: Any = None) -> SameLengthSampler:
        lengths = [len(row.input_ids) for row in train_dataset or self.train_dataset]
        steps = self.settings.steps
        return SameLengthSampler(lengths, steps.batch_size, steps.seed, mixture=self.mixture)

    def _save_checkpoint(self: Any, model: Any, trial: Any) -> None:
        folder = Path(self.args.output_dir)
        checkpoint = folder / f"checkpoint-{self.state.global_step}"
        with removed_if_the_disk_is_full(checkpoint):
            super()._save_checkpoint(model, trial)  # type: ignore[misc]
            wait_for_everyone()
            if self.args.should_save:
                seal(checkpoint)
                prune(folder, self.state.best_model_checkpoint)
        wait_for_everyone()


class FullTrainer(TrainingMixin, Trainer):
    """Trains all of a model; checkpoints hold all of it."""

    def _issue_warnings_after_load(self, load_result: Any) -> None:
        """Not of the word embeddings, which adapters lists a second time, as the base of prompt tuning."""
        missing = [name for name in load_result.missing_keys if not name.endswith(_SECOND_NAME)]
        super()._issue_warnings_after_load(load_result._replace(missing_keys=missing))


class ModularTrainer(TrainingMixin, AdapterTrainer):
    """Trains adapters and heads; checkpoints hold those."""

    def _load_best_model(self) -> None:
        """The weights of the best step in place of the last one's, as requested."""
        with without_lines("adapters.loading", "Overwriting existing adapter", "Overwriting existing head"):
            super()._load_best_model()


class _Seams(TrainerCallback):
    """Steps and epochs on request, and early stopping from the scores in the state, which checkpoints save."""

    def __init__(self, settings: Settings, on_step: Callable[[int], None], on_epoch: Callable[[int], None]) -> None:
        self.settings, self.on_step, self.on_epoch = settings, on_step, on_epoch

    def on_step_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Report a step. The last one is judged too, wherever the steps between two looks at dev fall."""
        self.on_step(state.global_step)
        if args.eval_strategy == "steps" and state.global_step >= state.max_steps:
            control.should_evaluate = True

    def on_epoch_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Report an epoch; the last one may have been cut short."""
        self.on_epoch(math.ceil(state.epoch))

    def on_log(self, args: Any, state: Any, control: Any, logs: dict[str, float], **kwargs: Any) -> None:
        """Loss and dev scores go to the log as well."""
        for name, title in (("loss", "loss"), ("eval_score", "score on dev")):
            if name in logs and state.is_world_process_zero:
                logger.info("Step %d of %d: %s %.4g", state.global_step, state.max_steps, title, logs[name])

    def on_evaluate(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Stop when the patience is over."""
        if patience_is_over(state, self.settings.steps.patience):
            control.should_training_stop = True
