"""What Trainer reads off a model class: which inputs are labels.

Trainer looks at the signature of `type(model).forward`: it drops the columns of a data set that are not in it, and
takes the parameters with "label" in their name for the labels. The signatures of adapters have none, so `labels` would
be dropped. Which inputs are labels depends on the active head, and a signature belongs to a class; so the model moves
to a subclass of the same name that differs in the signature only.
"""

import functools
import inspect
from typing import Any


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
    """A subclass of the same name whose `forward` has further parameters in its signature.

    Args:
        cls: A model class of `dlfa_adapters.heads.models`.
        labels: Names of the inputs that are labels.
        others: Names of other inputs that a head reads.

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
