"""Which head is active, what follows it, and which compositions it may stand in.

Trainer looks at the signature of `type(model).forward`: it drops the columns of a data set that are not in it, and
takes the parameters with "label" in their name for the labels. The signatures of adapters have none, so `labels` would
be dropped. Which inputs are labels depends on the active head, and a signature belongs to a class; so the model moves
to a subclass of the same name that differs in the signature only.
"""

import functools
import inspect
from collections.abc import Iterable
from typing import Any, ClassVar

from adapters.composition import parse_composition, parse_heads_from_composition
from adapters.heads import ModelWithFlexibleHeadsAdaptersMixin
from transformers import PretrainedConfig

from dlfa_adapters.ground.environment import without_lines
from dlfa_adapters.heads.composition import TASK_IDS, has_tasks, head_setup
from dlfa_adapters.heads.head import is_dlfa_head
from dlfa_adapters.heads.refusal import check_composition

_NONE_ACTIVE_YET = ("adapters.model_mixin", "There are adapters available but none are activated")
"""Upstream looks whether adapters are active just before it activates the requested ones."""


class ActivationMixin:
    """The methods of a model that activate heads and adapters."""

    _plain_class: ClassVar[type]
    """The class whose signature is upstream's, see `_follow_active_head`."""

    @property
    def active_head(self: Any) -> Any:
        """The active head or heads, see upstream. Label names follow it."""
        return ModelWithFlexibleHeadsAdaptersMixin.active_head.fget(self)

    @active_head.setter
    def active_head(self: Any, head: Any) -> None:
        ModelWithFlexibleHeadsAdaptersMixin.active_head.fset(self, head)
        self._follow_active_head()

    def delete_head(self: Any, head_name: str) -> None:
        """Delete a head; see upstream. If it is one of several active ones, none is active afterwards."""
        was_ours = head_name in self.heads and is_dlfa_head(self.heads[head_name])
        was_active = head_name in (self._active_heads or [])
        super().delete_head(head_name)  # type: ignore[misc]
        if was_active:
            self.active_head = None
            if was_ours:
                follow_active_head(self.config, [])

    def _follow_active_head(self: Any) -> None:
        """Label names in the configuration, and the inputs that Trainer takes for labels: those of the active head."""
        heads = [self.heads[name] for name in (self._active_heads or []) if name in self.heads]
        if any(is_dlfa_head(head) for head in self.heads.values()):  # without one, label names are upstream's concern
            follow_active_head(self.config, heads)
        self._show_inputs()

    def _show_inputs(self: Any) -> None:
        """Trainer keeps the columns of a data set that are in the signature: those of the active heads and adapters."""
        heads = [self.heads[name] for name in (self._active_heads or []) if name in self.heads]
        ours = [head for head in heads if is_dlfa_head(head)]
        labels = dict.fromkeys(name for head in heads for name in head.get_label_names()) if ours else {}
        others = dict.fromkeys(name for head in ours for name in head.get_input_names())
        if ours and has_tasks(self.adapters_config.active_setup):
            others[TASK_IDS] = None
        self.__class__ = class_with_inputs(self._plain_class, tuple(labels), tuple(others))

    def set_active_adapters(self: Any, adapter_setup: Any, skip_layers: list[int] | None = None) -> None:
        """Activate adapters, and the heads of the same names; see upstream.

        Raises:
            ConfigError: If a DLFA head would be active in a composition that adapters computes wrongly.
        """
        setup = parse_composition(adapter_setup, model_type=self.config.model_type)
        self._check_for_heads(setup)
        with without_lines(*_NONE_ACTIVE_YET):
            super().set_active_adapters(setup, skip_layers)  # type: ignore[misc]
        self._show_inputs()

    def train_adapter(self: Any, adapter_setup: Any, train_embeddings: bool = False) -> None:
        """Train these adapters; see upstream. DLFA heads of the same names become active, as by `set_active_adapters`.

        Raises:
            ConfigError: See `set_active_adapters`.
        """
        setup = parse_composition(adapter_setup)
        named = self._check_for_heads(setup)
        with without_lines(*_NONE_ACTIVE_YET):
            super().train_adapter(setup, train_embeddings)  # type: ignore[misc]
        if any(is_dlfa_head(self.heads[name]) for name in named):
            self.set_active_adapters(setup)
        self._show_inputs()

    def _check_for_heads(self: Any, setup: Any) -> list[str]:
        """Refuse a composition that goes wrong where DLFA heads would be active in it; return the heads it names."""
        named = parse_heads_from_composition(setup) or []
        names = [named] if isinstance(named, str) else list(named)
        names = names if all(name in self.heads for name in names) else []
        heads = [self.heads[name] for name in names or self._active_heads or [] if name in self.heads]
        if any(is_dlfa_head(head) for head in heads):
            check_composition(setup, self.adapters_config, self.config)
        return names

    @property
    def accepts_loss_kwargs(self: Any) -> bool:
        """Whether the loss honours `num_items_in_batch`; where it does not, Trainer scales it itself.

        Stock heads do not, although the `**kwargs` of their models make Trainer believe so. A model with none but stock
        heads has no such attribute, as upstream.
        """
        if not any(hasattr(head, "honours_num_items") for head in self.heads.values()):
            raise AttributeError("accepts_loss_kwargs")  # upstream has none, and Trainer goes by the signature
        heads = [self.heads[name] for name in head_setup(self, None) if name in self.heads]
        return bool(heads) and all(getattr(head, "honours_num_items", False) for head in heads)


