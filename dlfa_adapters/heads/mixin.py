"""What a model class of adapters needs to carry DLFA heads."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, ClassVar

import torch
from torch import nn

from dlfa_adapters.fusion import BiLSTM, FuseLayer, Fusion, MaskedBatchNorm
from dlfa_adapters.ground.errors import ConfigError
from dlfa_adapters.heads.activation import ActivationMixin
from dlfa_adapters.heads.folders import FoldersMixin
from dlfa_adapters.heads.forward import ForwardMixin, asking_for_states
from dlfa_adapters.heads.head import DLFAHead, is_dlfa_head
from dlfa_adapters.heads.inner import resolve_labels
from dlfa_adapters.heads.language import LanguageMixin
from dlfa_adapters.heads.saving import SavingMixin
from dlfa_adapters.heads.schema import HEAD_TYPE, check_head_name
from dlfa_adapters.kinds.own_head import OwnHead
from dlfa_adapters.tasks import get_task
from dlfa_adapters.tasks.head_options import resolve_fuse_layer

_WHERE_IT_CAME_FROM = ("encoder", "versions")
"""What of a head's configuration may differ: the encoder's folder, and versions of libraries. Its form is checked."""


class AveragingMixin:
    """`average_head` for DLFA heads."""

    def average_head(
        self: Any,
        head_name: str,
        head_list: Sequence[str] | Mapping[str, float],
        weights: Sequence[float] | None = None,
        normalize_weights: bool = True,
        overwrite_ok: bool = False,
        set_active: bool = False,
    ) -> None:
        """Add a head whose weights are the weighted mean of those of other heads; see upstream.

        Heads whose encoder came from different folders can be averaged: what they need of it was checked when they were
        loaded.

        Args:
            head_name: Name of the new head.
            head_list: The heads; or their weights by name.
            weights: The weights; equal ones by default.
            normalize_weights: Whether they are divided by their sum.
            overwrite_ok: Whether a head of that name may be replaced.
            set_active: Whether to activate it.

        Raises:
            ConfigError: If a running variance of batch norm would not be positive, as negative weights can make it.
        """
        names = list(head_list)
        heads = [self.heads[name] for name in names if name in self.heads]
        if len(heads) == len(names) and heads and all(is_dlfa_head(head) for head in heads):
            shares = list(head_list.values()) if isinstance(head_list, Mapping) else weights
            _check_variances(heads, [1.0] * len(heads) if shares is None else list(shares), normalize_weights)
        with _as_of_one_place(heads):
            super().average_head(  # type: ignore[misc]
                head_name, head_list, weights, normalize_weights, overwrite_ok, set_active
            )


def _check_variances(heads: list[Any], weights: list[float], normalize: bool) -> None:
    total = sum(weights) if normalize else 1.0
    if len(weights) != len(heads):
        return  # upstream says so
    if total == 0:
        raise ConfigError(f"The weights {weights} add up to 0; type normalize_weights=False, or others.")
    states = [head.state_dict() for head in heads]
    for name in states[0]:
        if name.endswith("running_var") and all(name in state for state in states):
            mean = sum(weight / total * state[name] for weight, state in zip(weights, states, strict=True))
            if not bool((torch.as_tensor(mean) > 0).all()):
                raise ConfigError(
                    f"The weights {weights} make a running variance of batch norm ({name}) negative, and the scores no "
                    "numbers; type weights from 0 up, or train the heads with norm='layer'."
                )


@contextmanager
def _as_of_one_place(heads: list[Any]) -> Iterator[None]:
    """For a while, the configurations of DLFA heads say that they came from where the first did."""
    configs = [head.config for head in heads]
    try:
        for head in heads[1:]:
            if is_dlfa_head(head) and is_dlfa_head(heads[0]):
                head.config = {**head.config, **{key: configs[0].get(key) for key in _WHERE_IT_CAME_FROM}}
        yield
    finally:
        for head, config in zip(heads, configs, strict=True):
            head.config = config


class DLFAHeadsMixin(ActivationMixin, AveragingMixin, LanguageMixin, ForwardMixin, SavingMixin, FoldersMixin):
    """`add_dlfa_head` and what it takes to run, train, save and load such heads.

    Stands in front of a model class of adapters: `class BertAdapterModel(DLFAHeadsMixin, adapters.BertAdapterModel)`.
    The class must keep upstream's name, by which saved heads are recognised.
    """

    custom_heads: ClassVar[dict[str, type]] = {HEAD_TYPE: DLFAHead}
    """The head types that are built from a saved configuration; each instance has a copy."""

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """Wrap the `forward` of the model class; Trainer reads its signature, so that stays."""
        super().__init_subclass__(**kwargs)
        if "_plain_class" not in cls.__dict__:  # a subclass made by `class_with_inputs` has it
            cls._plain_class = cls
        if "forward" not in cls.__dict__ and not hasattr(cls.forward, "asks_for_states"):  # type: ignore[attr-defined]
            cls.forward = asking_for_states(cls.forward)  # type: ignore[attr-defined]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.custom_heads = dict(self.custom_heads)  # type: ignore[misc]

    def add_dlfa_head(
        self: Any,
        head_name: str,
        fuse_layer: FuseLayer | None = None,
        head_type: str | None = None,
        num_labels: int | None = None,
        id2label: Mapping[int, str] | None = None,
        overwrite_ok: bool = False,
        set_active: bool = True,
        num_choices: int | None = None,
        **options: Any,
    ) -> None:
        """Add a prediction head that fuses layers (Chen et al. 2022, arXiv 2205.08497).

        A known task name (`ner`, `pos`, `xnli`, `pawsx`...) brings head type, labels and the paper's best layer; any
        other name needs `head_type` and `num_labels` or `id2label`.

        Args:
            head_name: Name of the head.
            fuse_layer: The layer to fuse with the last one: k is the output of block k, 0 the embeddings. A tuple fuses
                several, one after the other. The default is the paper's layer for its tasks, scaled to the depth of
                the encoder, and two thirds of the depth for others.
            head_type: `tagging`, `classification`, `multilabel_classification`, `multiple_choice`,
                `question_answering` or `dependency_parsing`; or one of a kind's own, `biaffine`.
            num_labels: Number of labels.
            id2label: Label names by id.
            overwrite_ok: Whether a head of that name may be replaced.
            set_active: Whether to activate the head.
            num_choices: Number of choices, for `multiple_choice`.
            **options: By name: `fusion` and its options (`gate`, `norm`, `reduction`..., see `DLFAOptions`); `pooling`,
                `classifier` and the other `HeadOptions`; and options of the stock head, such as `layers` or
                `dropout_prob`.

        Raises:
            ConfigError: If a value cannot work; the sentence says what would.
        """
        check_head_name(head_name)
        if head_name in self.heads and not overwrite_ok:
            raise ConfigError(f"This model has a head {head_name!r} already; type overwrite_ok=True to replace it.")
        labels = resolve_labels(head_name, head_type, num_labels, num_choices, id2label)
        fusion = options.get("fusion", "dlfa")
        head = DLFAHead(
            self,
            head_name,
            fuse_layer=resolve_fuse_layer(get_task(head_name), fuse_layer, fusion, self.config.num_hidden_layers),
            **labels,
            **options,
        )
        self.add_prediction_head(head, overwrite_ok=overwrite_ok, set_active=set_active)

    def add_prediction_head_from_config(
        self: Any, head_name: str, config: dict[str, Any], overwrite_ok: bool = False, set_active: bool = True
    ) -> None:
        """Build a head from its saved configuration; see upstream, which activates custom heads in any case."""
        if config.get("head_type") != HEAD_TYPE:
            super().add_prediction_head_from_config(head_name, config, overwrite_ok, set_active)  # type: ignore[misc]
            return
        options = {key: value for key, value in config.items() if key not in ("head_type", "id2label", "label2id")}
        label2id = config.get("label2id") or {}
        id2label = config.get("id2label") or {id_: name for name, id_ in label2id.items()} or None
        head = self.custom_heads[HEAD_TYPE](self, head_name, id2label=id2label, **options)
        self.add_prediction_head(head, overwrite_ok=overwrite_ok, set_active=set_active)

    def _init_weights(self: Any, module: nn.Module) -> None:
        """Draw weights that no checkpoint has: a fusion's its own way. Its children come first and are overwritten."""
        if isinstance(module, (Fusion, MaskedBatchNorm, BiLSTM, OwnHead)):
            module.reset_parameters()
        else:
            super()._init_weights(module)  # type: ignore[misc]
