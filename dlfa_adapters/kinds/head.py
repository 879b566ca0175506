"""What a kind of task says of heads and models: which it is learned with, and a head of its own where it has one."""

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from dlfa_adapters.data.readers.base import KindOfData
from dlfa_adapters.fusion.options import Option, check_values, no_such_option, options_of
from dlfa_adapters.ground.errors import ConfigError, as_config_error

if TYPE_CHECKING:
    import torch

    from dlfa_adapters.kinds.onnx_form import OnnxForm
    from dlfa_adapters.kinds.own_head import OwnHead


class KindOfHead(KindOfData):
    """What heads and models ask of a kind.

    Attributes:
        pipeline: What the pipeline is called, one of Transformers or of `models.auto`; "" for none.
        auto_class: The class that loads a model of this kind by name, likewise; "" for none.
        plain_class: The class of this library with a fusion on a plain encoder; "" for none.
        peft_task: What PEFT calls it.
        classifier_layers: Linear maps in the classifier of a plain model, as stock heads have them.
        pools_states: Whether a classifier reads one state of a text, and not that of every token.
        head_types: The heads that such tasks are learned with, the usual one first.
        own_heads: Those of them that adapters does not have, with the dataclass of their options; see `make_head`.
        head_options: Options of the usual head, in a training.
        rates_on_states: Learning rates that are tried for the usual head on frozen states; () for those of linear
            classifiers.
        options: Dataclass of options that say how a model of this kind reads; None for none.
        head_inputs: What heads read besides the encoder's inputs and labels.
        plain_heads: Those of them that a plain model can do, with what Transformers calls the problem, or None.
        label_inputs: What a head calls the inputs that are labels; `items_in_loss` counts by the first.
        counts_items: Whether `items_in_loss` can tell them for these heads.
    """

    pipeline: ClassVar[str] = ""
    auto_class: ClassVar[str] = ""
    plain_class: ClassVar[str] = ""
    peft_task: ClassVar[str] = "FEATURE_EXTRACTION"
    classifier_layers: ClassVar[int] = 1
    pools_states: ClassVar[bool] = False
    head_types: ClassVar[tuple[str, ...]]
    own_heads: ClassVar[Mapping[str, type]] = {}
    head_options: ClassVar[Mapping[str, Any]] = {}
    rates_on_states: ClassVar[tuple[float, ...]] = ()
    options: ClassVar[type | None] = None
    head_inputs: ClassVar[tuple[str, ...]] = ()
    plain_heads: ClassVar[Mapping[str, str | None]] = {}
    label_inputs: ClassVar[tuple[str, ...]] = ("labels",)
    counts_items: ClassVar[bool] = True

    @property
    def own_head(self) -> str | None:
        """The usual head where adapters does not have it, else None."""
        return self.head_types[0] if self.head_types[0] in self.own_heads else None

    def known_options(self) -> dict[str, Option]:
        """The options of a training that only this kind has, by name: those of its own heads, and `options`."""
        classes = [*self.own_heads.values(), *([] if self.options is None else [self.options])]
        return {name: option for cls in classes for name, option in options_of(cls).items()}

    def split_options(self, given: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
        """Options of the usual head, and those of `options`.

        Raises:
            ConfigError: If the kind has no such option, or it cannot have that value.
        """
        known = self.known_options()
        for name, value in given.items():
            if name not in known:
                raise ConfigError(no_such_option(f"A training for {self.name} has no", name, known))
            with as_config_error():
                known[name].check(value)
        own = {} if self.options is None else options_of(self.options)
        return {n: v for n, v in given.items() if n not in own}, {n: v for n, v in given.items() if n in own}

    def own_options(self, head_type: str, options: Mapping[str, Any]) -> Any:
        """Options of a head of `own_heads`, from values by name.

        Raises:
            ConfigError: If there is no such option, or it cannot have that value.
        """
        cls = self.own_heads[head_type]
        known = options_of(cls)
        for name in options:
            if name not in known:
                raise ConfigError(no_such_option(f"A {head_type} head has no", name, known))
        with as_config_error():
            check_values(cls, options)
            return cls(**options)

    def make_head(self, head_type: str, width: int, num_labels: int, options: Any) -> "OwnHead":
        """A head of `own_heads` on states of a width, with options of `own_options`.

        Raises:
            ConfigError: If an option has a value that cannot work.
        """
        raise NotImplementedError

    def items_in_loss(
        self, head_type: str, num_labels: int, labels: "torch.Tensor", mask: "torch.Tensor | None"
    ) -> "torch.Tensor":
        """How many items the mean of the loss of a head is over, a scalar on the labels' device.

        Args:
            head_type: One of `head_types`.
            num_labels: Number of labels of the head.
            labels: What the head gets under the first name of `label_inputs`.
            mask: (batch, seq), or None.
        """
        raise NotImplementedError

    def onnx_form(self, config: Mapping[str, Any], labels: Sequence[str]) -> "OnnxForm":
        """What an ONNX file has of a model, by its head's saved options and the names of its labels."""
        from dlfa_adapters.kinds.onnx_form import OnnxForm

        return OnnxForm(by_piece=not self.pools_states)

    def onnx_sources(self) -> dict[str, Path]:
        """Files that use an ONNX file without this library, by the module that each becomes.

        That of the kind has `load`. They import numpy, onnxruntime, and modules that are copied too (`export.files`).
        """
        return {self.name: _beside(self) / "onnx.py"}

    def usage(self, name: str) -> str:
        """A line of Python that makes a pipeline of a model, for its card."""
        return f'model = pipeline("{self.pipeline}", model="{name}")'


def _beside(kind: KindOfHead) -> Path:
    """The folder of the package that a kind is in."""
    return Path(str(sys.modules[type(kind).__module__].__file__)).parent
