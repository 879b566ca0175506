"""The options of a training, checked and filled in: of the head, the text, the steps and the machine."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from dlfa_adapters.fusion.options import Option, check_values, flat, no_such_option, options_of
from dlfa_adapters.ground.environment import world_size
from dlfa_adapters.ground.errors import ConfigError, as_config_error
from dlfa_adapters.kinds import Kind, options_of_kinds
from dlfa_adapters.learning.aux_options import aux_as_text
from dlfa_adapters.learning.machine_options import MachineOptions
from dlfa_adapters.learning.ranges import (
    accumulation_steps,
    blocks_left_out,
    check_ranges,
    check_report_to,
    rates_to_try,
    several_rates,
)
from dlfa_adapters.learning.source_options import as_text
from dlfa_adapters.tasks.head_options import HeadOptions
from dlfa_adapters.tuning import Tuning


@dataclass(frozen=True, kw_only=True)
class TextOptions:
    """How text is cut, text to choose a layer by, and what is taken off the states of each language.

    Attributes:
        max_length: Most pieces of a window or text; by default no more than the encoder takes.
        context: Pieces that neighbouring windows of a long sentence share.
        first_sentences: Read so many sentences of each document, the first and the others as a pair; default: all text.
        parallel: For fuse layer `auto`: a file of sentences, TAB, translations, to choose by.
        target_text: For fuse layer `auto`: a file of text in a target language, to choose by.
        center: A file of means of languages (`dlfa analyze means`), which are taken off the states that the head reads.
    """

    max_length: int = 128
    context: int = 64
    first_sentences: int | None = None
    parallel: str | None = None
    target_text: str | None = None
    center: str | None = None


@dataclass(frozen=True, kw_only=True)
class StepOptions:
    """How long, at which rates and in which order a head learns.

    Attributes:
        epochs: Passes over the training data; default: the tuning's.
        max_steps: Stop after so many steps.
        min_steps: Small data get at least so many; default: 500, LoRA 1000, and 0 where epochs or steps are given.
        learning_rate: Learning rate at first, of all but the head; default: the tuning's. A sweep may try several.
        head_learning_rate: That of fusion and classifier. Of several, e.g. 1e-3,1e-2, source dev takes the best.
        head_learning_rates: Several of them.
        learning_rates: Several of everything but the head.
        batch_size: Items in a step, over all processes and accumulated batches.
        weight_decay: Weight decay of AdamW; biases and norms have none.
        warmup: Share of the steps in which the learning rate rises; it then falls linearly to zero.
        max_grad_norm: Gradients are scaled down to this norm.
        patience: Stop after so many evaluations that are no better on source dev; 0: never.
        within: Features: keep the first epoch within so many points of the best on source dev; 0: the best.
        every: Evaluate and checkpoint every so many steps; default: after each epoch, or every few short ones.
        seed: Seed of first weights, order of batches and dropout.
        leave_out: Blocks without LoRA or adapters, e.g. 1-6; default: none. The lowest run once, see --states.
        source_weights: How often each source language is drawn: en=3,de=1; default: see the temperature.
        source_temperature: Rows of a source language with n of them are drawn as n^(1/T); 1: each row as often as every
            other, a great T: each language as often as every other; default: 1.
        aux: Auxiliary tasks that are learnt beside, with their data in the source language: pos=FILE,pawsx=FILE.
        aux_temperature: A task with n rows is drawn as n^(1/T); default: 1.
    """

    epochs: int | None = None
    max_steps: int = -1
    min_steps: int | None = None
    learning_rate: float | None = None
    head_learning_rate: float | None = None
    head_learning_rates: tuple[float, ...] | None = None
    learning_rates: tuple[float, ...] | None = None
    batch_size: int = 32
    weight_decay: float = 0.01
    warmup: float = 0.1
    max_grad_norm: float = 1.0
    patience: int = 0
    within: float = 0.0
    every: int | None = None
    seed: int = 0
    leave_out: tuple[int, ...] | None = None
    source_weights: str | None = None
    source_temperature: float | None = None
    aux: str | None = None
    aux_temperature: float | None = None

    def total(self, rows: int) -> int:
        """Steps in all, of a training on so many rows."""
        return self.max_steps if self.max_steps > 0 else -(-rows // self.batch_size) * (self.epochs or 1)


_PARTS = (TextOptions, StepOptions, MachineOptions)


@dataclass(frozen=True)
class Settings:
    """How to train. What is None is filled in by `resolve`, from the tuning's defaults and the machine.

    Attributes:
        head: Which head.
        text: How text is cut.
        steps: How it learns.
        machine: How the machine is used.
        kind: Those options of the kind of task (`Kind.known_options`) that were given.
        given: Names of the options of the head that were given; for the others a tuning may have other defaults.
    """

    head: HeadOptions = field(default_factory=HeadOptions)
    text: TextOptions = field(default_factory=TextOptions)
    steps: StepOptions = field(default_factory=StepOptions)
    machine: MachineOptions = field(default_factory=MachineOptions)
    kind: Mapping[str, Any] = field(default_factory=dict)
    given: frozenset[str] = field(default=frozenset(), compare=False, repr=False)

    @staticmethod
    def known(fusion: str = "dlfa") -> dict[str, Option]:
        """All options by name, with those of a fusion, and of all kinds of tasks.

        Raises:
            ConfigError: If there is no such fusion, or one of its options has the name of another one.
        """
        parts = (*map(options_of, _PARTS), options_of_kinds())
        head, others = HeadOptions.known(fusion), {name: option for part in parts for name, option in part.items()}
        if both := sorted(head.keys() & others):
            raise ConfigError(f"The fusion {fusion!r} has an option {both[0]!r}, as every training has; rename it.")
        return {**head, **others}

    def changed(self, **options: Any) -> "Settings":
        """The same with other values of some options, by name.

        Raises:
            ConfigError: If there is no such option, or it cannot have that value.
        """
        parts = (*map(options_of, _PARTS), options_of_kinds())
        text, steps, machine, kind = ({name: options.pop(name) for name in part if name in options} for part in parts)
        return replace(
            self,
            head=self.head.changed(**options),
            text=replace(self.text, **text),
            steps=replace(self.steps, **steps),
            machine=replace(self.machine, **machine),
            kind={**self.kind, **kind},
        )

    def as_dict(self) -> dict[str, Any]:
        """For a JSON file; `make_settings(**settings)` reads it again."""
        others = {name: value for part in (self.text, self.steps, self.machine) for name, value in flat(part).items()}
        options = {**self.head.recorded(), **self.kind, **others}
        for name, before in _STANDS_BEHIND.items():
            if name in options:
                value, names = options.pop(name), list(options)
                at = names.index(before) + 1
                options = {**{n: options[n] for n in names[:at]}, name: value, **{n: options[n] for n in names[at:]}}
        return options


_STANDS_BEHIND = {
    "parallel": "fuse_layer",
    "target_text": "parallel",
    "gate": "target_text",
    "micro_batch_size": "batch_size",
    "seed": "report_to",
}
"""The order of saved settings, where it is not that of the four parts."""


def make_settings(**options: Any) -> Settings:
    """Settings from options by name; a single fuse layer becomes a tuple, and None stands for what is left out.

    Raises:
        ConfigError: If there is no option of that name, or a value cannot work.
    """
    known = Settings.known(options.get("fusion") or "dlfa")
    if unknown := [name for name in options if name not in known]:
        raise ConfigError(no_such_option("There is no training", unknown[0], known))
    options = {name: value for name, value in options.items() if value is not None}
    if isinstance(layer := options.get("fuse_layer"), str) and layer != "auto":
        raise ConfigError(f"fuse_layer must be a layer, several, or auto; got {layer!r}.")
    options = aux_as_text(as_text(blocks_left_out(several_rates(options))))
    check_ranges(options)
    for part in _PARTS:
        with as_config_error():
            check_values(part, {name: value for name, value in options.items() if name in options_of(part)})
    settings = replace(Settings().changed(**options), given=frozenset(options))
    if (settings.text.parallel or settings.text.target_text) and settings.head.fuse_layer != "auto":
        raise ConfigError("--parallel and --target-text choose the layer of --fuse-layer auto; type that too.")
    check_report_to(settings.machine.report_to)
    return settings


def resolve(settings: Settings, tuning: Tuning, kind: Kind | None = None) -> Settings:
    """Fill in what was left open, from the tuning's defaults and the machine.

    The kind is that of the task, whose head may learn at other rates; None where it is not known before the data are.

    Raises:
        ConfigError: If the machine cannot do what is requested, or the batch cannot be divided.
    """
    import torch

    head, steps, machine = settings.head, settings.steps, settings.machine
    gpu, known = torch.cuda.is_available(), HeadOptions.known(head.fusion)
    if machine.precision == "fp16" and not gpu:
        raise ConfigError("precision fp16 needs a GPU; type --precision bf16 or fp32.")
    if tuning.on_states and machine.precision not in (None, "fp32"):
        raise ConfigError("--tuning features computes in fp32; leave --precision out.")
    defaults, given_rate = tuning.defaults_for(head.classifier), steps.learning_rate
    if tuning.on_states and head.classifier == "linear" and kind is not None and kind.rates_on_states:
        defaults = replace(defaults, head_learning_rates=kind.rates_on_states)
    head_rate = given_rate if given_rate and defaults.head_learning_rate == defaults.learning_rate else None
    bf16 = gpu and torch.cuda.is_bf16_supported() and not tuning.on_states
    least = 0 if steps.epochs is not None or steps.max_steps > 0 else defaults.min_steps
    resolved = settings.changed(
        **{name: value for name, value in defaults.head.items() if name in known and name not in settings.given},
        epochs=steps.epochs or defaults.epochs,
        min_steps=least if steps.min_steps is None else steps.min_steps,
        learning_rate=given_rate or defaults.learning_rate,
        head_learning_rate=steps.head_learning_rate or head_rate or defaults.head_learning_rate,
        head_learning_rates=rates_to_try(steps, defaults),
        learning_rates=steps.learning_rates or (),
        micro_batch_size=machine.micro_batch_size or max(1, steps.batch_size // world_size()),
        precision=machine.precision or ("bf16" if bf16 else "fp32"),
    )
    accumulation_steps(resolved)
    return resolved
