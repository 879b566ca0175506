"""M encoders of the BERT family as one: parameters with a leading axis, and one kernel where M would run M."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import dropout, layer_norm, scaled_dot_product_attention
from transformers.activations import ACT2FN

from dlfa_adapters.learning.ensemble.vocabulary import Vocabulary, look_up

FAMILIES = ("bert", "roberta", "xlm-roberta", "electra")
"""Values of `config.model_type` whose blocks have the parts below."""

_AFTER_PADDING = ("roberta", "xlm-roberta")
"""Families whose positions count the pieces that are no padding, from the padding id on."""

_MAPS = {
    "attention_in": ("attention.self.query", "attention.self.key", "attention.self.value"),
    "attention_out": ("attention.output.dense",),
    "up": ("intermediate.dense",),
    "down": ("output.dense",),
}
_NORMS = {"attention_norm": ("attention.output.LayerNorm",), "output_norm": ("output.LayerNorm",)}
_PARTS = {**_MAPS, **_NORMS}

Leaves = dict[str, Tensor]


def why_not_stackable(model: Any) -> str | None:
    """Why the encoder of a model cannot be in an ensemble; None if it can."""
    config = model.config
    if config.model_type not in FAMILIES:
        return f"encoders of type {config.model_type!r} are not stacked, only {', '.join(FAMILIES)}"
    if getattr(config, "position_embedding_type", "absolute") != "absolute" or getattr(config, "is_decoder", False):
        return "only encoders with absolute positions are stacked"
    if getattr(config, "embedding_size", config.hidden_size) != config.hidden_size:
        return "encoders whose embeddings are projected to another width are not stacked"
    return None


class StackedEncoder:
    r"""Encoders that start equal, do not share a parameter, and see the same batches.

    A linear map of member m is $x_m W_m + b_m$; with $x$ of shape (members, batch * seq, in) and $W$ of shape
    (members, in, out) all of them are one batched matrix product. Attention mixes pieces of one text alone, so members
    and texts share its batch axis. A layer norm is normalised for all at once, then scaled and shifted by member.

    Args:
        model: A model of adapters, or a bare encoder, in which nothing but the encoder's own weights is active.
        members: How many.
        vocabulary: Its words, cut down.

    Attributes:
        leaves: Parameters by name, (members, ...); those of blocks (members, layers, ...).
    """

    def __init__(self, model: Any, members: int, vocabulary: Vocabulary) -> None:
        encoder = model.base_model
        self.config, self.members, self.vocabulary = encoder.config, members, vocabulary
        self.padding_idx: int | None = encoder.embeddings.word_embeddings.padding_idx
        self._activation: nn.Module = ACT2FN[self.config.hidden_act]
        self._run_block: Callable[[Tensor, Tensor | None, Leaves, tuple[float, float]], Tensor] = self._block
        first = _stack_blocks(encoder.encoder.layer)
        embeddings = encoder.embeddings
        first["words"] = vocabulary.start().to(embeddings.word_embeddings.weight)
        first["positions"] = embeddings.position_embeddings.weight
        first["types"] = embeddings.token_type_embeddings.weight
        first["embedding_norm.weight"] = embeddings.LayerNorm.weight[None]
        first["embedding_norm.bias"] = embeddings.LayerNorm.bias[None]
        device = vocabulary.ids.device
        self.leaves: Leaves = {
            name: start.detach().to(device).expand(members, *start.shape).clone().requires_grad_()
            for name, start in first.items()
        }

    def compile(self) -> None:
        """Compile the block, once for all layers and lengths: norms, dropout and activation become few kernels."""
        self._run_block = torch.compile(self._block, dynamic=True)

    def states(
        self, ids: Tensor, mask: Tensor | None, types: Tensor | None, *, depth: int, training: bool
    ) -> list[Tensor]:
        """Hidden states of every member.

        Args:
            ids: Pieces, (batch, seq).
            mask: True at real pieces, (batch, seq); None: all are.
            types: Token type ids, (batch, seq); None: all zero.
            depth: Number of blocks to run.
            training: Whether dropout is on, and all pieces are known to occur in the training data.

        Returns:
            `depth` + 1 states, (members, batch, seq, width) each.
        """
        hidden, probabilities = self.config.hidden_dropout_prob, self.config.attention_probs_dropout_prob
        p = (hidden, probabilities) if training else (0.0, 0.0)
        x = self._embed(ids, types, training)
        x = dropout(self._norm(x, "embedding_norm", self.leaves), p[0])
        if mask is not None:  # (members * batch, 1, 1, seq)
            mask = mask[None, :, None, None, :].expand(self.members, -1, -1, -1, -1).flatten(0, 1)
        blocks = _blocks(self.leaves)
        states = [x]
        for block in blocks[:depth]:
            x = self._run_block(x, mask, block, p)
            states.append(x)
        return states

    def _embed(self, ids: Tensor, types: Tensor | None, training: bool) -> Tensor:
        words = self.vocabulary.embed(self.leaves["words"], ids, all_occur=training)
        kinds = self.leaves["types"]
        kind = kinds[:, :1, None] if types is None else look_up(kinds, types)
        if self.config.model_type in _AFTER_PADDING and self.padding_idx is not None:
            real = (ids != self.padding_idx).long()
            where = real.cumsum(1) * real + self.padding_idx
            return words + kind + look_up(self.leaves["positions"], where)
        return words + kind + self.leaves["positions"][:, None, : ids.shape[1]]

    def _block(self, x: Tensor, mask: Tensor | None, w: Leaves, p: tuple[float, float]) -> Tensor:
        """One block; x and result (members, batch, seq, width)."""
        members, batch, seq, width = x.shape
        heads = self.config.num_attention_heads
        flat = x.reshape(members, batch * seq, width)
        both = torch.baddbmm(w["attention_in.bias"], flat, w["attention_in.weight"])
        query, key, value = both.view(members * batch, seq, 3, heads, width // heads).permute(2, 0, 3, 1, 4)
        mixed = scaled_dot_product_attention(query, key, value, attn_mask=mask, dropout_p=p[1])
        mixed = mixed.transpose(1, 2).reshape(members, batch * seq, width)
        mixed = dropout(torch.baddbmm(w["attention_out.bias"], mixed, w["attention_out.weight"]), p[0])
        flat = self._norm(mixed + flat, "attention_norm", w)
        inner = self._activation(torch.baddbmm(w["up.bias"], flat, w["up.weight"]))
        outer = dropout(torch.baddbmm(w["down.bias"], inner, w["down.weight"]), p[0])
        return self._norm(outer + flat, "output_norm", w).view(members, batch, seq, width)

    def _norm(self, x: Tensor, name: str, w: Leaves) -> Tensor:
        """Layer norm of (members, ..., width) with scale and shift of each member."""
        scale, shift = w[f"{name}.weight"], w[f"{name}.bias"]  # (members, 1, width)
        if x.ndim == 4:
            scale, shift = scale.unsqueeze(1), shift.unsqueeze(1)
        normed = layer_norm(x, x.shape[-1:], eps=self.config.layer_norm_eps)
        return torch.addcmul(shift, normed, scale)

    @torch.no_grad()
    def state_dict(self, member: int) -> Leaves:
        """Weights of one member under the names of a bare Transformers encoder, without the pooler; copies."""
        own = {name: leaf[member].detach() for name, leaf in self.leaves.items()}
        state = {
            "embeddings.word_embeddings.weight": self.vocabulary.whole(own["words"], member),
            "embeddings.position_embeddings.weight": own["positions"].clone(),
            "embeddings.token_type_embeddings.weight": own["types"].clone(),
            "embeddings.LayerNorm.weight": own["embedding_norm.weight"][0].clone(),
            "embeddings.LayerNorm.bias": own["embedding_norm.bias"][0].clone(),
        }
        for part, names in _PARTS.items():
            for kind in ("weight", "bias"):
                for layer, joined in enumerate(own[f"{part}.{kind}"]):
                    for name, piece in zip(names, joined.chunk(len(names), 1), strict=True):
                        plain = piece.T if part in _MAPS and kind == "weight" else piece[0]
                        state[f"encoder.layer.{layer}.{name}.{kind}"] = plain.contiguous().clone()
        return state


def _stack_blocks(blocks: nn.ModuleList) -> Leaves:
    """Weights of all blocks with a leading axis of layers: matrices (layers, in, out), vectors (layers, 1, out)."""
    leaves = {}
    for part, names in _PARTS.items():
        for kind in ("weight", "bias"):
            rows = []
            for block in blocks:
                tensors = [block.get_parameter(f"{name}.{kind}").detach() for name in names]
                rows.append(torch.cat([t.T if t.ndim == 2 else t[None] for t in tensors], 1))
            leaves[f"{part}.{kind}"] = torch.stack(rows)
    return leaves


def _blocks(leaves: Leaves) -> list[Leaves]:
    """The weights of each block, (members, in, out) and (members, 1, out).

    Maps are cast to what autocast computes in before they are cut, all layers in one kernel; `unbind` likewise gives
    one gradient for all layers.
    """
    device = leaves["words"].device.type
    narrow = torch.get_autocast_dtype(device) if torch.is_autocast_enabled(device) else None
    split = {}
    for part in _PARTS:
        for name in (f"{part}.weight", f"{part}.bias"):
            leaf = leaves[name] if narrow is None or part in _NORMS else leaves[name].to(narrow)
            split[name] = leaf.unbind(1)
    return [dict(zip(split, block, strict=True)) for block in zip(*split.values(), strict=True)]
