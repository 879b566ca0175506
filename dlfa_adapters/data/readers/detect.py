"""What a file is: the named task decides first, then its content, then its name (a format that is named, before all).

Content decides where values leave no doubt: entity tags, parts of speech, NLI labels, ids of CoNLL-U, a header, JSON.
Where only the shape of the file speaks, the task decides; without one the likelier reading is taken, with a line that
says so (`Read.why`); where two are about as likely, an error asks.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from dlfa_adapters.data.readers.base import KindOfData, Notes
from dlfa_adapters.data.readers.columns import has_prefixes
from dlfa_adapters.data.readers.conllu import looks_like_conllu
from dlfa_adapters.data.readers.containers import csv_cells, is_csv, is_json, is_parquet, json_rows, parquet_rows
from dlfa_adapters.data.readers.labelled_text import LABEL_SPELLINGS, label_side, labels_beside
from dlfa_adapters.data.readers.lines import bare_name
from dlfa_adapters.data.readers.mldoc import is_mldoc
from dlfa_adapters.data.readers.roles import find_roles
from dlfa_adapters.data.readers.rows import find_shape, is_blank
from dlfa_adapters.data.readers.spans import has_spans
from dlfa_adapters.data.readers.table import header_fields
from dlfa_adapters.data.readers.values import words_key
from dlfa_adapters.ground.errors import DataError
from dlfa_adapters.tasks import KINDS, XNLI, Task

_SAMPLE = 4000
_NLI = frozenset((*XNLI.labels, *LABEL_SPELLINGS, "-"))
_TEXTUAL = 0.3  # share of rows with a blank inside a cell from which on the cells are texts rather than words
_PAIR_FORMATS = ("xnli", "pawsx")  # of the tasks of these names

Detector = Callable[[Path, Sequence[str]], bool]
"""Says of a file and its lines whether it is of a format."""

DETECTORS: dict[str, Detector] = {}
"""Of formats that were registered; called before anything else."""

TAGGING_FORMATS = {"conllu", "columns", "wikiann", "words", "tokens", "spans"}
"""Formats whose items are sentences of words; those of all others are texts."""


@dataclass(frozen=True)
class Found:
    """What a file is taken for.

    Attributes:
        format: A name of `READERS`.
        why: Why, for the line on the screen.
        sure: Whether values leave no doubt; otherwise only the shape speaks for it, and a named task decides.
    """

    format: str
    why: str = "by its content"
    sure: bool = True


def detect_format(path: str | Path, lines: Sequence[str], task: Task | None = None) -> str:
    """The format of a file; see `find_format`."""
    return find_format(path, lines, task).format


def find_format(path: str | Path, lines: Sequence[str], task: Task | None = None, tagging: bool = False) -> Found:
    """The format of a file, and why.

    Args:
        path: The file; its name and that of its folder decide where the content leaves a doubt.
        lines: Its lines.
        task: What it is for, where that is known.
        tagging: Whether it holds words with tags in any case, since their columns are named.

    Returns:
        The format; `text` where nothing else fits.

    Raises:
        DataError: It is data of another kind than the task's, or two readings are about as likely.
    """
    for registered, is_it in DETECTORS.items():
        if is_it(Path(path), lines):
            return Found(registered)
    kind: KindOfData | None = None if task is None else KINDS[task.kind]
    words = True if tagging else None if kind is None else kind.of_words
    guess = _by_content(Path(path), lines, known=words is not None)
    if words is None or (guess.format in TAGGING_FORMATS) == words:
        wanted = task.name if task and task.pair and task.name in _PAIR_FORMATS else None
        if wanted and guess.format in ("labelled", "pairs", "xnli", "pawsx") and labels_beside(path) is None:
            return guess if guess.format == wanted else Found(wanted, f"for the task {wanted}")
        return guess
    if tagging and not guess.sure:
        return Found("columns", "as its columns are named")
    if task is None or kind is None or guess.sure or (words and not _holds_labels(path, lines, task)):
        what = f"{task.name}, a {task.kind} task" if task else "words with tags, whose columns are named"
        other = next(each.name for each in KINDS.values() if each.of_words != words)
        raise DataError(
            f"{path}: expected data for {what}, but this is {other} data, format {guess.format} ({guess.why}); "
            "name another with --format (format=) if that is wrong"
        )
    return Found(task.name if task.name in _PAIR_FORMATS else kind.format, f"for the task {task.name}")


def _by_content(path: Path, lines: Sequence[str], known: bool) -> Found:
    """What content and name say; a doubt about the kind of data is no error where that is `known`."""
    sample = [line for line in lines[:_SAMPLE] if not is_blank(line)]
    separator, width = find_shape(lines)
    if looks_like_conllu(sample):
        return Found("conllu")
    if bare_name(path).suffix == ".conllu":
        if not sample or width in (1, 10):
            return Found("conllu", "by its name")
        guess = _of_rows(path, lines, sample, separator, width, known)
        says = f"by its content: the name says CoNLL-U, but the rows have {width} columns"
        return Found(guess.format, says, guess.sure)
    if is_json(path, lines) or is_parquet(path):
        return Found(_of_named_rows(path, lines))
    if labels_beside(path) is not None:
        return Found("labelled", "with the labels of the file beside it")
    if not sample:
        return Found("text", "as there is nothing in it", sure=False)
    if is_csv(path, lines):
        return _of_csv(path)
    return _of_rows(path, lines, sample, separator, width, known)


def _of_rows(path: Path, lines: Sequence[str], sample: Sequence[str], separator: str, width: int, known: bool) -> Found:
    inner = "\n".join(lines[:_SAMPLE]).strip(" \t\n").split("\n")
    has_blank = any(is_blank(line) for line in inner)
    if width == 1:
        if has_blank and bare_name(path).suffix in (".tsv", ".conll", ".bio"):
            return Found("words", "by its name and blank lines", sure=False)
        return Found("text", "one column", sure=False)
    if separator == " ":
        tagged = _are_most(sample, width) and _tagged(path, lines)
        return Found("columns") if tagged else Found("text", "no columns with tags", sure=False)
    rows = [cells for line in sample if len(cells := line.split("\t")) == width]
    textual = _are_texts(rows)
    columns = "wikiann" if width == 2 and has_prefixes(lines) else "columns"
    if (not textual or has_blank) and _tagged(path, lines):
        return Found(columns)
    header = header_fields(rows[0])
    if header is not None:
        return Found(_format_of_header(rows[0], header), "by its header row")
    last = {row[-1].strip() for row in rows}
    if width in (3, 4) and last <= {"0", "1"} and (textual or not has_blank):
        return Found("pawsx")
    if width == 3 and last <= _NLI and last - {"-"}:
        return Found("xnli")
    if has_blank and not textual:
        return Found(columns, "by the blank lines between sentences", sure=False)
    return _of_texts(path, lines, rows, width, known)


def _of_texts(path: Path, lines: Sequence[str], rows: Sequence[Sequence[str]], width: int, known: bool) -> Found:
    """Rows of texts without a header: pairs, or texts with labels."""
    pair_format = next((name for name in _PAIR_FORMATS if name in path.parent.name.lower()), None)
    if width == 2 and pair_format:
        return Found(pair_format, "by the name of its folder", sure=False)
    if width > 2:
        few = 2 * len({row[-1] for row in rows}) <= len(rows)
        is_labelled = width == 3 and (few or any(" " in cell for row in rows for cell in row[:2]))
        name = "labelled" if is_labelled else "columns"
        return Found(name, "by its columns", sure=False)
    if width == 2 and is_mldoc(lines[:_SAMPLE]):
        return Found("mldoc", "by its topics")
    side, share, text_like = label_side([line.split("\t") for line in lines])
    if share > 0.8:
        return Found("pairs", "two columns that hardly repeat", sure=False)
    if share <= 0.5 or text_like or known:
        return Found("labelled", f"column {side + 1} repeats, as labels do", sure=False)
    raise DataError(
        f"{path}: two columns, of which the {('first', 'second')[side]} repeats a little: texts with labels, or pairs "
        "of words or sentences; say which with --format labelled or --format pairs (format=)"
    )


def _are_texts(rows: Sequence[Sequence[str]]) -> bool:
    """Whether cells are texts rather than words: whether many have a blank inside."""
    return sum(any(" " in cell.strip() for cell in row) for row in rows) > _TEXTUAL * len(rows)


def _tagged(path: Path, lines: Sequence[str]) -> bool:
    """Whether a column holds entity tags or parts of speech; also where there are two such columns."""
    try:
        return find_roles(path, lines[:_SAMPLE]).tagged
    except DataError:
        return True


def _holds_labels(path: str | Path, lines: Sequence[str], task: Task) -> bool:
    """Whether a column holds the labels of a tagging task, which may look like no tags that are known."""
    if find_shape(lines)[1] < 2:
        return True
    known = set(task.labels)
    roles = find_roles(path, lines[:_SAMPLE], labels=task.labels)
    return 2 * len(roles.tags & known) >= len(roles.tags)


def _are_most(sample: Sequence[str], width: int) -> bool:
    """Whether most rows have the same number of columns, as running text has not."""
    rows = [line for line in sample if not line.startswith("#")]
    return 2 * sum(len(line.split()) == width for line in rows) > len(rows)


def _of_named_rows(path: Path, lines: Sequence[str]) -> str:
    """The format of JSON or Parquet, by its keys."""
    notes = Notes(path, strict=False)
    rows = [row for _, row in islice(parquet_rows(path) if is_parquet(path) else json_rows(lines, notes), _SAMPLE)]
    if any(words_key(row) for row in rows):
        return "tokens"
    if any(has_spans(row) for row in rows):
        return "spans"
    keys = {key for row in rows for key in row}
    return "xnli" if keys & {"gold_label", "hypothesis"} else "labelled"


def _of_csv(path: Path) -> Found:
    """A CSV file, which holds texts or pairs."""
    rows = [cells for _, cells in islice(csv_cells(path, Notes(path, strict=False)), _SAMPLE)]
    if not _are_texts(rows) and _tagged(path, ["\t".join(row) for row in rows]):
        raise DataError(
            f"{path}: expected texts with labels in a CSV file, but there are words with tags; save them with a TAB "
            "between the columns and an empty line after each sentence"
        )
    header = header_fields(rows[0]) if rows else None
    if header is not None:
        return Found(_format_of_header(rows[0], header), "CSV, by its header row")
    width = len(rows[0]) if rows else 0
    last = {row[-1] for row in rows if row}
    if width == 3 and last <= _NLI and last - {"-"}:
        return Found("xnli", "CSV, by its content")
    return Found("labelled", "CSV, by its columns", sure=False)


def _format_of_header(cells: Sequence[str], fields: dict[str, int]) -> str:
    names = {cell.strip().lower() for cell in cells}
    if "text_pair" in fields:
        nli = names & {"gold_label", "premise", "hypothesis", "hypo"}
        return "xnli" if nli else "pawsx" if names & {"sentence1", "sentence2"} else "labelled"
    return "sib200" if {"index_id", "category"} <= names else "labelled"
