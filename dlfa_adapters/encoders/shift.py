r"""Mean-difference shift: states of one language moved towards another at one layer of any model, within a context.

Liu, Hsu, Chuang and Lee 2020 (arXiv 2004.09205), of text in the language L1 towards L2:

$$\hat{h}_{x_i}^l = h_{x_i}^l + \alpha D_{L_1 \to L_2}^l, \qquad D_{L_1 \to L_2}^l = R_{L_2}^l - R_{L_1}^l$$

$h_{x_i}^l$: the state of token i behind block l; $R_L^l$: the mean of a language, see `means`; $\alpha$: a number. All
tokens are shifted, special ones and padding too, and the blocks above read the shifted states.
"""

import hashlib
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from dlfa_adapters.encoders.means import LanguageMeans
from dlfa_adapters.encoders.parts import blocks_of, encoder_of
from dlfa_adapters.encoders.states import Change
from dlfa_adapters.ground.errors import ConfigError, RunError, UnsupportedModelError


@dataclass(frozen=True)
class Shift(Change):
    """A vector that is added to all states of a layer.

    Attributes:
        vector: alpha times the mean difference, (width,) in float32.
        layer: From 1 to L; at L it is `last_hidden_state` that is shifted, and what a pooler makes of it.
        name: What it is called in an identity.
    """

    vector: Tensor
    layer: int
    name: str = "shift"
    _ready: dict[Any, Tensor] = field(default_factory=dict, init=False, repr=False, compare=False)

    @classmethod
    def between(cls, means: LanguageMeans, source: str, target: str, layer: int, alpha: float = 1.0) -> "Shift":
        """The shift of text in the language `source` towards `target`.

        Raises:
            ConfigError: If a language has no mean, there is no such layer, or alpha is no finite number.
        """
        vector = float(alpha) * means.difference(source, target, layer)
        if not vector.isfinite().all():
            raise ConfigError(f"alpha must be a finite number, got {alpha}; type e.g. 1.0.")
        return cls(vector, layer, f"shift {source}->{target} by {float(alpha):g}")

    @property
    def identity(self) -> str:
        """Layer, languages, alpha, and a hash of the numbers; nothing for a shift by nothing, which changes no bit."""
        if not self.vector.any():
            return ""
        numbers = hashlib.sha256(self.vector.numpy().tobytes()).hexdigest()[:16]
        return f"{self.name} at layer {self.layer} {numbers}"

    @contextmanager
    def applied(self, encoder: Any) -> Iterator[None]:
        """See `Change`. The shift is that of the thread which entered; others run without it meanwhile.

        Raises:
            ConfigError: If there is no such layer, its block shares the weights of others, or the model is compiled.
            UnsupportedModelError: If the encoder reads its states where a shift would not be seen.
        """
        encoder = encoder_of(encoder)
        module = _module_behind(encoder, self.layer)
        if not self.vector.any():
            yield
            return
        owner = threading.get_ident()

        def hook(module: Any, _inputs: Any, output: Any) -> Any:
            if getattr(module, "_is_replica", False):  # of nn.DataParallel, which runs in threads of its own
                raise RunError("A shift does not reach the threads of nn.DataParallel; use one GPU, or torchrun.")
            if threading.get_ident() != owner:
                return None
            return self._of_encoder(encoder, output) if module is encoder else self._of_block(output)

        handle = module.register_forward_hook(hook)
        try:
            yield
        finally:
            handle.remove()

    def _moved(self, state: Tensor) -> Tensor:
        key = (state.device, state.dtype)
        if key not in self._ready:
            self._ready[key] = self.vector.to(*key)
        return state + self._ready[key]

    def _of_block(self, output: Any) -> Any:
        """The output of a block, of which the state is the one tensor as wide as a state and no attention."""
        if isinstance(output, Tensor):
            return self._moved(output)
        tensors = [(i, each) for i, each in enumerate(output) if isinstance(each, Tensor) and each.dim() <= 3]
        at = next(i for i, each in tensors if each.shape[-1] == len(self.vector))
        return (*output[:at], self._moved(output[at]), *output[at + 1 :])

    def _of_encoder(self, encoder: Any, output: Any) -> Any:
        """The output of the encoder, with `last_hidden_state` and what is made of it."""
        if isinstance(output, tuple):
            return (self._moved(output[0]), *_pooled(encoder, self._moved(output[0]), output[1:]))
        last, moved = output.last_hidden_state, self._moved(output.last_hidden_state)
        output["last_hidden_state"] = moved
        if output.get("pooler_output") is not None:
            output["pooler_output"] = _pool(encoder, moved)
        if output.get("hidden_states") is not None and output.hidden_states[-1] is last:
            output["hidden_states"] = (*output.hidden_states[:-1], moved)
        return output


