"""Training many heads side by side on the states of a frozen encoder."""

import logging
import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import torch
from torch import Tensor

from dlfa_adapters.data.batching import SameLengthSampler
from dlfa_adapters.ground.errors import ConfigError
from dlfa_adapters.kinds.loss import MakeScorer
from dlfa_adapters.learning.frozen.examples import OnStates, TaggedStates
from dlfa_adapters.learning.frozen.head import Epoch, HeadSpec, Rate, TrainedHead
from dlfa_adapters.learning.frozen.judge import Judge, WordJudge, make_judge, tokens_at_once
from dlfa_adapters.learning.frozen.module import FusionClassifier, new_head
from dlfa_adapters.learning.frozen.optimizer import Checkpoint, HeadsOptimizer
from dlfa_adapters.learning.frozen.stacks import HeadStack, make_stacks

logger = logging.getLogger(__name__)

OnEpoch = Callable[[int, Sequence[TrainedHead]], None]
"""Called with the number of an epoch, from 1, and the heads after it."""

_DIVERGED = "Weights of %s (seed %d) are no finite numbers after epoch %d; type a smaller --head-lr."


def train_heads(
    specs: Sequence[HeadSpec],
    train: TaggedStates,
    dev: TaggedStates | None,
    labels: Sequence[str],
    scorer: MakeScorer | None,
    *,
    epochs: int,
    max_steps: int | None = None,
    learning_rate: float = 1e-3,
    weight_decay: float = 0.01,
    rates: Sequence[Rate] | None = None,
    batch_size: int = 32,
    seed: int = 0,
    within: float = 0.0,
    every: int = 1,
    halve: bool = False,
    watch: Mapping[str, TaggedStates] | None = None,
    checkpoint: Path | None = None,
    on_progress: Callable[[int, int], None] | None = None,
    on_epoch: OnEpoch | None = None,
) -> list[TrainedHead]:
    """Train every head on the same batches in the same order, each as if it were alone.

    AdamW with a learning rate that falls linearly to zero, or is halved. Heads share no parameter, and the optimiser
    works element by element, so the side of the others changes nothing but the time it takes.

    Args:
        specs: Heads to train.
        train: Source-language training data.
        dev: Source-language dev data, which choose the epoch of each head; without them the last epoch counts.
        labels: Label names by id.
        scorer: `Kind.scorer`: makes a score of gold tags and label names. None: the data are `OnStates` of a kind with
            a head of its own, which is learned instead of a linear classifier, and scored by the metric of the task.
        epochs: Passes over `train`.
        max_steps: Stop after so many batches, if that is earlier; the heads are scored there as after an epoch.
        learning_rate: Its first value, of all heads. Heads that are compared should have one each, see
            `learn_on_states`.
        weight_decay: Of AdamW, likewise.
        rates: A learning rate and a weight decay for each of `specs`, instead of these two.
        batch_size: Windows in a batch.
        seed: Of the order of the batches; the heads' own seeds are in their specs.
        within: Keep the first epoch whose dev score is at most so many points below the best one; 0: the best one.
        every: Score after every so many epochs, and after the last one.
        halve: The rate of a head is halved after each evaluation without a lower loss on dev, and below `LOWEST_RATE`
            it learns no more; when none does, the training ends.
        watch: Other data to score after each epoch, e.g. target languages in a study; it chooses nothing.
        checkpoint: A file that is written after each epoch, and gone on from if it is there and of the same heads,
            rates and number of epochs. Data must be the same too, which the file does not tell.
        on_progress: Called after each batch with how many batches were just done, and how many there are in all.
        on_epoch: Called after each epoch that was scored with its number and the heads as they are then.

    Returns:
        The trained heads in the order of `specs`.

    Raises:
        ConfigError: If rates are to be halved by what dev data say, and there are none.
    """
    if halve and dev is None:
        raise ConfigError("Rates that are halved where dev stands still need dev data; name some.")
    device, width = train.states.device, train.states.width
    num_layers, layers = train.states.num_layers, train.states.layers
    own = train.kind if scorer is None and isinstance(train, OnStates) else None
    heads = [(spec, new_head(spec, width, num_layers, len(labels), own).to(device)) for spec in specs]
    rates = [Rate(learning_rate, weight_decay)] * len(specs) if rates is None else rates
    trained = [TrainedHead(spec, rate) for spec, rate in zip(specs, rates, strict=True)]
    lengths = train.states.lengths()
    # neighbours of one rate take one kernel of the optimiser
    by_rate = sorted(range(len(specs)), key=rates.__getitem__)
    stacks = make_stacks(heads, num_layers, layers, batch_size * max(lengths, default=1), by_rate)
    optimizer = HeadsOptimizer(stacks, rates)
    saved = None
    if checkpoint:
        live = [tensor for stack in stacks for tensor in (*stack.parameters(), *stack.buffers())]
        members = [stack.members for stack in stacks]
        about = {"stacks": members, **({"halve": True} if halve else {})}
        saved = Checkpoint(checkpoint, trained, epochs, live, optimizer.adamw, **about)
    done = saved.load(trained) if saved else 0
    gold = train.label_ids({label: i for i, label in enumerate(labels)})
    watched = {name: make_judge(data, labels, scorer) for name, data in (watch or {}).items()}
    judge = None if dev is None else make_judge(dev, labels, scorer)
    sampler = SameLengthSampler(lengths, batch_size, seed, one_stream=True, mixture=train.mixture)
    step, steps = 0, epochs * -(-len(sampler) // batch_size)
    steps = min(steps, max_steps or steps)
    for epoch in range(1, epochs + 1):
        halved = [head.halved_share if halve else 1.0 for head in trained]
        if not any(halved):
            break
        sampler.set_epoch(epoch - 1)
        for batch in sampler.batches()[: steps - step]:
            if epoch > done:
                _step(stacks, train, batch, gold, optimizer)
                optimizer.step(halved if halve else 1 - step / steps)
            step += 1
            if on_progress is not None:
                on_progress(1, steps)
        if epoch > done and (epoch % every == 0 or step == steps):
            _after_epoch(epoch, stacks, trained, judge, watched, within, list(map(bool, halved)))
            if saved:
                saved.save(epoch, trained)
            if on_epoch is not None:
                on_epoch(epoch, trained)
        if step == steps:
            break
    return trained


def _step(
    stacks: Sequence[HeadStack], train: TaggedStates, indices: Sequence[int], gold: Tensor, optimizer: HeadsOptimizer
) -> None:
    """The gradients of all heads, computed stack by stack, which need not be in memory together."""
    batch = train.batch(indices)
    optimizer.zero_grad()
    for stack in stacks:
        losses, count = stack.losses(stack(batch, training=True), batch, gold)
        (losses.sum() / count.clamp(min=1)).backward()


def _after_epoch(
    number: int,
    stacks: Sequence[HeadStack],
    trained: Sequence[TrainedHead],
    dev: Judge | None,
    watch: Mapping[str, Judge],
    within: float,
    learning: Sequence[bool],
) -> None:
    """Score all heads, and record of each that is still learning what may be its best epoch."""
    scores, losses = (None, None) if dev is None else dev.judge(stacks)
    counts = {name: judge.counts(stacks).to(torch.int32) for name, judge in watch.items()}
    values = {name: judge.score(counts[name].sum(1)).tolist() for name, judge in watch.items()}
    for stack in stacks:
        for i, (member, finite) in enumerate(zip(stack.members, stack.finite(), strict=True)):
            if not learning[member]:
                continue
            score = None if scores is None else scores[member] if finite else 0.0
            loss = losses[member] if losses and finite else math.inf
            if not finite:
                logger.warning(_DIVERGED, stack.specs[i].name, stack.specs[i].seed, number)

            def record(
                stack: HeadStack = stack,
                i: int = i,
                member: int = member,
                score: float | None = score,
                loss: float = loss,
            ) -> Epoch:
                mine = {name: by_member[member].cpu() for name, by_member in counts.items()}
                return Epoch(number, score or 0.0, stack.state_dict(i), mine, loss)

            trained[member].after_epoch(number, score, within, record, loss)
            for name, by_member in values.items():
                trained[member].watched.setdefault(name, []).append(by_member[member])


def predict_ids(heads: Sequence[TrainedHead], data: TaggedStates, labels: Sequence[str]) -> Tensor:
    """The label ids that each head gives.

    Returns:
        For each head, and each word of all sentences in the order given, (heads, words).
    """
    states, width = data.states, data.states.width
    modules = []
    for head in heads:
        module = FusionClassifier(head.spec, width, states.num_layers, len(labels))
        module.load_state_dict(head.state_dict)
        modules.append((head.spec, module.to(states.device)))
    stacks = make_stacks(modules, states.num_layers, states.layers, tokens=tokens_at_once(states.device))
    return WordJudge(data, labels, None).predict(stacks)


def predict_heads(heads: Sequence[TrainedHead], data: TaggedStates, labels: Sequence[str]) -> list[list[list[str]]]:
    """The tags that each head gives: see `predict_ids`; for each head, sentence and word."""
    ids = predict_ids(heads, data, labels)
    return [data.by_sentence([labels[i] for i in of_head]) for of_head in ids.tolist()]
