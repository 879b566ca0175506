"""Fenced blocks of Markdown pages, with what the comments above them say."""

import math
import re
import textwrap
from dataclasses import dataclass, field
from pathlib import Path

_FENCE = re.compile(r"^(?P<indent> *)(?P<fence>`{3,})(?P<language>[\w+-]*)(?P<info>[^\n`]*)$")
_COMMENT = re.compile(r"^ *<!-- *(?P<name>norun|output|fails)(?:: *(?P<value>.*?))? *-->$")
_TITLE = re.compile(r'title="([^"]+)"')

SHELLS = ("bash", "console", "sh")


@dataclass
class Block:
    """One fenced block.

    Attributes:
        page: The file, relative to the root of the project.
        line: Line of the opening fence, from 1.
        language: What stands behind the fence, "" where nothing does.
        text: What it holds, without common indentation.
        title: From `title="…"`: the file that it shows.
        marks: What comments directly above it say: `norun` -> reason, `output` -> "" or "figures", `fails` -> "".
        follows: The block that ends right above it, or None.
    """

    page: str
    line: int
    language: str
    text: str
    title: str | None = None
    marks: dict[str, str] = field(default_factory=dict)
    follows: "Block | None" = None

    @property
    def is_output(self) -> bool:
        """Whether it shows what the last executed block prints: marked as such, or text right below a block."""
        return "output" in self.marks or (self.language == "text" and self.follows is not None and self.title is None)

    @property
    def place(self) -> str:
        """Page and line, for messages."""
        return f"{self.page}:{self.line}"


def find_blocks(path: Path, root: Path) -> list[Block]:
    """All fenced blocks of a page, in order.

    Raises:
        ValueError: If a fence is not closed.
    """
    lines = path.read_text("utf-8").split("\n")
    page, found, i = path.relative_to(root).as_posix(), [], 0
    last_end = -1
    marks: dict[str, str] = {}
    while i < len(lines):
        opening = _FENCE.match(lines[i])
        comment = _COMMENT.match(lines[i])
        if comment:
            marks[comment["name"]] = comment["value"] or ""
        elif opening:
            close = f"{opening['indent']}{opening['fence']}"
            end = next((j for j in range(i + 1, len(lines)) if lines[j].rstrip() == close), None)
            if end is None:
                raise ValueError(f"{page}:{i + 1}: the fence is not closed")
            between = [line for line in lines[last_end + 1 : i] if line.strip() and not _COMMENT.match(line)]
            title = _TITLE.search(opening["info"])
            found.append(
                Block(
                    page,
                    i + 1,
                    opening["language"],
                    textwrap.dedent("\n".join(lines[i + 1 : end])),
                    title[1] if title else None,
                    marks,
                    found[-1] if found and not between else None,
                )
            )
            marks, i, last_end = {}, end, end
        elif lines[i].strip():
            marks = {}
        i += 1
    return found


def pages(root: Path) -> list[Path]:
    """Every page that a reader sees: README, CONTRIBUTING and the site."""
    return [root / "README.md", root / "CONTRIBUTING.md", *sorted((root / "docs").rglob("*.md"))]


_NUMBER = r"(?<![\w.])[-+]?\d[\d,]*(?:\.\d+)?(?!\w)|–"
_TAG = r"(?<!\w)(?:O|[BI]-[A-Z]+|\[[A-Z]+\])(?!\w)"


def same_output(expected: str, got: str, within: float = 0) -> bool:
    """Whether a page shows what was printed.

    Args:
        expected: What the page shows; `…` stands for anything within a line, a line of `…` alone for any lines.
        got: What was printed.
        within: How far a number may lie from the one that was printed. Above 0 the star at the best of several does not
            count either, and with infinity, for the output of another model, neither do predicted tags.
    """
    changing = f"{_NUMBER}|{_TAG}" if math.isinf(within) else _NUMBER if within else r"(?!)"
    pattern = ""
    for line in _lines(expected, within):
        parts = [_pattern(part, changing) for part in line.split("…")]
        pattern += r"(?:.*\n)*?" if line == "…" else ".*?".join(parts) + r"\n"
    found = re.fullmatch(pattern, "\n".join([*_lines(got, within), ""]))
    shown = [value for part in expected.split("…") for value in re.findall(changing, "\n".join(_lines(part, within)))]
    return found is not None and all(map(_near, shown, found.groups(), [within] * len(shown)))


def _lines(text: str, within: float) -> list[str]:
    """Lines without what tables are padded with; where figures may differ, so may the width of columns."""
    text = re.sub(r"[─━╌]+", "─", text.replace("*", " ")) if within else text
    return [" ".join(line.split()) for line in text.strip().split("\n")]


def _pattern(text: str, changing: str) -> str:
    """A pattern of a line, in which what may change is a group."""
    fixed = re.split(changing, text)
    return f"({changing})".join(map(re.escape, fixed))


def _near(shown: str, printed: str, within: float) -> bool:
    if math.isinf(within):
        return True
    values = [float(value.replace(",", "").replace("–", "nan")) for value in (shown, printed)]
    return shown == printed or abs(values[0] - values[1]) <= within


def demo_figures(path: Path) -> dict[str, dict[str, float]]:
    """The figures of the demo's table as a page shows it: row (a language, `dev`, `mean`) -> column -> F1."""
    lines = [line.split() for line in path.read_text("utf-8").split("\n")]
    start = next(i for i, cells in enumerate(lines) if cells[:2] == ["last", "D_1"])
    columns = [name.rstrip("*") for name in lines[start]]
    stop = next(i for i, cells in enumerate(lines) if i > start and cells[:1] in (["```"], ["…"]) and len(cells) == 1)
    rows = [cells for cells in lines[start + 1 : stop] if len(cells) == len(columns) + 1]
    return {cells[0]: dict(zip(columns, map(float, cells[1:]), strict=True)) for cells in rows}