def _pooled(encoder: Any, last: Tensor, rest: tuple[Any, ...]) -> tuple[Any, ...]:
    """What comes behind `last_hidden_state` in an output that is a tuple."""
    if getattr(encoder, "pooler", None) is None or not rest or not isinstance(rest[0], Tensor):
        return rest
    return (_pool(encoder, last), *rest[1:])


def _pool(encoder: Any, last: Tensor) -> Tensor:
    if hasattr(encoder, "pooler_activation"):  # ALBERT
        return torch.as_tensor(encoder.pooler_activation(encoder.pooler(last[:, 0])))
    return torch.as_tensor(encoder.pooler(last))


def _module_behind(encoder: Any, layer: int) -> Any:
    """The module whose output is the state of a layer.

    Raises:
        ConfigError: If there is none, or the model is compiled, so that it would not look at a hook.
        UnsupportedModelError: If it collects states where a hook is not seen.
    """
    depth = encoder.config.num_hidden_layers
    if not 1 <= layer <= depth:
        raise ConfigError(f"A shift is at a layer from 1 to {depth} of this encoder, got {layer}; type e.g. {depth}.")
    if any(getattr(module, "_compiled_call_impl", None) is not None for module in encoder.modules()):
        raise ConfigError("A compiled model does not look at shifts; leave torch.compile and --compile out.")
    if getattr(encoder, "_can_record_outputs", None):
        raise UnsupportedModelError(
            f"{encoder.config.model_type!r} collects its states before anything can be added to them; take an encoder "
            "such as bert-base-multilingual-cased."
        )
    if layer == depth:
        return encoder
    try:
        return blocks_of(encoder)[layer - 1]
    except ConfigError as error:
        raise ConfigError(
            f"The blocks of {encoder.config.model_type} share their weights, so that none has a place behind it to "
            f"shift states at; type {depth}, the last layer."
        ) from error


@contextmanager
def shift_language(
    model: Any,
    means: LanguageMeans | str | Path,
    *,
    source: str,
    target: str,
    layer: int,
    alpha: float = 1.0,
) -> Iterator[Shift]:
    """Within it, a model reads text of one language as if it were of another: `h + alpha (R_target - R_source)`.

        with shift_language(model, "means.safetensors", source="de", target="en", layer=6):
            logits = model(**german).logits

    For transfer, `source` is the language of the text and `target` the one that the model was trained on. Shifts nest:
    each adds its own, so that one from there back returns to the states as they were. Leaving it, also by an
    exception, removes all that it has put into the model. It holds for the thread that entered it alone; others may use
    the model meanwhile, without the shift.

    Args:
        model: Any model around an encoder: of adapters, of Transformers, of this library, in PEFT's wrapper. Its head,
            whichever it is, reads shifted states.
        means: What `dlfa analyze means` made of this encoder, or the file.
        source: The language of the text.
        target: The language that states are moved towards.
        layer: Behind which block, from 1; for the last one it is `last_hidden_state`.
        alpha: How far; 1 moves the mean of the one language to that of the other, 0 changes nothing.

    Yields:
        The shift.

    Raises:
        ConfigError: If the means are of another model, a language has none, there is no such layer, or the model is
            compiled.
        DataError: If there is no such file.
        RunError: If the file is damaged.
        UnsupportedModelError: See `Shift.applied`.
    """
    means = means if isinstance(means, LanguageMeans) else LanguageMeans.read(means)
    if type(model).__name__ == "OptimizedModule":
        raise ConfigError("A compiled model does not look at shifts; leave torch.compile and --compile out.")
    shift = Shift.between(means, source, target, layer, alpha)
    means.check_fits(model, [layer], [source, target])
    with shift.applied(model):
        yield shift
