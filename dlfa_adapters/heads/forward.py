"""Running the heads: asks for hidden states where a head needs them, and hands none out unasked."""

import functools
import inspect
from collections.abc import Callable
from typing import Any

from adapters.context import ForwardContext
from adapters.heads import MultiHeadOutput
from transformers.utils import ModelOutput

from dlfa_adapters.fusion.base import check_mask, token_shape
from dlfa_adapters.heads.composition import adapter_setup, check_tasks, head_inputs, head_setup
from dlfa_adapters.heads.head import is_dlfa_head
from dlfa_adapters.heads.refusal import check_composition

INPUT_ROWS = "dlfa_input_rows"
"""The argument by which the wrapper tells `forward_head` how many rows the input has."""


class ForwardMixin:
    """The methods of a model that run heads."""

    def forward_head(
        self: Any,
        all_outputs: Any,
        head_name: str | None = None,
        cls_output: Any = None,
        attention_mask: Any = None,
        return_dict: bool = False,
        context: Any = None,
        **kwargs: Any,
    ) -> Any:
        """Run the heads in force; see upstream, which does so where none of them is a DLFA head.

        With one head its output is returned, with several a MultiHeadOutput whose loss is the sum of theirs.
        """
        rows = kwargs.pop(INPUT_ROWS, None)
        setup, heads = adapter_setup(self), head_setup(self, head_name)
        modules = {name: self.heads[name] for name in heads if name in self.heads}
        if not any(is_dlfa_head(head) for head in modules.values()):
            return super().forward_head(  # type: ignore[misc]
                all_outputs, head_name, cls_output, attention_mask, return_dict, context, **kwargs
            )
        self._get_used_heads(head_name)  # raises where a head is not known
        kwargs.update(self._head_context(context))
        if rows is None:
            rows = attention_mask.shape[0] if attention_mask is not None else all_outputs[0].shape[0]
        if getattr(ForwardContext.get_context(), "adapter_input_parallelized", False):
            rows //= setup.parallel_channels if setup is not None else 1  # the caller has replicated the input already
        per_label = {name: head.config.get("num_choices", 1) for name, head in modules.items()}
        outputs = [
            modules[item.name](item.outputs, None, item.attention_mask, return_dict, **item.kwargs)
            for item in head_inputs(heads, setup, all_outputs, attention_mask, rows, kwargs, per_label)
        ]
        if len(outputs) == 1 and len(heads) == 1:
            return outputs[0]
        losses = [output["loss"] for output in outputs if isinstance(output, ModelOutput) and "loss" in output]
        return MultiHeadOutput(head_outputs=outputs, loss=sum(losses) if len(losses) == len(outputs) else None)

    def _head_context(self: Any, context: Any) -> dict[str, Any]:
        """What upstream hands its heads besides: the invertible adapter, and the length of the prompt."""
        extra = {}
        invertible = getattr(self.base_model, "get_invertible_adapter", lambda: None)()
        if invertible:
            extra["invertible_adapter"] = invertible
        context = context or ForwardContext.get_context()
        length = (
            context.get("prompt_tokens_length")
            if isinstance(context, dict)
            else getattr(context, "prompt_tokens_length", None)
        )
        if length is not None:
            extra["prompt_tokens_length"] = length
        return extra


def asking_for_states(forward: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap the `forward` of a model class of adapters. Its signature stays, because Trainer reads it.

    Without a DLFA head in force the call goes through untouched.
    """
    signature = inspect.signature(forward)

    @functools.wraps(forward)
    def wrapper(self: Any, *args: Any, **kwargs: Any) -> Any:
        given = _by_name(signature.bind(self, *args, **kwargs)) if args else dict(kwargs)
        heads = [self.heads[name] for name in head_setup(self, given.get("head")) if name in self.heads]
        if not any(is_dlfa_head(head) for head in heads):
            return forward(self, *args, **kwargs)
        check_composition(adapter_setup(self), self.adapters_config, self.config)
        check_tasks(adapter_setup(self), given)
        requested, as_dict = given.get("output_hidden_states"), given.get("return_dict")
        requested = self.config.output_hidden_states if requested is None else requested
        as_dict = self.config.use_return_dict if as_dict is None else as_dict
        needed = any(is_dlfa_head(head) and head.needs_hidden_states for head in heads)
        # Always as a ModelOutput inside: with tuples upstream's DeBERTa drops the hidden states.
        given.update(output_hidden_states=requested or needed, return_dict=True)
        shape = token_shape(given)
        check_mask(given.get("attention_mask"), shape)
        given[INPUT_ROWS] = None if shape is None else shape[:-1].numel()  # sentences, or sentences times choices
        output = forward(self, **given)
        if not requested:
            output = without_states(output)
        return output if as_dict else _as_tuple(output)

    wrapper.asks_for_states = True  # type: ignore[attr-defined]
    return wrapper


def _by_name(bound: inspect.BoundArguments) -> dict[str, Any]:
    """The arguments of a call by name, `self` left out."""
    named = {name: value for name, value in bound.arguments.items() if name not in ("self", "kwargs")}
    return {**named, **bound.arguments.get("kwargs", {})}


def without_states(output: Any) -> Any:
    """The output without hidden states, those of nested outputs of several heads included."""
    if not isinstance(output, ModelOutput):
        return output
    rest = {key: value for key, value in output.items() if key != "hidden_states"}
    if isinstance(output, MultiHeadOutput):
        rest["head_outputs"] = [without_states(head_output) for head_output in output.head_outputs]
    return _rebuild(output, rest)


def _as_tuple(output: ModelOutput) -> Any:
    """A tuple; several heads stay a MultiHeadOutput, of tuples, as upstream has it."""
    if isinstance(output, MultiHeadOutput):
        return _rebuild(output, {**output, "head_outputs": [item.to_tuple() for item in output.head_outputs]})
    return output.to_tuple()


def _rebuild(output: ModelOutput, values: dict[str, Any]) -> ModelOutput:
    """A new output of the same class; what is no field of it (adapters adds its attentions later) is set after."""
    fields = type(output).__dataclass_fields__
    rebuilt = type(output)(**{key: value for key, value in values.items() if key in fields})
    for key, value in values.items():
        if key not in fields:
            rebuilt[key] = value
    return rebuilt
