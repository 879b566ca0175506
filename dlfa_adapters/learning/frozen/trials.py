"""Which learning rate a head gets: all are tried side by side, and source dev chooses for each head by itself.

A head that is compared with another must not be trained at the other's rate. A linear layer on the last state of an
encoder for sentences wants one that is ten times as large as that of a fusion with a middle layer.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from dlfa_adapters.kinds.scorer import MakeScorer
from dlfa_adapters.learning.frozen.examples import TaggedStates
from dlfa_adapters.learning.frozen.kept import TrainedHead
from dlfa_adapters.learning.frozen.optimizer import Rate
from dlfa_adapters.learning.frozen.side_by_side import train_heads
from dlfa_adapters.learning.frozen.stacked import HeadSpec


@dataclass(frozen=True)
class Trial:
    """What came of trying several rates for a head.

    Attributes:
        head: The head at the rate that was best on source dev, trained.
        rates: Which were tried, ascending.
        dev: The best dev score at each of them.
    """

    head: TrainedHead
    rates: list[Rate]
    dev: list[float]

    @property
    def rate(self) -> Rate:
        """The rate that was chosen."""
        return self.head.rate

    @property
    def edge(self) -> str | None:
        """`lowest` or `highest` where the choice is at an end of what was tried: another one may be better."""
        return edge(self.rate.learning_rate, [rate.learning_rate for rate in self.rates])


def edge(chosen: float, tried: Sequence[float]) -> str | None:
    """Whether a rate is the `lowest` or the `highest` of several that were tried; None if it is neither."""
    low, high = min(tried), max(tried)
    if low == high or low < chosen < high:
        return None
    return "lowest" if chosen == low else "highest"


def try_rates(
    specs: Sequence[HeadSpec],
    train: TaggedStates,
    dev: TaggedStates,
    labels: Sequence[str],
    scorer: MakeScorer,
    *,
    rates: Sequence[Rate],
    **options: Any,
) -> list[Trial]:
    """Train every head at every rate on the same batches, and choose one of them for each head.

    Args:
        specs: The heads.
        train: See `train_heads`.
        dev: See `train_heads`; it chooses the epoch, and then the rate: that of the best score, and among equal ones
            that of the lower loss. Nothing else does.
        labels: See `train_heads`.
        scorer: See `train_heads`.
        rates: What to try.
        **options: Other options of `train_heads`.

    Returns:
        A trial for each of `specs`, in their order.
    """
    rates = sorted(set(rates))
    every = [(spec, rate) for spec in specs for rate in rates]
    trained = train_heads(
        [spec for spec, _ in every], train, dev, labels, scorer, rates=[rate for _, rate in every], **options
    )
    trials = []
    for i in range(len(specs)):
        heads = trained[i * len(rates) : (i + 1) * len(rates)]
        best = max(heads, key=lambda head: head.quality)
        trials.append(Trial(best, rates, [max(head.dev_scores) for head in heads]))
    return trials


def all_rates(learning_rates: Sequence[float], weight_decays: Sequence[float] = (0.01,)) -> list[Rate]:
    """Every learning rate with every weight decay."""
    return [Rate(learning_rate, decay) for learning_rate in learning_rates for decay in weight_decays]
