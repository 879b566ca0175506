"""The errors of this library: one sentence each, with what was expected, what came, and what to type.

Everything that is a user's mistake derives from `DLFAError`; the command line prints its text and exits with code 2.
Each also derives from the builtin that a Python user would catch.
"""


class DLFAError(Exception):
    """Base of every error that this library raises on purpose."""


class ConfigError(DLFAError, ValueError):
    """An option has a value that cannot work, e.g. a fuse layer that the encoder does not have."""


class UnsupportedModelError(DLFAError, TypeError):
    """The model is not one that a DLFA head can be put on."""


class DataError(DLFAError, ValueError):
    """Input data cannot be read; the text names file and line."""


class RunError(DLFAError, ValueError):
    """A run folder or saved head is missing, incomplete, or belongs to another encoder."""


class MissingExtraError(DLFAError, ImportError):
    """A package of an optional extra is not installed; the text has the pip command."""


def is_a_librarys(error: BaseException) -> bool:
    """Whether the line that raised an error is in another library, or it is a sentence of this one.

    For a damaged file Transformers, tokenizers and PyTorch raise whatever they stumble over, a bare `Exception`
    included, so that its class does not tell their refusal of a user's file from a mistake in a line of ours. What a
    line of ours raises without meaning to must not be reported as the user's fault.
    """
    if isinstance(error, DLFAError):
        return True
    last = error.__traceback__
    while last is not None and last.tb_next is not None:
        last = last.tb_next
    name = last.tb_frame.f_globals.get("__name__", "") if last is not None else ""
    return str(name).partition(".")[0] not in ("dlfa_adapters", "dlfa_cli")
