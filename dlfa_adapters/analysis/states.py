"""Models to look into, an encoder by name or that of a run, and their states: of every layer, and behind the fusion."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import torch
from torch import Tensor

from dlfa_adapters.data.batching import HasInputIds, pad_batch
from dlfa_adapters.data.budget import token_budget_batches
from dlfa_adapters.data.pairs import encode_texts
from dlfa_adapters.encoders import load_encoder
from dlfa_adapters.encoders.compute import tokens_at_once
from dlfa_adapters.fusion import Fusion, select_states
from dlfa_adapters.fusion.readout import pool_tokens
from dlfa_adapters.ground.errors import RunError
from dlfa_adapters.predict.centred import NOT_TOLD, check_not_centred
from dlfa_adapters.predict.forms import load_fast
from dlfa_adapters.predict.load import head_config
from dlfa_adapters.runs import Run, read_run

M = TypeVar("M")

FUSED = "fused"
"""The name of the state behind the fusion; layers are called `0`..`L`."""


@dataclass(frozen=True)
class Opened:
    """A model that is looked into, in eval mode, on the GPU where there is one.

    Attributes:
        name: The run folder, or the encoder.
        model: See `each_batch`.
        tokenizer: Its fast tokenizer.
        fusion: What makes the fused state, such as `dlfa of layer 7`; None for an encoder alone.
        max_length: Most pieces of a text or window.
    """

    name: str
    model: Any
    tokenizer: Any
    fusion: str | None = None
    max_length: int = 128


def open_run(run: str | Path | Run) -> Opened:
    """The model of a run, of any tuning.

    Raises:
        ConfigError: If it was trained on centred languages.
        RunError: If the folder is not a complete run; see `load_run`.
    """
    run = run if isinstance(run, Run) else read_run(run)
    check_not_centred(run, NOT_TOLD)
    predictor, head = load_fast(run), head_config(run)
    layers = ", ".join(map(str, head["fuse_layer"] or ()))
    fusion = head["fusion"] + (f" of layer {layers}" if layers else "")
    return Opened(str(run.folder), predictor.model, predictor.tokenizer, fusion, predictor.max_length)


def open_encoder(name: str) -> Opened:
    """An encoder as `load_encoder` loads it.

    Args:
        name: `offline`, a folder, or a name on the hub.

    Raises:
        ConfigError: If there is no such model, or the hub cannot be reached.
    """
    encoder = load_encoder(name)
    model = encoder.model.to("cuda") if torch.cuda.is_available() else encoder.model
    return Opened(name, model, encoder.tokenizer, max_length=min(Opened.max_length, encoder.most_pieces))


def open_all(
    encoder: str | None, runs: Iterable[Run], check: Callable[[Opened], object] = lambda opened: None
) -> Iterator[Opened]:
    """An encoder, where one is named, and the models of runs, as `open_encoder`, `open_run` and `in_turn` have them."""
    named = [] if encoder is None else [partial(open_encoder, encoder)]
    return in_turn([*named, *(partial(open_run, run) for run in runs)], check)


def in_turn(ways: Sequence[Callable[[], M]], check: Callable[[M], object] = lambda model: None) -> Iterator[M]:
    """Open models, each when the one before it is done with; `check` refuses what cannot be measured.

    Before the first is given, the others are opened once and let go, so that one that cannot be used is refused before
    another one has been measured.
    """

    def checked(way: Callable[[], M]) -> M:
        model = way()
        check(model)
        return model

    for way in ways[1:]:
        checked(way)
    yield from map(checked, ways)


@torch.no_grad()
def each_batch(
    model: Any,
    items: Sequence[HasInputIds],
    pad_token_id: int | None,
    on_progress: Callable[[int], None] | None = None,
) -> Iterator[tuple[list[int], dict[str, Tensor], Tensor]]:
    """The states of texts or windows, batch by batch, as the model has them when it predicts.

    It runs with its adapters or LoRA, without dropout. What the encoder and the fusion give is read on the way, so that
    every kind of model is read alike.

    Args:
        model: An encoder, an adapter model with a DLFA head in force, a plain model of `dlfa_adapters.models`, or a
            PEFT model around one; in eval mode, and it stays on its device.
        items: Windows, or texts from `encode_texts`.
        pad_token_id: The tokenizer's.
        on_progress: Called with the number of items that were just done.

    Yields:
        Indices of the items; (batch, seq, width) for each of `0`..`L`, where L is `last_hidden_state`, and with a
        fusion for `fused`: what it gives, before LSTM and classifier; the attention mask, (batch, seq).

    Raises:
        RunError: If a state of a real token is not a finite number.
    """
    inner = model.get_base_model() if hasattr(model, "get_base_model") else model  # out of PEFT's wrapper
    encoder, fusions = inner.base_model, [module for module in model.modules() if isinstance(module, Fusion)]
    seen: dict[str, Any] = {}
    hooks = [encoder.register_forward_hook(lambda _module, _inputs, output: seen.update(encoder=output))]
    # Of fusions within a fusion the outer one ends last, and counts.
    hooks += [
        each.register_forward_hook(lambda _module, _inputs, output: seen.update(fused=output)) for each in fusions
    ]
    try:
        for batch in token_budget_batches(
            [len(item.input_ids) for item in items], tokens_at_once(inner, encoder.config)
        ):
            rows = pad_batch([items[i] for i in batch], pad_token_id)
            inputs = {name: tensor.to(encoder.device) for name, tensor in rows.items()}
            (model if fusions else encoder)(**inputs, output_hidden_states=True, return_dict=True)
            states, real = _by_name(seen), inputs["attention_mask"]
            if not all(state[real.bool()].isfinite().all() for state in states.values()):
                raise RunError("The model gives hidden states that are not finite numbers; its weights may be damaged.")
            yield batch, states, real
            if on_progress is not None:
                on_progress(len(batch))
    finally:
        for hook in hooks:
            hook.remove()


def sentence_states(
    model: Any,
    sentences: Sequence[HasInputIds],
    pad_token_id: int | None,
    on_progress: Callable[[int], None] | None = None,
    layers: Sequence[int] | None = None,
    pooling: str = "mean",
) -> dict[str, Tensor]:
    """The mean state over the real tokens of each sentence, special tokens included.

    Args:
        model: See `each_batch`.
        sentences: From `encode_texts`.
        pad_token_id: The tokenizer's.
        on_progress: Called with the number of sentences that were just done.
        layers: Which layers; default: all. The fused state is there in any case.
        pooling: Another state of each sentence: a name of `fusion.readout.POOLINGS`.

    Returns:
        (sentences, width) in float32, by the names of `each_batch`.

    Raises:
        RunError: If a state is not a finite number.
    """
    pooled: dict[str, Tensor] = {}
    for batch, states, real in each_batch(model, sentences, pad_token_id, on_progress):
        for name, state in states.items():
            if layers is None or name == FUSED or int(name) in layers:
                of_batch = pool_tokens(state.float(), real, pooling).cpu()
                pooled.setdefault(name, torch.empty(len(sentences), of_batch.shape[1]))[batch] = of_batch
    return pooled


def translated_states(
    opened: Opened,
    pairs: Sequence[tuple[str, str]],
    on_progress: Callable[[int], None] | None = None,
    layers: Sequence[int] | None = None,
) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
    """`sentence_states` of sentences, and of their translations."""
    first, second = (
        sentence_states(
            opened.model,
            encode_texts(opened.tokenizer, [pair[side] for pair in pairs], max_length=opened.max_length)[0],
            opened.tokenizer.pad_token_id,
            on_progress,
            layers,
        )
        for side in (0, 1)
    )
    return first, second


def _by_name(seen: dict[str, Any]) -> dict[str, Tensor]:
    """What was read of a batch: (batch, seq, width) each."""
    outputs = seen["encoder"]
    states = select_states(range(len(outputs.hidden_states)), outputs.hidden_states, outputs.last_hidden_state)
    return {**{str(k): state for k, state in enumerate(states)}, **({FUSED: seen[FUSED]} if FUSED in seen else {})}
