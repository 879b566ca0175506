"""The class of all commands: an option that takes one value is given once; the last one would silently win."""

from collections import Counter
from typing import Any

import typer

from dlfa_cli.help import Command as HelpfulCommand

_OF_FILES = ("--data", "--train", "--dev")


class Command(HelpfulCommand):
    """A command that refuses a second value where one alone would be used."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the arguments; see `click.Command.parse_args`.

        Raises:
            typer.BadParameter: An option that takes one value has more.
        """
        if args and not ctx.resilient_parsing:
            _, _, order = self.make_parser(ctx).parse_args(args=list(args))
            for parameter, times in Counter(order).items():
                if parameter.param_type_name == "option" and times > 1 and _takes_one_value(parameter):
                    name = max(parameter.opts, key=len)
                    folder = " or name a folder that holds both" if name in _OF_FILES else ""
                    raise typer.BadParameter(
                        f"expected {name} once, but it is given {times} times; leave one of them{folder}."
                    )
        return super().parse_args(ctx, args)


def _takes_one_value(option: Any) -> bool:
    return not (option.multiple or option.is_flag or option.count)
