"""What settings mean for heads on frozen states: schedule, rates, the head itself; and a trained one on its model."""

from collections.abc import Sequence
from typing import Any

from dlfa_adapters.heads.schema import STOCK_HEAD_TYPES
from dlfa_adapters.kinds import Kind
from dlfa_adapters.learning.arguments import epochs_between
from dlfa_adapters.learning.frozen import HeadSpec, Linear, Plateau, Rate, TrainedHead
from dlfa_adapters.learning.settings import Settings


def schedule_of(settings: Settings, rows: int | None = None) -> Linear | Plateau:
    """How long heads learn, and how their rate falls.

    Heads are scored after each epoch, or, on training data of few `rows`, after every few.
    """
    steps, lstm = settings.steps, settings.head.classifier == "bilstm"
    every = 1 if rows is None else epochs_between(settings, rows, plateau=lstm)
    most = steps.max_steps if steps.max_steps > 0 else None
    if lstm:
        return Plateau(steps.epochs or 1, most, steps.batch_size, every, steps.max_grad_norm)
    return Linear(steps.epochs or 1, most, steps.batch_size, every, steps.within)


def rates_of(settings: Settings, *, with_dev: bool = True) -> list[Rate]:
    """The rates that are tried for a head; without dev data, which choose, a single one."""
    several = settings.steps.head_learning_rates if with_dev else ()
    return all_rates(several or (settings.steps.head_learning_rate or 1e-3,), settings.steps.weight_decay)


def all_rates(learning_rates: Sequence[float], weight_decay: float = Settings().steps.weight_decay) -> list[Rate]:
    """Every learning rate, with the same weight decay."""
    return [Rate(learning_rate, weight_decay) for learning_rate in learning_rates]


def spec_of(settings: Settings, name: str, layers: tuple[int, ...], kind: Kind) -> HeadSpec:
    """The head of settings for a kind of task, with other fuse layers."""
    own, _ = kind.split_options(settings.kind)
    return HeadSpec(name=name, head=settings.head.changed(fuse_layer=layers), seed=settings.steps.seed, own=own)


def add_trained_head(
    model: Any, head_name: str, trained: TrainedHead, labels: Sequence[str], head_type: str = "tagging"
) -> None:
    """Add a head with the trained weights to an adapter model, and activate it.

    Args:
        model: The model whose encoder the states were computed with.
        head_name: Name of the head; one of that name is replaced.
        trained: From `learn_on_states` or `train_heads`.
        labels: Label names by id.
        head_type: `tagging`, `classification`, or that of a kind with a head of its own.
    """
    model.add_dlfa_head(
        head_name,
        head_type=head_type,
        id2label=dict(enumerate(labels)),
        overwrite_ok=True,
        **({"layers": 1} if head_type in STOCK_HEAD_TYPES else {}),
        **trained.spec.own,
        **trained.spec.head.keywords(),
    )
    head = model.heads[head_name]
    own = head.kind is not None and head.kind.own_head == head_type
    last = ("head.", head.inner.out) if own else ("classifier.", head.inner[-1])
    for prefix, module in (("fusion.", head.fusion), last):
        module.load_state_dict(
            {name[len(prefix) :]: value for name, value in trained.state_dict.items() if name.startswith(prefix)}
        )
