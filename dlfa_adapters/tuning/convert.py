"""A head of adapters as a plain Transformers model, and back, without changing a logit."""

import copy
import inspect
from typing import Any

import torch
from adapters import AutoAdapterModel, LoRAConfig
from adapters.heads.model_mixin import MODEL_HEAD_MAP
from adapters.methods.lora import LoRALayer

from dlfa_adapters.encoders.plain import plain_encoder
from dlfa_adapters.ground.errors import ConfigError, RunError, UnsupportedModelError
from dlfa_adapters.heads import DLFAHead, DLFAHeadsMixin, register
from dlfa_adapters.kinds import Kind, kind_named, kind_of_head
from dlfa_adapters.kinds.loss import REGRESSION, SINGLE
from dlfa_adapters.models import DLFAConfig
from dlfa_adapters.models.base import DLFAPreTrainedModel
from dlfa_adapters.models.lora import CLASSES
from dlfa_adapters.models.merge import probe_scores
from dlfa_adapters.tasks import KINDS, get_task
from dlfa_adapters.tasks.head_options import HeadOptions


def to_plain(model: Any, head_name: str) -> DLFAPreTrainedModel:
    """A plain Transformers model with the encoder and one DLFA head of an adapter model.

    Args:
        model: An adapter model with the head. Its encoder is copied, without adapters; of a LoRA that was merged
            (`model.merge_adapter`) and is still active, with it.
        head_name: A head for tagging, classification, multi-label classification or parsing.

    Returns:
        A model of the kind's plain class, such as `DLFAForTokenClassification`, in eval mode.

    Raises:
        ConfigError: If there is no such head, it is of another kind, or an adapter is active.
        RunError: If the scores are not the same.
    """
    head = _head(model, head_name)
    kind = kind_of_head(head.inner_head_type)
    if kind is None or head.inner_head_type not in kind.plain_heads:
        there = " and ".join(name for name, each in KINDS.items() if each.plain_heads)
        raise ConfigError(f"Head {head_name!r} is for {head.inner_head_type}; there are plain models for {there}.")
    _refuse_adapters(model)
    options = head.config
    labels = {id_: name for name, id_ in (options.get("label2id") or {}).items()}
    task = get_task(head_name)
    config = DLFAConfig(
        copy.deepcopy(model.config),
        **{name: options[name] for name in HeadOptions.known(options["fusion"]) if name != "pooling"},
        **_classifier(head, kind),
        pooling="first" if kind.pools_states else options["pooling"],
        task=task.name if task else head_name,
        encoder_name=model.name_or_path or None,
        id2label=labels,
        problem_type=_problem(head, kind.plain_heads[head.inner_head_type]),
    )
    cls = CLASSES[kind.plain_class]
    plain: DLFAPreTrainedModel = cls._around(config, plain_encoder(model))
    plain.classifier.load_state_dict(renamed(head.state_dict(), head.behind, "out."))
    _compare(plain, model, head_name)
    return plain


def to_adapters(model: DLFAPreTrainedModel, head_name: str) -> Any:
    """An adapter model with the encoder of a plain model and its fusion and classifier as a head.

    Args:
        model: A plain model; merge a LoRA first. Its weights are copied.
        head_name: Name of the head.

    Returns:
        An adapter model in eval mode with the head active, which adapters can be added to.

    Raises:
        UnsupportedModelError: If adapters has no class for the encoder that heads can be put on.
        ConfigError: If a head of adapters cannot do the same: with `pooling` other than `first` in classification, or
            a tagging classifier without bias.
    """
    config, kind = model.config, kind_named(model.kind)
    heads = [head_type for head_type, problem in kind.plain_heads.items() if problem == config.problem_type]
    head_type = heads[0] if heads else kind.head_types[0]
    if kind.pools_states and config.pooling != "first":
        raise ConfigError(f"A head of adapters reads the first token, but this model has pooling={config.pooling!r}.")
    options = model.classifier.out.options if kind.own_head else _stock_options(config, head_type)
    adapter_model = _adapter_model(model)
    adapter_model.add_dlfa_head(
        head_name, head_type=head_type, id2label=config.id2label, **options, **config.head.keywords()
    )
    head = adapter_model.heads[head_name]
    head.load_state_dict(renamed(model.classifier.state_dict(), "out.", head.behind))
    _compare(model, adapter_model, head_name)
    return adapter_model


