"""The training of the encoder, or of adapters in it, with Trainer."""

from collections.abc import Callable

from transformers import TrainerState

from dlfa_adapters.fusion import Fusion
from dlfa_adapters.ground.environment import Progress
from dlfa_adapters.kinds import kind_of_task
from dlfa_adapters.learning.arguments import training_arguments, with_evaluations
from dlfa_adapters.learning.dev import dev_scores, kept_by_language, kept_entry, patience_is_over
from dlfa_adapters.learning.finish import Outcome
from dlfa_adapters.learning.from_block import Choice
from dlfa_adapters.learning.plan import Ready
from dlfa_adapters.learning.safeguards import last_checkpoint
from dlfa_adapters.learning.trainer import FullTrainer, ModularTrainer
from dlfa_adapters.runs.lifecycle import Training


def train_steps(
    ready: Ready,
    training: Training,
    states: Choice | None,
    report: Progress,
    on_step: Callable[[int], None] | None,
    on_epoch: Callable[[int], None] | None,
) -> Outcome:
    """Train with Trainer, from the last complete checkpoint where there is one.

    `states` says what happens to the states of blocks that do not change; None: there are none. For what is called see
    `learning.train`.
    """
    plan, settings, has_dev = ready.plan, ready.plan.settings, ready.dev is not None
    head = plan.encoder.model.heads[plan.task.name]
    if settings.machine.compile:
        for fusion in (module for module in plan.model.modules() if isinstance(module, Fusion)):
            fusion.compile(dynamic=True)
    total = settings.steps.total(ready.learned.epoch_rows)
    settings = with_evaluations(settings, ready.learned.epoch_rows)
    unused = ready.several is not None or max(head.indices) < head.num_layers
    names = kind_of_task(plan.task).label_inputs
    args = training_arguments(settings, training.folder, has_dev=has_dev, find_unused=unused, label_names=names)
    checkpoint = last_checkpoint(training.folder, training.before is not None)
    state = TrainerState.load_from_json(str(checkpoint / "trainer_state.json")) if checkpoint else TrainerState()
    report("Training", state.global_step, total)

    def step(number: int) -> None:
        report("Training", 1, total)
        if on_step is not None:
            on_step(number)

    make = ModularTrainer if plan.tuning.saved == "adapters" else FullTrainer
    trainer = make(
        plan.model,
        args,
        settings=settings,
        pad_token_id=plan.encoder.tokenizer.pad_token_id,
        train=ready.learned,
        dev=ready.dev,
        on_step=step,
        on_epoch=on_epoch or (lambda number: None),
        lower=states.computed(ready, report) if states else None,
        centring=plan.centring,
    )
    if checkpoint and patience_is_over(state, settings.steps.patience):
        trainer.state = state
        trainer._load_best_model()
    else:
        trainer.train(resume_from_checkpoint=str(checkpoint) if checkpoint else None)
    best = trainer.state.best_global_step if has_dev else trainer.state.global_step
    scores, entry = dev_scores(trainer.state), kept_entry(trainer.state)
    score = max(scores) if scores else None
    return Outcome(f"step {best}", scores, score, entry.get("eval_labels"), kept_by_language(entry))
