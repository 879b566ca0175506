"""The attention heads of an encoder: which numbers of its projections belong to which head.

With H heads of d = size values, head h, from 1, has the rows (h - 1) d + 1 .. h d of the query, key and value
projections, and the columns of the same numbers of the output projection.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dlfa_adapters.encoders.parts import blocks_of, encoder_of
from dlfa_adapters.ground.errors import ConfigError, UnsupportedModelError

if TYPE_CHECKING:
    from torch import Tensor

PROJECTIONS = ("query", "key", "value", "output")
"""The projections of a head, in the order of `head_weights`."""

_LAYOUTS = (
    ("attention.self.query", "attention.self.key", "attention.self.value", "attention.output.dense"),
    ("attention.self.query_proj", "attention.self.key_proj", "attention.self.value_proj", "attention.output.dense"),
    ("attention.q_lin", "attention.k_lin", "attention.v_lin", "attention.out_lin"),
    ("layer.0.SelfAttention.q", "layer.0.SelfAttention.k", "layer.0.SelfAttention.v", "layer.0.SelfAttention.o"),
)
"""What the four are called in a block: of BERT, ELECTRA, RoBERTa and X-MOD; DeBERTa-v2; DistilBERT; T5's encoder."""


@dataclass(frozen=True)
class Attention:
    """The attention of a block.

    Attributes:
        projections: The modules of `PROJECTIONS`; what goes into the last one is what the heads give, one behind the
            other.
        heads: Number of heads.
    """

    projections: tuple[Any, ...]
    heads: int

    @property
    def output(self) -> Any:
        """The output projection."""
        return self.projections[-1]

    def weights(self) -> "Tensor":
        """(heads, 4, size * width) in float32 on the CPU, without biases."""
        import torch

        *inner, output = (module.weight.detach().float().cpu() for module in self.projections)
        return torch.stack([each.reshape(self.heads, -1) for each in (*inner, output.T)], dim=1)


def attention_of(model: Any) -> list[Attention]:
    """The attention of every block of a model (see `encoder_of`), that of block k at index k - 1.

    Raises:
        UnsupportedModelError: If heads do not have their own rows of four projections in every block.
    """
    config = encoder_of(model).config
    try:
        blocks = blocks_of(model)
    except ConfigError:
        raise _unsupported(config, "its blocks share their weights") from None
    found = []
    for block in blocks:
        modules = dict(block.named_modules())
        names = next((names for names in _LAYOUTS if all(name in modules for name in names)), None)
        if names is None:
            raise _unsupported(config, "its blocks have no query, key, value and output projection each by itself")
        found.append(Attention(tuple(modules[name] for name in names), config.num_attention_heads))
    return found


def head_weights(model: Any) -> "Tensor":
    """The weights of every head: (layers, heads, 4, size * width) in float32 on the CPU, in the order of `PROJECTIONS`.

    A LoRA counts where it is merged.

    Args:
        model: See `attention_of`.

    Raises:
        UnsupportedModelError: See `attention_of`.
    """
    import torch

    return torch.stack([attention.weights() for attention in attention_of(model)])


def _unsupported(config: Any, why: str) -> UnsupportedModelError:
    return UnsupportedModelError(
        f"The attention heads of {config.model_type} cannot be told apart ({why}); give an encoder of BERT's kind, "
        "such as bert-base-multilingual-cased or xlm-roberta-base."
    )
