"""Makes command-line options from the library's dataclasses, where their names, types, words, defaults and help stand.

The classes are read when a command is called or asked for help, not when the command line starts, and without PyTorch.
"""

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from dlfa_cli.options import rates, was_typed

if TYPE_CHECKING:
    from dlfa_adapters.fusion.options import Option

Function = TypeVar("Function", bound=Callable[..., Any])

HEAD, TEXT, STEPS, MACHINE = "Head", "Text", "Steps", "Machine"
_RATES, _LAYERS, _BLOCKS = ("learning_rate", "head_learning_rate"), "fuse_layer", "leave_out"
_OTHERS = "fusion_option"
_GIVEN = "dlfa.options"


@dataclass(frozen=True)
class Generated:
    """Which options a command has.

    Attributes:
        honoured_by: Names of the ways of training in `learning.loops`; the command has what any of them honours.
        without: Names that it does not have, or has in a form of its own.
    """

    honoured_by: tuple[str, ...]
    without: tuple[str, ...] = ()


def with_options(*honoured_by: str, without: tuple[str, ...] = ()) -> Callable[[Function], Function]:
    """Give a command the options of ways of training; `given_options` gives what was typed."""

    def mark(function: Function) -> Function:
        function.__dict__["generated"] = Generated(honoured_by, without)
        return function

    return mark


def signature_of(generated: Generated) -> list[inspect.Parameter]:
    """The options of a command as parameters of a function, as typer takes them."""
    from dlfa_adapters.kinds import options_of_kinds
    from dlfa_adapters.learning import loops
    from dlfa_adapters.learning.machine_options import MachineOptions
    from dlfa_adapters.learning.settings import StepOptions, TextOptions

    honoured = {name for loop in generated.honoured_by for name in getattr(loops, loop).honours}
    panels = {
        **dict.fromkeys(TextOptions.__annotations__, TEXT),
        **dict.fromkeys(StepOptions.__annotations__, STEPS),
        **dict.fromkeys(MachineOptions.__annotations__, MACHINE),
        **dict.fromkeys(options_of_kinds(), HEAD),
    }
    parameters = []
    for name, option in _known().items():
        of_a_fusion = name not in panels and name not in _of_every_head()
        # `learning_rates`, to be tried, have no option of their own: `--lr 1e-3,1e-2` is `learning_rate` with several
        if name in generated.without or (name.removesuffix("s") in _RATES and name not in _RATES):
            continue
        if of_a_fusion or name in honoured:
            parameters.append(_parameter(option, loops.spelled(name), panels.get(name, HEAD)))
    where = max((at for at, each in enumerate(parameters) if each.name in _of_every_head()), default=-1) + 1
    other = Annotated[
        list[str] | None,
        typer.Option(
            "--fusion-option", metavar="NAME=VALUE", help="Option of any fusion, by name.", rich_help_panel=HEAD
        ),
    ]
    parameters.insert(where, inspect.Parameter(_OTHERS, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=other))
    return parameters


def click_options(generated: Generated) -> list[Any]:
    """The same as typer makes them."""

    def command(**_: Any) -> None:
        pass

    parameters = signature_of(generated)
    command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    command.__annotations__ = {each.name: each.annotation for each in parameters}
    app = typer.Typer(add_completion=False)
    app.command()(command)
    return list(typer.main.get_command(app).params)


def take_options(context: typer.Context, names: Sequence[str]) -> None:
    """Take the values of the options of these names out of a call, for `given_options`.

    Raises:
        ConfigError: If one is not what the option takes.
    """
    from dlfa_adapters.fusion.build import FUSIONS, options_of_fusion

    given: dict[str, Any] = {}
    others: list[str] = []
    fusion = context.params.get("fusion") or "dlfa"
    own = options_of_fusion(fusion) if fusion in FUSIONS else {}
    for name in names:
        value = context.params.pop(name)
        if name in _RATES:
            given[name] = rates(value, {"learning_rate": "--lr", "head_learning_rate": "--head-lr"}[name])
        elif name == _LAYERS:
            given[name] = _read_layers(value or [])
        elif name == _BLOCKS:
            given[name] = ",".join(value or []) or None
        elif name == _OTHERS:
            others = value or []
        # 4.0 where the default is 4, as if it were typed
        elif was_typed(context, name) or (isinstance(value, float) and name in own):
            given[name] = value
    context.meta[_GIVEN] = {**given, **_read_others(others, fusion)}


def given_options(context: typer.Context) -> dict[str, Any]:
    """Options by name, those that were typed; None or missing: the default."""
    return dict(context.meta[_GIVEN])


def _known() -> "Mapping[str, Option]":
    """Options by name, with those of every fusion that is registered in this process; the first of a name is shown."""
    from dlfa_adapters.fusion.build import FUSIONS
    from dlfa_adapters.learning.settings import Settings

    every: dict[str, Any] = dict(Settings.known())
    for fusion in FUSIONS:
        for name, option in Settings.known(fusion).items():
            every.setdefault(name, option)
    return every


def _of_every_head() -> "Mapping[str, Option]":
    from dlfa_adapters.fusion.options import options_of
    from dlfa_adapters.tasks.head_options import HeadOptions

    return options_of(HeadOptions)


def _parameter(option: "Option", spelling: str, panel: str) -> inspect.Parameter:
    kind: Any = {bool: bool, int: int, float: float}.get(option.type, str)
    default, names, text = option.default, [spelling], option.help
    if not all(str(choice) in text for choice in option.choices):
        text += f" {', '.join(map(str, option.choices))}."
    if option.name in _RATES:
        kind = str
    elif option.name == _LAYERS:
        kind, names = list[str], [spelling, "-k"]
    elif option.name == _BLOCKS:
        kind = list[str]
    elif kind is bool and default:
        names = [f"{spelling}/--no-{spelling[2:]}"]
    info = typer.Option(*names, help=text, rich_help_panel=panel)
    annotation: Any = Annotated[kind if default is not None else kind | None, info]
    return inspect.Parameter(option.name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


def _read_layers(given: list[str]) -> tuple[int, ...] | str | None:
    """Layers, `auto`, or None where nothing was given."""
    if not all(layer.isdecimal() for layer in given) and given != ["auto"]:
        raise typer.BadParameter(
            f"expected layer numbers, or auto alone, got {' '.join(given)}", param_hint="--fuse-layer"
        )
    return "auto" if given == ["auto"] else tuple(map(int, given)) or None


def _read_others(given: list[str], fusion: str) -> dict[str, Any]:
    """Options of a fusion from `name=value`."""
    from dlfa_adapters.fusion.build import options_of_fusion
    from dlfa_adapters.fusion.options import no_such_option
    from dlfa_adapters.ground.errors import as_config_error

    options = {}
    for item in given:
        name, equals, text = item.partition("=")
        with as_config_error():
            known = options_of_fusion(fusion)
            if not equals or name not in known:
                raise ValueError(no_such_option(f"The fusion {fusion!r} has no", name, known))
            options[name] = known[name].parse(text)
    return options
