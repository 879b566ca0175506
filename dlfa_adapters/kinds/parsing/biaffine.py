"""The biaffine head: scores of arcs and relations between the words of a sentence (Dozat and Manning 2017).

A word's state is the mean over its pieces. Which pieces those are, which words are real, and what is learned from is
told by masks and ids alone, never by the id of a padding token.
"""

from collections.abc import Callable
from dataclasses import asdict

import torch
from jaxtyping import Bool, Float, Int, Shaped
from torch import Tensor, nn
from torch.nn import functional

from dlfa_adapters.data.batching import IGNORED
from dlfa_adapters.ground.errors import ConfigError
from dlfa_adapters.kinds.loss import mean_loss
from dlfa_adapters.kinds.own_head import OwnHead
from dlfa_adapters.kinds.parsing.options import BiaffineOptions
from dlfa_adapters.tasks import POS

SLOPE = 0.1
"""Of the leaky ReLU below zero, as in their code."""

Scores = tuple[Float[Tensor, "batch words heads"], Float[Tensor, "batch words heads relations"]]
"""Of arcs and relations. The axis `heads` has the root first and then the words: it is one longer than `words`."""


class Biaffine(OwnHead):
    """Scores of every word of a sentence as the head of every other, and of the relation between the two.

    With the states r of the words, and of a learned vector for the root in front of them (their equations 3 to 6):

        d_i = MLP_arc-dep(r_i)     h_j = MLP_arc-head(r_j)     s_ij  = [d_i; 1]^T U h_j
        e_i = MLP_rel-dep(r_i)     g_j = MLP_rel-head(r_j)     t_ijr = [e_i; 1]^T V_r [g_j; 1]

    An MLP is a linear map, a leaky ReLU, and dropout of the same units for all words. All is a function of tensors
    without a branch on what they hold, so that heads of one architecture can be computed as one (`torch.func`).

    Args:
        width: Width of the states.
        num_labels: Number of relations.
        options: The options.

    Raises:
        ValueError: If an option has a value that cannot work.
    """

    def __init__(self, width: int, num_labels: int, options: BiaffineOptions) -> None:
        super().__init__()
        sizes = options.on(width)
        self.options = asdict(sizes)
        arc, rel, of_word = sizes.arc_size or 0, sizes.rel_size or 0, width + sizes.upos_size
        self.dropout = sizes.mlp_dropout
        self.upos = nn.Embedding(1 + len(POS.labels), sizes.upos_size) if sizes.upos_size else None
        self.root = nn.Parameter(torch.empty(of_word))
        self.arc_dep, self.arc_head = nn.Linear(of_word, arc), nn.Linear(of_word, arc)
        self.rel_dep, self.rel_head = nn.Linear(of_word, rel), nn.Linear(of_word, rel)
        self.arc_weight = nn.Parameter(torch.empty(arc + 1, arc))
        self.rel_weight = nn.Parameter(torch.empty(num_labels, rel + 1, rel + 1))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """As they start: orthogonal maps, and no word or relation preferred."""
        for linear in (self.arc_dep, self.arc_head, self.rel_dep, self.rel_head):
            nn.init.orthogonal_(linear.weight)
            nn.init.zeros_(linear.bias)
        nn.init.zeros_(self.arc_weight)
        nn.init.zeros_(self.rel_weight)
        nn.init.normal_(self.root, std=0.02)
        if self.upos is not None:
            nn.init.normal_(self.upos.weight, std=0.02)

    def forward(  # type: ignore[override]
        self,
        states: Float[Tensor, "batch seq width"],
        attention_mask: Shaped[Tensor, "batch _"] | None = None,
        *,
        word_ids: Int[Tensor, "batch pieces"] | None = None,
        word_mask: Shaped[Tensor, "batch words"] | None = None,
        upos_ids: Int[Tensor, "batch words"] | None = None,
    ) -> Scores:
        """Scores of arcs and relations.

        Args:
            states: Fused states, (batch, seq, width); of a prompt before the pieces too, where there is one.
            attention_mask: Non-zero at real pieces, (batch, pieces); read where there are no `word_ids`.
            word_ids: The word of the row that a piece speaks for, from 1; 0 for none; (batch, pieces). Where first
                pieces speak, `<s> Kat zen schla fen </s>` has 0 1 0 2 0 0. Without them each piece is a word.
            word_mask: Non-zero at real words, (batch, words).
            upos_ids: A part of speech for each word, from 1 in the order of `tasks.POS.labels`; 0 for none.

        Returns:
            Scores of heads, (batch, words, words + 1), the root first: -inf for a word that is not there, and in the
            row of such a word for all but the root; and scores of relations, (batch, words, words + 1, relations).

        Raises:
            ConfigError: If one of `word_ids` and `word_mask` is missing, their rows do not belong to the states, or
                there are no parts of speech for a head that reads them.
        """
        pieces, real = self._words(states, attention_mask, word_ids, word_mask)
        words = word_states(states, pieces, real.shape[1])
        if self.upos is not None:
            words = torch.cat((words, self.upos(self._upos(upos_ids, real, word_ids is None))), -1)
        heads = torch.cat((self.root.expand(words.shape[0], 1, -1), words), 1)
        arcs = self._mlp(self.arc_dep, words, 1) @ self.arc_weight @ self._mlp(self.arc_head, heads).transpose(1, 2)
        rels = torch.einsum("bix,rxy->biry", self._mlp(self.rel_dep, words, 1), self.rel_weight)
        rels = torch.einsum("biry,bjy->bijr", rels, self._mlp(self.rel_head, heads, 1))
        return arcs.masked_fill(~allowed_arcs(real), -torch.inf), rels

    def loss(self, scores: Scores, **labels: Tensor) -> Tensor:
        """See `parsing_loss`."""
        return parsing_loss(*scores, **labels)

    def _mlp(self, linear: Callable[[Tensor], Tensor], states: Tensor, ones: int = 0) -> Tensor:
        """(batch, words, size + ones), with ones behind."""
        hidden = functional.leaky_relu(linear(states), SLOPE)
        if self.training:
            units = hidden.new_ones(len(hidden), 1, hidden.shape[-1])
            hidden = hidden * functional.dropout(units, self.dropout)
        return functional.pad(hidden, (0, ones), value=1.0)

    def _words(
        self, states: Tensor, attention_mask: Tensor | None, word_ids: Tensor | None, word_mask: Tensor | None
    ) -> tuple[Tensor, Tensor]:
        """The word of each piece, and which words are real; both checked."""
        if word_ids is None and word_mask is None:  # each piece is a word: 1, 2, 3, ...
            real = states.new_ones(states.shape[:2]) != 0 if attention_mask is None else attention_mask != 0
            return torch.arange(1, real.shape[1] + 1, device=states.device).expand(len(states), -1), real
        if word_ids is None or word_mask is None:
            missing = "word_ids" if word_ids is None else "word_mask"
            raise ConfigError(
                f"Parsing needs word_ids, the word of each piece, and word_mask, which words are real; {missing} is "
                "missing."
            )
        if len(word_ids) != len(states) or word_ids.shape[1] > states.shape[1] or len(word_mask) != len(states):
            raise ConfigError(
                f"Parsing needs a word for each piece, {tuple(states.shape[:2])}, and a mask of words of as many rows; "
                f"got word_ids {tuple(word_ids.shape)} and word_mask {tuple(word_mask.shape)}."
            )
        return word_ids, word_mask != 0

    def _upos(self, upos_ids: Tensor | None, real: Tensor, may_lack: bool) -> Tensor:
        if upos_ids is not None and upos_ids.shape == real.shape:
            return upos_ids
        if upos_ids is None and may_lack:
            return torch.zeros_like(real, dtype=torch.long)
        came = "none" if upos_ids is None else f"shape {tuple(upos_ids.shape)}"
        raise ConfigError(
            f"This parser reads parts of speech; it needs upos_ids of shape {tuple(real.shape)}, and got {came}."
        )


