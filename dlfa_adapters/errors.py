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