def follow_active_head(config: Any, heads: Iterable[Any]) -> None:
    """Set `config.id2label` and `config.label2id` of a model to those of its active heads.

    With several heads, none, or one without label names the defaults of Transformers come back, never None.
    """
    active = list(heads)
    label2id = active[0].config.get("label2id") if len(active) == 1 else None
    if label2id:
        config.id2label = {int(id_): name for name, id_ in label2id.items()}
    else:
        config.id2label = PretrainedConfig().id2label
    config.label2id = {name: id_ for id_, name in config.id2label.items()}


class LabelName(str):
    """A parameter's name that Trainer takes for a label although "label" is not in it, e.g. `start_positions`.

    Trainer asks `"label" in name`, and accepts `start_positions` only of classes called `...QuestionAnswering`; but the
    class of a head must keep its name, by which adapters recognises saved heads.
    """

    __slots__ = ()

    def __contains__(self, part: object) -> bool:
        """True for "label"."""
        return part == "label" or super().__contains__(str(part))


@functools.cache
def class_with_inputs(cls: type, labels: tuple[str, ...], others: tuple[str, ...]) -> type:
    """A subclass of the same name whose `forward` has the names of labels and other inputs in its signature too.

    Returns:
        The subclass, or `cls` itself where there is nothing to add.
    """
    signature = inspect.signature(cls.forward)  # type: ignore[attr-defined]
    names = [*map(LabelName, labels), *others]
    added = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None)
        for name in names
        if name not in signature.parameters
    ]
    if not added:
        return cls

    @functools.wraps(cls.forward)  # type: ignore[attr-defined]
    def forward(self: Any, *args: Any, **kwargs: Any) -> Any:
        return cls.forward(self, *args, **kwargs)  # type: ignore[attr-defined]

    parameters = list(signature.parameters.values())
    at = len(parameters) - (parameters[-1].kind is inspect.Parameter.VAR_KEYWORD)
    forward.__signature__ = signature.replace(parameters=[*parameters[:at], *added, *parameters[at:]])  # type: ignore[attr-defined]
    members = {
        "__doc__": cls.__doc__,
        "__module__": cls.__module__,
        "__qualname__": cls.__qualname__,
        "forward": forward,
        "_plain_class": cls,
    }
    return type(cls)(cls.__name__, (cls,), members)
