"""Training many heads side by side on the states of a frozen encoder."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

from dlfa_adapters.data.batching import token_budget_batches
from dlfa_adapters.sweep.examples import TaggedStates
from dlfa_adapters.sweep.scores import Scorer
from dlfa_adapters.sweep.stacked import FusionClassifier, HeadSpec, StackedHeads, new_head


@dataclass
class TrainedHead:
    """A head after training.

    Attributes:
        spec: What was trained.
        state_dict: Its weights at the best epoch, under the names of `FusionClassifier`.
        epoch: That epoch, from 1; chosen on the source language's dev data, the earliest where several are equal.
        dev_scores: The dev score after each epoch.
        watched: Scores on other data after each epoch, by name; they choose nothing.
    """

    spec: HeadSpec
    state_dict: dict[str, Tensor] = field(default_factory=dict)
    epoch: int = 0
    dev_scores: list[float] = field(default_factory=list)
    watched: dict[str, list[float]] = field(default_factory=dict)

    @property
    def dev_score(self) -> float:
        """The dev score at the chosen epoch."""
        return self.dev_scores[self.epoch - 1]


def train_heads(
    specs: Sequence[HeadSpec],
    train: TaggedStates,
    dev: TaggedStates,
    labels: Sequence[str],
    scorer: Callable[[list[list[str]], Sequence[str]], Scorer],
    *,
    epochs: int,
    learning_rate: float = 1e-3,
    batch_size: int = 32,
    seed: int = 0,
    watch: Mapping[str, TaggedStates] | None = None,
    on_progress: Callable[[int], None] | None = None,
) -> list[TrainedHead]:
    """Train every head on the same batches in the same order, each as if it were alone.

    AdamW with weight decay 0.01 and a learning rate that falls linearly to zero. Heads share no parameter, and the
    optimiser works element by element, so the side of the others changes nothing but the time it takes.

    Args:
        specs: Heads to train.
        train: Source-language training data.
        dev: Source-language dev data, which chooses the epoch of each head.
        labels: Label names by id.
        scorer: `scores.span_f1` or `scores.accuracy`: makes a score of gold tags and label names.
        epochs: Passes over `train`.
        learning_rate: Its first value.
        batch_size: Windows in a batch.
        seed: Of the order of the batches; the heads' own seeds are in their specs.
        watch: Other data to score after each epoch, e.g. target languages in a study; it chooses nothing.
        on_progress: Called with 1 after each epoch.

    Returns:
        The trained heads in the order of `specs`.
    """
    num_layers, width = train.states.num_layers, train.states.tokens.shape[2]
    label2id = {label: i for i, label in enumerate(labels)}
    device = train.states.device
    heads = [(spec, new_head(spec, width, num_layers, len(labels)).to(device)) for spec in specs]
    groups = _stack(heads, num_layers)
    weights = [weight for group in groups for weight in group.parameters.values()]
    optimizer = torch.optim.AdamW(weights, lr=learning_rate, weight_decay=0.01)
    steps = epochs * -(-len(train.windows) // batch_size)
    schedule = torch.optim.lr_scheduler.LinearLR(optimizer, 1.0, 0.0, total_iters=steps)
    trained = {spec.name: TrainedHead(spec) for spec in specs}
    watched = watch or {}
    score_dev = scorer(dev.tags, labels)
    score_watched = {name: scorer(data.tags, labels) for name, data in watched.items()}
    generator = torch.Generator().manual_seed(seed)
    for epoch in range(1, epochs + 1):
        for batch in _shuffled_batches(train.states.lengths(), batch_size, generator):
            loss = torch.zeros((), device=device)
            states, mask = train.states.batch(batch, range(num_layers + 1))
            positions = train.positions(batch, states.shape[2]).to(device)
            gold = train.labels(batch, label2id).to(device)
            for group in groups:
                logits = group(states, mask, positions, training=True)
                losses = cross_entropy(logits.transpose(1, 2), gold.expand(len(logits), -1), reduction="none")
                loss = loss + losses.sum() / (gold != -100).sum().clamp(min=1)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()
        for group in groups:
            heads_of_group = [trained[spec.name] for spec in group.specs]
            for i, (head, value) in enumerate(zip(heads_of_group, score_dev(_predict(group, dev)), strict=True)):
                head.dev_scores.append(value)
                if epoch == 1 or value > head.dev_score:
                    head.epoch, head.state_dict = epoch, group.state_dict(i)
            for name, data in watched.items():
                for head, value in zip(heads_of_group, score_watched[name](_predict(group, data)), strict=True):
                    head.watched.setdefault(name, []).append(value)
        if on_progress is not None:
            on_progress(1)
    return [trained[spec.name] for spec in specs]


def predict_heads(heads: Sequence[TrainedHead], data: TaggedStates, labels: Sequence[str]) -> list[list[list[str]]]:
    """The tags that each head gives.

    Args:
        heads: Trained heads.
        data: What to tag.
        labels: Label names by id.

    Returns:
        Predicted tags, for each head, sentence and word, in the order given.
    """
    num_layers, width = data.states.num_layers, data.states.tokens.shape[2]
    modules = []
    for head in heads:
        module = FusionClassifier(head.spec, width, num_layers, len(labels))
        module.load_state_dict(head.state_dict)
        modules.append((head.spec, module.to(data.states.device)))
    by_name = {}
    for group in _stack(modules, num_layers):
        for spec, ids in zip(group.specs, _predict(group, data).tolist(), strict=True):
            by_name[spec.name] = data.by_sentence([labels[i] for i in ids])
    return [by_name[head.spec.name] for head in heads]


def _stack(heads: Sequence[tuple[HeadSpec, FusionClassifier]], num_layers: int) -> list[StackedHeads]:
    """One stack for each architecture."""
    groups: dict[tuple[object, ...], list[tuple[HeadSpec, FusionClassifier]]] = {}
    for spec, head in heads:
        groups.setdefault(spec.architecture, []).append((spec, head))
    return [StackedHeads([s for s, _ in group], [h for _, h in group], num_layers) for group in groups.values()]


def _shuffled_batches(lengths: Sequence[int], batch_size: int, generator: torch.Generator) -> Iterator[list[int]]:
    """Random batches of windows of like length: shuffled, then sorted within stretches of eight batches."""
    order = torch.randperm(len(lengths), generator=generator).tolist()
    stretch = 8 * batch_size
    batches = []
    for start in range(0, len(order), stretch):
        part = sorted(order[start : start + stretch], key=lengths.__getitem__)
        batches += [part[i : i + batch_size] for i in range(0, len(part), batch_size)]
    for i in torch.randperm(len(batches), generator=generator).tolist():
        yield batches[i]


@torch.no_grad()
def _predict(group: StackedHeads, data: TaggedStates) -> Tensor:
    """Label ids for each head of the stack and each word of all sentences, in order: (heads, words)."""
    predicted = torch.full((len(group.specs), data.starts[-1]), -1, device=data.states.device)
    for batch in token_budget_batches(data.states.lengths(), 4096):
        states, mask = data.states.batch(batch, range(data.states.num_layers + 1))
        positions = data.positions(batch, states.shape[2]).to(states.device)
        logits = group(states, mask, positions, training=False)
        predicted[:, data.places(batch).to(states.device)] = logits.argmax(-1)
    return predicted
