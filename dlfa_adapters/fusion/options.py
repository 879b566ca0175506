"""Options as small dataclasses, and what is read off them: names, types, choices, defaults, and their text.

Whatever takes, saves or shows options (heads, configurations, settings, sweeps, the command line) reads these classes,
so that an option is written down once: what "Attributes:" says of it is its help on the command line. Nothing here
needs PyTorch.
"""

import difflib
import re
from collections.abc import Iterable, Mapping
from dataclasses import MISSING, dataclass, field, fields
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

FIRST_WEIGHTS = {"first_weights": True}
"""Metadata of an option that matters for first weights alone: heads that differ in it can be trained as one."""

NEWER = {"newer": True}
"""Metadata of an option that records of earlier versions do not have: at its default they do not get it either."""

A_RUN_UNLESS = "a_run_unless"
"""Metadata of an option that names a run folder: the words that it may be instead."""


@dataclass(frozen=True, kw_only=True)
class DLFAOptions:
    """Options of `dlfa`. The controls `last`, `layer`, `scalar_mix` and `concat` are recorded with them as well.

    Attributes:
        gate: What weighs the lower layer: `product` as printed in the paper, or `attention`, which stays in 0..1 and is
            the default of the tuning `features`.
        reduction: The inner width is that of the encoder divided by this (and `concat` has as many weights).
        branches: Branches of the attention: `both`, or two of one kind, `global` or `local`.
        norm: `batch` (over real tokens), `layer`, or `none`.
        init: First weights: `kaiming`, or `identity`, which starts close to the plain last layer.
        mask_padding: Whether padding is left out of means and variances.
    """

    reduction: int | float = 4
    branches: Literal["both", "global", "local"] = "both"
    gate: Literal["product", "attention"] = "product"
    norm: Literal["batch", "layer", "none"] = "batch"
    init: Literal["kaiming", "identity"] = field(default="kaiming", metadata=FIRST_WEIGHTS)
    mask_padding: bool = field(default=True, metadata=NEWER)


@dataclass(frozen=True)
class Option:
    """One field of a class of options.

    Attributes:
        name: Its name.
        type: `bool`, `int`, `float`, `str` or another one; a number is a `float` where it may be either.
        choices: The words that it may be; none: any.
        default: Its default.
        help: What the docstring of the class says of it, in one line.
        metadata: See `dataclasses.field`.
    """

    name: str
    type: Any
    choices: tuple[Any, ...]
    default: Any
    help: str
    metadata: Mapping[str, Any]

    def check(self, value: Any) -> None:
        """Refuse a value that is no word of the list, or of another type.

        Raises:
            ValueError: Naming the option, what it may be, and what came.
        """
        if value is None and self.default is None:
            return
        if self.choices:
            one_of(self.name, value, self.choices)
        elif self.type is bool and not isinstance(value, bool):
            raise ValueError(f"{self.name} must be True or False; got {value!r}.")
        elif self.type is int and not isinstance(value, int):
            raise ValueError(f"{self.name} must be a whole number; got {value!r}.")
        elif self.type is float and not isinstance(value, int | float):
            raise ValueError(f"{self.name} must be a number; got {value!r}.")
        elif self.type is str and not isinstance(value, str):
            raise ValueError(f"{self.name} must be a text; got {value!r}.")

    def parse(self, text: str) -> Any:
        """A value from what was typed.

        Raises:
            ValueError: Naming the option, what it may be, and what came.
        """
        value: Any = text
        if self.type is bool:
            value = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}.get(text.lower())
            if value is None:
                raise ValueError(f"{self.name} must be true or false; got {text!r}.")
        elif self.type in (int, float):
            try:
                value = int(text) if self.type is int or re.fullmatch(r"[+-]?\d+", text) else float(text)
            except ValueError:
                kind = "a whole number" if self.type is int else "a number"
                raise ValueError(f"{self.name} must be {kind}; got {text!r}.") from None
        elif self.type is not str and not self.choices:
            raise ValueError(f"{self.name} cannot be typed, only given in Python.")
        self.check(value)
        return value


def options_of(cls: Any) -> dict[str, Option]:
    """The options of a class by name, in its order."""
    if cls in _READ:
        return _READ[cls]
    hints, texts = get_type_hints(cls), described(cls)
    options = {}
    for each in fields(cls):
        plain, choices = _plain(hints[each.name])
        default = each.default if each.default_factory is MISSING else each.default_factory()
        options[each.name] = Option(each.name, plain, choices, default, texts.get(each.name, ""), each.metadata)
    return _READ.setdefault(cls, options)


_READ: dict[Any, dict[str, Option]] = {}


def described(cls: Any) -> dict[str, str]:
    """What the part `Attributes:` of a class's docstring says of each, in one line."""
    part = re.search(r"^ *Attributes:\n((?:[ \t]+\S.*\n?|[ \t]*\n)*)", f"{cls.__doc__ or ''}\n", re.MULTILINE)
    lines = [line for line in (part[1] if part else "").splitlines() if line.strip()]
    least = min((len(line) - len(line.lstrip()) for line in lines), default=0)
    texts: dict[str, str] = {}
    for line in lines:
        if len(line) - len(line.lstrip()) == least:
            name, _, text = line.strip().partition(": ")
            texts[name] = text
        else:
            texts[name] += f" {line.strip()}"
    return texts


def check_values(cls: Any, values: Mapping[str, Any]) -> None:
    """Refuse values that options cannot have.

    Raises:
        ValueError: If one is no word of its list, or of another type.
    """
    for name, value in values.items():
        options_of(cls)[name].check(value)


def flat(options: Any) -> dict[str, Any]:
    """Options by name, as they are."""
    return {each.name: getattr(options, each.name) for each in fields(options)}


def recorded(options: Any) -> dict[str, Any]:
    """Options by name for a record: without those that earlier versions had not, where they are at their defaults."""
    known = options_of(type(options))
    return {
        name: value
        for name, value in flat(options).items()
        if not (known[name].metadata.get("newer") and value == known[name].default)
    }


def one_of(option: str, value: object, allowed: tuple[Any, ...]) -> None:
    """Refuse an option's value that is not in the list.

    Raises:
        ValueError: Naming the option, the allowed values and the one that came.
    """
    if value not in allowed:
        raise ValueError(f"{option} must be one of {', '.join(map(str, allowed))}; got {value!r}.")


def no_such_option(whose: str, name: str, known: Iterable[str]) -> str:
    """A sentence about an option that there is not: the closest one, or all there are.

    `whose` is its beginning, such as `The fusion 'dlfa' has no`.
    """
    known = list(known)
    close = difflib.get_close_matches(name, known, 1)
    hint = f"did you mean {close[0]!r}?" if close else f"there are {', '.join(known) or 'none'}."
    return f"{whose} option {name!r}; {hint}"


def _plain(hint: Any) -> tuple[Any, tuple[Any, ...]]:
    """The type of an option without None, and its words."""
    if get_origin(hint) is Literal:
        return str, get_args(hint)
    if get_origin(hint) in (Union, UnionType):
        parts = [part for part in get_args(hint) if part is not type(None)]
        if set(parts) == {int, float}:
            return float, ()
        return _plain(parts[0]) if len(parts) == 1 else (Any, ())
    return hint, ()
