"""A head on frozen states, trained as Wu and Dredze 2019 train theirs: the rate is halved where dev stands still."""

import copy
import math
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy
from torch.nn.utils.rnn import pad_sequence
from transformers import set_seed
from transformers.modeling_outputs import BaseModelOutput

from dlfa_adapters.data.budget import token_budget_batches
from dlfa_adapters.data.pooling import IGNORED
from dlfa_adapters.data.sampler import SameLengthSampler
from dlfa_adapters.heads import DLFAHead
from dlfa_adapters.kinds.encoded import Examples
from dlfa_adapters.learning.frozen import States
from dlfa_adapters.learning.safeguards import NotFiniteError
from dlfa_adapters.learning.settings import Settings
from dlfa_adapters.learning.steps import epochs_between

LOWEST_RATE = 1e-5
"""Training ends when the rate has been halved below it."""


class OnStates:
    """Data with the states that a frozen encoder makes of them, as a head takes them.

    Args:
        examples: Rows with their labels.
        states: The states of these rows.
    """

    def __init__(self, examples: Examples, states: States) -> None:
        self.examples, self.states = examples, states
        self.collate = examples.collator(0)  # for the labels; the pieces are not read any more

    def logits(self, head: DLFAHead, rows: Sequence[int]) -> Tensor:
        """What a head gives for some rows: (rows, seq, labels), or (rows, labels) for texts."""
        kept, mask = self.states.batch(rows, self.states.layers)
        by_layer = dict(zip(self.states.layers, kept, strict=True))
        top = by_layer[max(by_layer)]  # stands for the layers that were not kept, which the fusion does not take
        states = tuple(by_layer.get(k, top) for k in range(self.states.num_layers + 1))
        outputs = BaseModelOutput(last_hidden_state=top, hidden_states=states)
        logits: Tensor = head(outputs, attention_mask=mask, return_dict=True)["logits"]
        return logits

    def loss(self, logits: Tensor, rows: Sequence[int]) -> tuple[Tensor, Tensor]:
        """The sum of the losses over the labels of some rows, and their number."""
        labels = self.collate([self.examples.rows[i] for i in rows])["labels"].to(logits.device)
        losses = cross_entropy(logits.flatten(0, -2), labels.flatten(), ignore_index=IGNORED, reduction="sum")
        return losses, (labels != IGNORED).sum()

    def evaluate(self, head: DLFAHead) -> tuple[float, float]:
        """The task's main score of a head, in percent, and its mean loss."""
        predicted, loss = self._judge(head)
        return self.examples.score(predicted), loss

    def predictions(self, head: DLFAHead) -> list[Any]:
        """What a head predicts: the tags of each sentence, or the label of each text."""
        return self._judge(head)[0]

    @torch.no_grad()
    def _judge(self, head: DLFAHead) -> tuple[list[Any], float]:
        """Predictions and mean loss."""
        head.eval()
        lengths = self.states.lengths()
        found: list[Tensor] = [torch.empty(0)] * len(lengths)
        sums = []
        for rows in token_budget_batches(lengths, 4096):
            logits = self.logits(head, rows)
            sums.append(torch.stack(self.loss(logits, rows)))
            for row, scores in zip(rows, logits.cpu(), strict=True):
                found[row] = scores[: lengths[row]] if scores.dim() == 2 else scores
        loss, labels = torch.stack(sums).sum(0).tolist()
        return self.examples.predictions(pad_sequence(found, batch_first=True)), loss / labels


def train_on_plateau(
    head: DLFAHead, train: OnStates, dev: OnStates, settings: Settings, on_epoch: Callable[[], None]
) -> tuple[int, list[float]]:
    """Train a head with Adam; halve the rate after each epoch without a lower loss on source dev; end under 1e-5.

    Which weights are kept is up to the score on source dev, and to the loss there among equal scores. The first rate is
    `settings.steps.head_learning_rate` (1e-3 in the paper); `epochs` and `max_steps` may end it earlier. Small data are
    judged after every few epochs, see `steps.epochs_between`, since a few steps lower no loss.

    Args:
        head: The head, with its first weights; it is left with those of the best epoch, in eval mode.
        train: Training data.
        dev: Source dev data.
        settings: Resolved ones.
        on_epoch: Called after each epoch.

    Returns:
        The best epoch, from 1, and the dev score of each that was judged.

    Raises:
        NotFiniteError: If the loss on dev is not a finite number.
    """
    set_seed(settings.steps.seed)  # of dropout
    rate, lowest = settings.steps.head_learning_rate or 1e-3, float("inf")
    scores: list[float] = []
    kept, highest = 0, (-1.0, 0.0)
    best = copy.deepcopy(head.state_dict())
    between = epochs_between(settings, len(train.states.lengths()), plateau=True)
    optimizer = torch.optim.Adam(head.parameters(), lr=rate)
    left = settings.steps.max_steps
    sampler = SameLengthSampler(train.states.lengths(), settings.steps.batch_size, settings.steps.seed)
    steps = (settings.steps.epochs or 1) * -(-len(sampler) // settings.steps.batch_size)
    for epoch, batches in enumerate(sampler.epochs(steps), 1):
        head.train()
        taken = batches[:left] if left > 0 else batches
        for rows in taken:
            optimizer.zero_grad()
            loss, labels = train.loss(train.logits(head, rows), rows)
            (loss / labels.clamp(min=1)).backward()
            torch.nn.utils.clip_grad_norm_(head.parameters(), settings.steps.max_grad_norm)
            optimizer.step()
        left -= len(taken)
        on_epoch()
        is_last = epoch == settings.steps.epochs or (settings.steps.max_steps > 0 and left <= 0)
        if epoch % between and not is_last:
            continue
        score, dev_loss = dev.evaluate(head)
        if not math.isfinite(dev_loss):
            raise NotFiniteError(f"The loss on dev is {dev_loss} after epoch {epoch}; type a smaller --head-lr.")
        if (score, -dev_loss) > highest:
            kept, highest, best = epoch, (score, -dev_loss), copy.deepcopy(head.state_dict())
        scores.append(score)
        if dev_loss >= lowest:
            rate /= 2
            for group in optimizer.param_groups:
                group["lr"] = rate
        lowest = min(lowest, dev_loss)
        if rate < LOWEST_RATE or is_last:
            break
    head.load_state_dict(best)
    head.eval()
    return kept, scores
