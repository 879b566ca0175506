"""What a run and an evaluation record about themselves, as rows of a name and a value."""

from collections.abc import Iterator, Mapping
from typing import Any

Facts = list[tuple[str, str]]
_RUN_PARTS = ("encoder", "head", "tuning", "seed", "windows", "training", "data", "metrics", "versions")


def run_facts(config: Mapping[str, Any]) -> dict[str, Facts]:
    """The parts of `run.json` that a reader wants, checksums of files and label names left out.

    Args:
        config: What `run.json` holds.
    """
    known = [name for name in _RUN_PARTS if name in config]
    others = [name for name in config if name not in (*_RUN_PARTS, "format", "task", "labels", "files", "model")]
    return {name: facts(config[name]) for name in [*known, *others]}


def facts(value: Any) -> Facts:
    """A value of JSON as rows; the names of nested ones are joined with dots, and "" for a single value."""
    return list(_rows("", value))


def _rows(name: str, value: Any) -> Iterator[tuple[str, str]]:
    if isinstance(value, Mapping) and value:
        for key, inner in value.items():
            yield from _rows(f"{name}.{key}" if name else str(key), inner)
    else:
        yield name, plain_words(value)


def plain_words(value: Any) -> str:
    """A value in the words of a reader."""
    if value is None or value == {} or value == []:
        return "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, list):
        return ", ".join(map(plain_words, value))
    return str(value)
