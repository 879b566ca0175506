"""`learn_on_states`: heads learn on the states of a frozen encoder, each at the rate that is best for it on source dev.

A head that is compared with another must not be trained at the other's rate. A linear layer on the last state of an
encoder for sentences wants one that is ten times as large as that of a fusion with a middle layer.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import torch

from dlfa_adapters.encoders.cache import DEFAULT_BUDGET, find_room
from dlfa_adapters.encoders.centre import Centring
from dlfa_adapters.ground.environment import Progress
from dlfa_adapters.ground.errors import ConfigError
from dlfa_adapters.heads import DLFAHead
from dlfa_adapters.kinds import kind_of_task
from dlfa_adapters.kinds.examples import Examples
from dlfa_adapters.learning.frozen.examples import OnStates, TaggedStates
from dlfa_adapters.learning.frozen.head import HeadSpec, Rate, TrainedHead
from dlfa_adapters.learning.frozen.plateau import Plateau
from dlfa_adapters.learning.frozen.side_by_side import OnEpoch, train_heads
from dlfa_adapters.tasks import Task


@dataclass(frozen=True)
class Linear:
    """AdamW with a rate that falls linearly to zero; all heads at all their rates learn side by side.

    Attributes:
        epochs: Passes over the training data.
        max_steps: Stop after so many steps, if that is earlier.
        batch_size: Windows in a step.
        every: Score after every so many epochs, and after the last one.
        within: Keep the first epoch whose dev score is at most so many points below the best one; 0: the best one.
    """

    epochs: int
    max_steps: int | None = None
    batch_size: int = 32
    every: int = 1
    within: float = 0.0


@dataclass(frozen=True)
class Halving:
    """The schedule of Wu and Dredze 2019 for linear heads: Adam, with the rate of each head halved by itself.

    That is after each evaluation without a lower loss on source dev; below 1e-5 a head learns no more. All heads at all
    their rates learn side by side. Adam is AdamW with the weight decay 0, which their rates have.

    Attributes:
        epochs: Most passes over the training data.
        max_steps: Stop after so many steps, if that is earlier.
        batch_size: Windows in a step.
        every: Score after every so many epochs, and at the end.
    """

    epochs: int
    max_steps: int | None = None
    batch_size: int = 32
    every: int = 1


@dataclass(frozen=True)
class RateTrial:
    """What came of a head at one rate or several.

    Attributes:
        heads: The head as it was trained at each rate.
        evaluations: How many of its evaluations a rate is judged by; None: all.
    """

    heads: list[TrainedHead]
    evaluations: int | None = None

    @property
    def head(self) -> TrainedHead:
        """The one with the best dev score, and among equal ones with the lower loss; a single one without dev data."""
        return max(self.heads, key=self._quality) if len(self.heads) > 1 else self.heads[0]

    @property
    def quality(self) -> tuple[float, float]:
        """What trials are compared by: the dev score of `head`, and its loss as a negative number."""
        return self._quality(self.head)

    @property
    def rate(self) -> Rate:
        """The rate that was chosen."""
        return self.head.rate

    @property
    def rates(self) -> list[Rate]:
        """Those that were tried."""
        return [head.rate for head in self.heads]

    @property
    def dev(self) -> list[float]:
        """The best dev score at each rate; none without dev data."""
        return [self._quality(head)[0] for head in self.heads if head.dev_scores]

    @property
    def edge(self) -> str | None:
        """`lowest` or `highest` where the choice is at an end of what was tried: another one may be better."""
        return edge(self.rate.learning_rate, [rate.learning_rate for rate in self.rates])

    def _quality(self, head: TrainedHead) -> tuple[float, float]:
        return head.quality_within(self.evaluations)


def edge(chosen: float, tried: Sequence[float]) -> str | None:
    """Whether a rate is the `lowest` or the `highest` of several that were tried; None if it is neither."""
    low, high = min(tried), max(tried)
    if low == high or low < chosen < high:
        return None
    return "lowest" if chosen == low else "highest"


def with_states(
    model: Any,
    data: Mapping[str, Examples],
    layers: Sequence[int],
    pad_token_id: int | None,
    folder: Path | None,
    progress: Progress,
    *,
    stage: str = "Computing hidden states, once",
    budget: int = DEFAULT_BUDGET,
    note: Callable[[str], None] = lambda sentence: None,
    centring: Centring | None = None,
) -> dict[str, OnStates]:
    """Data with the states that a frozen encoder makes of them, on a GPU where there is one.

    Args:
        model: The encoder, or a model around it; it is put into eval mode, and onto the GPU.
        data: By name; a name is also that of a file.
        layers: Which states.
        pad_token_id: The tokenizer's.
        folder: Where files of states may go; what is there and fits is not computed again. None: nowhere.
        progress: Called after each batch of the encoder.
        stage: The stage for `progress`.
        budget: Most bytes of states on the disk; beyond it the encoder runs once in every epoch.
        note: Called with a sentence that says where the states go.
        centring: What is taken off them; cached ones stay as they are. None: nothing.

    Raises:
        ConfigError: If a language has no mean.
    """
    model.to("cuda" if torch.cuda.is_available() else model.device).eval()
    windows = {name: examples.rows for name, examples in data.items()}
    cache = find_room(model, windows, layers, folder, budget)
    note(f"{cache}.")
    total = sum(map(len, windows.values()))
    progress(stage, 0, total)
    states = cache.states(model, windows, pad_token_id, lambda done: progress(stage, done, total))
    if centring is not None:
        states = {name: centring.states(states[name], examples.row_languages()) for name, examples in data.items()}
    return {name: OnStates.of(examples, states[name]) for name, examples in data.items()}


def learn_on_states(
    heads: Sequence[HeadSpec | DLFAHead],
    train: TaggedStates,
    dev: TaggedStates | None,
    task: Task,
    schedule: Linear | Halving | Plateau,
    *,
    rates: Sequence[Sequence[Rate]],
    seed: int = 0,
    watch: Mapping[str, TaggedStates] | None = None,
    checkpoint: Path | None = None,
    on_progress: Callable[[int, int], None] | None = None,
    on_epoch: OnEpoch | None = None,
) -> list[RateTrial]:
    """Train heads on frozen states, each at one rate or several, of which source dev chooses.

    With `Linear` and `Halving` heads of one architecture share tensors, and learn at all rates at once. With `Plateau`
    they learn one after another, and of several rates the one that is best after a few evaluations goes on.

    Args:
        heads: What to train: descriptions, whose first weights are those of their seeds, for `Linear` and `Halving`;
            heads of a model, which are copied, for `Plateau`.
        train: Training data.
        dev: Source dev data, which choose epoch and rate; without them there is one rate, and the last epoch counts.
        task: Labels and score.
        schedule: How the rate falls, and how long it takes.
        rates: For each head what to try.
        seed: Of the order of the batches, and of dropout; it is the same for all.
        watch: Other data that `Linear` and `Halving` score after each epoch; they choose nothing.
        checkpoint: A file that is written after each epoch, and gone on from if it is there and of the same heads,
            rates and number of epochs. Data must be the same too, which the file does not tell.
        on_progress: Called with how many steps (`Plateau`: epochs) were just done, and how many there are in all.
        on_epoch: Called after each epoch that was scored with its number and the heads as they are then.

    Returns:
        A trial for each of `heads`, in their order.

    Raises:
        ConfigError: If `Plateau` or `Halving` has no dev data.
        NotFiniteError: If the loss on dev is not a finite number with `Plateau`, at all rates.
    """
    tried = [sorted(set(each)) for each in rates]
    if isinstance(schedule, Plateau):
        modules = [head for head in heads if isinstance(head, DLFAHead)]
        if not isinstance(train, OnStates) or not isinstance(dev, OnStates):
            raise ConfigError("Plateau takes training and dev data of with_states, whose rows a head of a model reads.")
        ways = (
            schedule.train(head, each, train, dev, seed, checkpoint, on_progress, on_epoch)
            for head, each in zip(modules, tried, strict=True)
        )
        return [RateTrial(way, schedule.trial if len(way) > 1 else None) for way in ways]
    specs, kind = [head for head in heads if isinstance(head, HeadSpec)], kind_of_task(task)
    trained = iter(
        train_heads(
            [spec for spec, each in zip(specs, tried, strict=True) for _ in each],
            train,
            dev,
            task.labels,
            None if kind.own_head else kind.scorer(),
            **asdict(schedule),
            halve=isinstance(schedule, Halving),
            rates=[rate for each in tried for rate in each],
            seed=seed,
            watch=watch,
            checkpoint=checkpoint,
            on_progress=on_progress,
            on_epoch=on_epoch,
        )
    )
    return [RateTrial(list(islice(trained, len(each)))) for each in tried]
