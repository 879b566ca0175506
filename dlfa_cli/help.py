"""Help screens: a flag takes no value, so none is shown behind it, whichever release of typer prints it."""

from typing import Any

from typer.core import TyperCommand, TyperGroup


class Command(TyperCommand):
    """A command whose help shows no type behind a flag."""

    def get_params(self, ctx: Any) -> list[Any]:
        """The options and arguments."""
        return without_types_of_flags(super().get_params(ctx))


class Group(TyperGroup):
    """The same for a command that has others below it."""

    def get_params(self, ctx: Any) -> list[Any]:
        """The options and arguments."""
        return without_types_of_flags(super().get_params(ctx))


def without_types_of_flags(params: list[Any]) -> list[Any]:
    """The same parameters, the flags among them without `<bool>`, which would ask for a value."""
    for param in params:
        if getattr(param, "is_flag", False):
            param.metavar = ""
    return params