def word_states(
    states: Float[Tensor, "batch seq width"], word_ids: Int[Tensor, "batch pieces"], words: int
) -> Float[Tensor, "batch words width"]:
    """The state of each word, the mean over the pieces that are marked with it; zeros for a word without pieces.

    Args:
        states: States of the pieces, and of a prompt before them, where there is one.
        word_ids: The word that a piece speaks for, from 1; 0 for none.
        words: Number of words in the longest row.
    """
    ids = functional.pad(word_ids, (states.shape[1] - word_ids.shape[1], 0))
    numbers = torch.arange(1, words + 1, device=ids.device)
    speaks = (ids[:, None, :] == numbers[:, None]).to(states.dtype)
    return (speaks / speaks.sum(-1, keepdim=True).clamp(min=1)) @ states


def allowed_arcs(word_mask: Bool[Tensor, "batch words"]) -> Bool[Tensor, "batch words heads"]:
    """Which arcs there can be: from the root to any word, so that no row is empty, and between real words."""
    between = word_mask[:, :, None] & word_mask[:, None, :]
    return torch.cat((torch.ones_like(between[:, :, :1]), between), 2)


def best_relations(rels: Float[Tensor, "batch words heads relations"], root: int) -> Int[Tensor, "batch words heads"]:
    """The best relation of each dependent to each head: `root` (an id) to the root, and to nothing else."""
    is_root = torch.arange(rels.shape[3], device=rels.device) == root
    between = rels[:, :, 1:].masked_fill(is_root, -torch.inf).argmax(3)
    return torch.cat((torch.full_like(rels[:, :, :1, 0], root, dtype=torch.long), between), 2)


def parsing_loss(
    arcs: Float[Tensor, "batch words heads"],
    rels: Float[Tensor, "batch words heads relations"],
    labels_arcs: Int[Tensor, "batch words"],
    labels_rels: Int[Tensor, "batch words"],
) -> Float[Tensor, ""]:
    """The cross-entropy of heads, and that of relations at the gold heads, each a mean over the words with a gold head.

    Args:
        arcs: Scores of heads, the root first.
        rels: Scores of relations.
        labels_arcs: The head of each word, 0 for the root; -100 where it is not learned.
        labels_rels: Its relation; -100 where it is not learned. That of a word whose head is not learned is not either.

    Returns:
        The loss in float32; 0 where nothing is learned.

    Raises:
        ConfigError: If there is not a head and a relation for each word.
    """
    if labels_arcs.shape != arcs.shape[:2] or labels_rels.shape != arcs.shape[:2]:
        raise ConfigError(
            f"Parsing needs labels_arcs and labels_rels with a number for each word, {tuple(arcs.shape[:2])}, and got "
            f"{tuple(labels_arcs.shape)} and {tuple(labels_rels.shape)}."
        )
    learned = labels_arcs != IGNORED
    at_gold = labels_arcs.masked_fill(~learned, 0)[:, :, None, None].expand(-1, -1, 1, rels.shape[3])
    relations = labels_rels.masked_fill(~learned, IGNORED)
    count = learned.sum()
    return mean_loss(arcs, labels_arcs, num_items_in_batch=count) + mean_loss(
        rels.gather(2, at_gold).squeeze(2), relations, num_items_in_batch=count
    )
