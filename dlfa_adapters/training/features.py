"""The tuning `features`: the encoder runs once over the data, and a head learns on its states."""

from collections.abc import Callable, Sequence
from itertools import count
from typing import Any, NamedTuple, cast

import torch
from torch import Tensor

from dlfa_adapters.data.alignment import AlignmentCounts
from dlfa_adapters.data.windows import Window
from dlfa_adapters.errors import ConfigError
from dlfa_adapters.sweep import HeadSpec, HiddenStates, TaggedStates, TrainedHead, compute_states, train_heads
from dlfa_adapters.sweep.export import add_trained_head
from dlfa_adapters.sweep.scores import Scorer, accuracy, span_f1
from dlfa_adapters.tasks import Task
from dlfa_adapters.training.dataset import TaggedExamples, TextExamples
from dlfa_adapters.training.settings import Settings

Progress = Callable[[str, int, int], None]


class TextWindow(NamedTuple):
    """A text as a sentence of one word, which stands at the first piece. The fields are those of `Window`."""

    sentence: int
    input_ids: list[int]
    words: tuple[int, ...]
    pieces: tuple[tuple[int, int], ...]
    token_type_ids: list[int] | None


def train_features(
    model: Any,
    head_name: str,
    pad_token_id: int,
    train: TaggedExamples | TextExamples,
    dev: TaggedExamples | TextExamples | None,
    settings: Settings,
    progress: Progress,
) -> TrainedHead:
    """Train a head on frozen states and put it on the model.

    Args:
        model: A model of adapters with a head of that name, whose options and labels the new one gets.
        head_name: Name of the head.
        pad_token_id: The tokenizer's.
        train: Training data.
        dev: Source dev data, which choose the epoch; without them it is the last one.
        settings: Resolved ones.
        progress: Called after each batch and epoch.

    Returns:
        The trained head; the model has it already.

    Raises:
        ConfigError: If words are not to be read at their first piece.
    """
    if settings.pooling != "first":
        raise ConfigError(
            f"--tuning features reads words at their first piece, got --pooling {settings.pooling}; "
            "leave it out, or type --tuning freeze:12."
        )
    task, spec = train.task, _spec(model.heads[head_name], settings)
    total = len(train.rows) + (len(dev.rows) if dev else 0)
    device = model.device
    model.to("cuda" if torch.cuda.is_available() else device).eval()

    def states(examples: TaggedExamples | TextExamples) -> TaggedStates:
        windows, words, gold = as_sentences(examples)
        computed = compute_states(
            model,
            windows,
            pad_token_id,
            on_progress=lambda done: progress("Computing hidden states, once", done, total),
        )
        return TaggedStates(words, gold, windows, AlignmentCounts(), computed)

    train_states = states(train)
    dev_states = states(dev) if dev else _first_window(train_states)
    model.to(device)
    [trained] = train_heads(
        [spec],
        train_states,
        dev_states,
        task.labels,
        _scorer(task) if dev else _last_epoch,
        epochs=settings.epochs or 1,
        learning_rate=settings.head_learning_rate or 1e-3,
        batch_size=settings.batch_size,
        seed=settings.seed,
        on_progress=lambda done: progress("Training", done, settings.epochs or 1),
    )
    add_trained_head(model, head_name, trained, task.labels, head_type=task.kind)
    return trained


def as_sentences(examples: TaggedExamples | TextExamples) -> tuple[list[Window], list[list[str]], list[list[str]]]:
    """Windows, words and tags; a text is a sentence of one word, tagged with its label."""
    if isinstance(examples, TaggedExamples):
        return examples.windows, examples.words, examples.gold
    windows = [
        TextWindow(i, item.input_ids, (0,), ((0, 1),), item.token_type_ids) for i, item in enumerate(examples.items)
    ]
    return cast("list[Window]", windows), [[""] for _ in windows], [[label] for label in examples.gold]


def _spec(head: Any, settings: Settings) -> HeadSpec:
    """The head's own options, its fuse layer included, for training beside others."""
    config = head.config
    return HeadSpec(
        name=head.name,
        fusion=config["fusion"],
        fuse_layer=tuple(config["fuse_layer"] or ()),
        reduction=config["reduction"],
        branches=config["branches"],
        gate=config["gate"],
        norm=config["norm"],
        init=config["init"],
        seed=settings.seed,
    )


def _scorer(task: Task) -> Callable[[list[list[str]], Sequence[str]], Scorer]:
    return span_f1 if task.metric == "span_f1" else accuracy


def _last_epoch(gold: list[list[str]], labels: Sequence[str]) -> Scorer:
    """A score that rises with every epoch, so that the last one is kept."""
    epoch = count()

    def score(predicted: Tensor) -> list[float]:
        return [float(next(epoch))] * len(predicted)

    return score


def _first_window(data: TaggedStates) -> TaggedStates:
    """Something to run when there are no dev data: the first window alone."""
    states = HiddenStates(data.states.tokens, data.states.offsets[:2])
    return TaggedStates(data.words, data.tags, data.windows[:1], data.counts, states)
