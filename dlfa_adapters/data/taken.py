"""What files were taken for, in a line for each layout rather than each file."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dlfa_adapters.data.readers.base import Read


@dataclass
class Taken:
    """Files by what they were taken for.

    Attributes:
        alike: What was taken for what, and why -> the files, each with its line.
    """

    alike: dict[tuple[str, str, str, str | None], list[tuple[Path, str, int]]] = field(default_factory=dict)

    def add(self, read: Read[Any]) -> None:
        """Count a file in."""
        key = (read.format, read.layout, read.why, read.scheme)
        self.alike.setdefault(key, []).append((Path(read.path), str(read), len(read.items)))

    def lines(self) -> list[str]:
        """One line for all files that were taken for the same."""
        out = []
        for files in self.alike.values():
            path, line, _ = files[0]
            more = (
                f" and {len(files) - 1} more like it, {sum(n for *_, n in files):,} items in all" if files[1:] else ""
            )
            out.append(f"{path}{more}: {line}")
        return out