def _classifier(head: DLFAHead, kind: Kind) -> dict[str, Any]:
    """What `DLFAConfig` calls the options of a head behind the fusion."""
    options = head.config
    if kind.own_head:
        return dict(head.inner.out.options)
    return {
        "classifier_layers": options["layers"],
        "classifier_activation": options["activation_function"],
        "classifier_bias": options.get("bias", True),
        "classifier_dropout": head.inner[0].p,
    }


def _stock_options(config: DLFAConfig, head_type: str) -> dict[str, Any]:
    """What a stock head of adapters calls the options of a classifier.

    Raises:
        ConfigError: If it cannot do without a bias.
    """
    has_option = "bias" in inspect.signature(MODEL_HEAD_MAP[head_type]).parameters
    if not has_option and not config.classifier_bias:
        raise ConfigError(f"A {head_type} head of adapters has a bias, but this model has classifier_bias=False.")
    return {
        "layers": config.classifier_layers,
        "activation_function": config.classifier_activation,
        "dropout_prob": config.classifier_dropout,
        **({"bias": config.classifier_bias} if has_option else {}),
    }


def merge_adapters(model: Any) -> None:
    """Merge the LoRA that is active on a model of adapters into its encoder; without adapters nothing happens.

    Raises:
        UnsupportedModelError: If there is an active adapter of another kind.
    """
    for name in sorted(model.active_adapters.flatten()) if model.active_adapters is not None else ():
        if not isinstance(model.adapters_config.get(name), LoRAConfig):
            raise UnsupportedModelError(f"its adapter {name!r} stands between the layers of the encoder.")
        model.merge_adapter(name)


def renamed(weights: dict[str, Any], old: str, new: str) -> dict[str, Any]:
    """Weights whose names begin with `old` under names that begin with `new`, and the others as they are."""
    return {new + name[len(old) :] if name.startswith(old) else name: value for name, value in weights.items()}


def _head(model: Any, head_name: str) -> DLFAHead:
    heads = getattr(model, "heads", {})
    head = heads[head_name] if head_name in heads else None
    if not isinstance(head, DLFAHead):
        names = ", ".join(name for name, other in heads.items() if isinstance(other, DLFAHead)) or "none"
        raise ConfigError(f"This model has no DLFA head {head_name!r}; it has {names}.")
    return head


def _refuse_adapters(model: Any) -> None:
    """Refuse adapters that act beside the encoder's weights. A merged LoRA is in them, while it is active."""
    active = model.active_adapters.flatten() if model.active_adapters is not None else set()
    merged = {module.merged for module in model.modules() if isinstance(module, LoRALayer)}
    if active - merged:
        names = ", ".join(sorted(active - merged))
        raise ConfigError(
            f"Adapters are active ({names}), and a plain encoder has no place for them; merge a LoRA into the encoder "
            "with model.merge_adapter(name), or type model.set_active_adapters(None) to leave them out."
        )


def _problem(head: DLFAHead, problem: str | None) -> str | None:
    """What Transformers calls the problem: a number, where a head gives one label an item and has but one."""
    return REGRESSION if problem == SINGLE and head.config["num_labels"] == 1 else problem


def _adapter_model(model: DLFAPreTrainedModel) -> Any:
    register()
    encoder = model.encoder
    try:
        candidate = AutoAdapterModel.from_config(copy.deepcopy(encoder.config))
    except ValueError:
        candidate = None
    if not isinstance(candidate, DLFAHeadsMixin):
        raise UnsupportedModelError(f"There is no class of adapters for DLFA heads on {encoder.config.model_type!r}.")
    adapter_model: Any = candidate
    state = encoder.state_dict()
    _, unexpected = adapter_model.base_model.load_state_dict(state, strict=False)
    if unexpected:
        raise RunError(f"adapters has no place for weights of this encoder: {', '.join(unexpected[:3])}.")
    return adapter_model.to(device=encoder.device, dtype=encoder.dtype).eval()


def _compare(plain: Any, adapter_model: Any, head_name: str) -> None:
    """Run both on two short texts.

    Raises:
        RunError: If the scores differ.
    """
    modes = plain.training, adapter_model.training
    scores = probe_scores(plain.eval()), probe_scores(adapter_model.eval(), head=head_name)
    plain.train(modes[0]), adapter_model.train(modes[1])
    difference = (scores[0].float() - scores[1].float()).abs().max().item()
    exact = 1e-5 if scores[0].dtype == torch.float32 else 1e-2
    if not difference <= exact * max(1.0, scores[1].float().abs().max().item()):
        raise RunError(f"Head {head_name!r} gives other scores after conversion, by {difference:.1e}.")
