"""Which format a file has, from its content first and its name second."""

from collections.abc import Callable, Sequence
from pathlib import Path

from dlfa_adapters.data.readers.iob import split_tag
from dlfa_adapters.data.readers.labelled_text import labels_beside
from dlfa_adapters.data.readers.rows import find_shape, is_blank, split_row
from dlfa_adapters.data.readers.table import header_fields, is_json
from dlfa_adapters.data.readers.wikiann import has_prefixes
from dlfa_adapters.data.readers.xnli import LABEL_SPELLINGS
from dlfa_adapters.errors import DataError
from dlfa_adapters.tasks import POS, XNLI

_SAMPLE = 4000
_UPOS = frozenset((*POS.labels, "_"))
_NLI = frozenset((*XNLI.labels, *LABEL_SPELLINGS, "-"))

Detector = Callable[[Path, Sequence[str]], bool]
"""Says of a file and its lines whether it is of a format."""

DETECTORS: dict[str, Detector] = {}
"""Of formats that were registered; asked before anything else."""


def detect_format(path: str | Path, lines: Sequence[str]) -> str:
    """The format of a file.

    Args:
        path: The file; its name and that of its folder decide where the content leaves a doubt.
        lines: Its lines.

    Returns:
        A name of `READERS`; `text` where nothing else fits.

    Raises:
        DataError: If it is a CSV file, which no reader takes.
    """
    for registered, is_it in DETECTORS.items():
        if is_it(Path(path), lines):
            return registered
    name = Path(path).name.lower()
    sample = [line for line in lines[:_SAMPLE] if not is_blank(line)]
    if name.endswith(".conllu") or (sample and _looks_like_conllu(sample)):
        return "conllu"
    if is_json(path, lines):
        return _json_format(sample)
    if labels_beside(path) is not None:
        return "labelled"
    if not sample:
        return "text"
    header = header_fields(sample[0])
    if header is not None:
        return _format_of_header(sample[0], header)
    has_blank = any(is_blank(line) for line in lines[:_SAMPLE])
    separator, width = find_shape(lines)
    if separator == "\t" and width > 1 and not has_blank:
        return _format_of_rows(Path(path), sample, width)
    if separator == "\t" and width > 1:
        return "wikiann" if width == 2 and has_prefixes(lines) else "columns"
    if width > 1 and _most_are_tags([split_row(line, separator) for line in sample], width):
        return "columns"
    if has_blank and width == 1 and Path(name).suffix in (".tsv", ".conll", ".bio"):
        return "words"
    return _text_unless_csv(path)


def _text_unless_csv(path: str | Path) -> str:
    if Path(path).suffix.lower() != ".csv":
        return "text"
    raise DataError(
        f"{path}: expected columns with a TAB between them, but this is a CSV file; save it with TABs, or name the "
        "format text if it is plain text"
    )


def _looks_like_conllu(sample: Sequence[str]) -> bool:
    row = next((line.split("\t") for line in sample if not line.startswith("#")), [])
    return len(row) == 10 and row[0].split("-")[0] in ("1", "0.1")


def _json_format(sample: Sequence[str]) -> str:
    keys = sample[0].lower() if sample else ""
    return "xnli" if '"gold_label"' in keys or '"hypothesis"' in keys else "labelled"


def _format_of_header(line: str, fields: dict[str, int]) -> str:
    cells = {cell.strip().lower() for cell in line.split("\t")}
    if "text_pair" in fields:
        nli = cells & {"gold_label", "premise", "hypothesis", "hypo"}
        return "xnli" if nli else "pawsx"
    return "sib200" if {"index_id", "category"} <= cells else "labelled"


def _format_of_rows(path: Path, sample: Sequence[str], width: int) -> str:
    """A table without a header and without blank lines: by the values of its last column."""
    rows = [cells for line in sample if len(cells := line.split("\t")) == width]
    last = {row[-1] for row in rows}
    pair_format = next((name for name in ("xnli", "pawsx") if name in path.parent.name.lower()), None)
    if width in (3, 4) and last <= {"0", "1"}:
        return "pawsx"
    if width == 3 and last <= _NLI:
        return "xnli"
    if width == 2 and pair_format and not _are_tags(last):
        return pair_format
    if _are_tags(last):
        return "wikiann" if width == 2 and has_prefixes(sample) else "columns"
    if width == 2:
        few = min(len({row[side] for row in rows}) for side in (0, 1))
        return "labelled" if len(rows) >= 2 * few else "pairs"
    return "labelled" if width == 3 and len(rows) >= 2 * len(last) else "columns"


def _most_are_tags(rows: Sequence[Sequence[str]], width: int) -> bool:
    """Whether most rows have the same width and end in a tag; a damaged row must not hide what the file is."""
    last = [row[-1] for row in rows if len(row) == width]
    tags = max(sum(value in _UPOS for value in last), sum(split_tag(value) is not None for value in last))
    return len(last) > len(rows) / 2 and tags >= 0.9 * len(last)


def _are_tags(values: set[str]) -> bool:
    """Whether all values of a column are entity tags or universal parts of speech."""
    return values <= _UPOS or all(split_tag(value) is not None for value in values)
