"""Texts and pairs of texts, with a label each or none: tsv, CSV, JSON or Parquet, or texts and labels in two files.

`text TAB label` and `label TAB text` are distinguished by their contents. Two files are XLM-T's way: `train_text.txt`
and `train_labels.txt`, line by line. Three data sets are read as published and as XTREME's script leaves them
(without a header, and without labels in test files):

SIB-200 (Adelani et al. 2024, arXiv 2309.07445): sentences of FLORES-200 with one of seven topics, a header `index_id
category text`; sentences are parallel across languages by `index_id`.

XNLI and MultiNLI (Conneau et al. 2018, arXiv 1809.05053): premise, hypothesis, and one of three labels, in columns of
any order under a header. The training file spells one label `contradictory` and the test files `contradiction`: one
class. `-` means that the annotators did not agree: left out.

PAWS-X (Yang et al. 2019, arXiv 1908.11828): two sentences, and 1 where they are paraphrases. Some rows are no pairs:
a sentence that is only "NS" (not a sentence), or blank. They are marked, not dropped, so that row order and ids stay
the same in all languages and a test keeps its official size; training leaves them out.

Texts without labels, a sentence or paragraph a line, are for domain adaptation and the analyses; pairs of words or
sentences, two columns a line, are dictionaries (XLING-BLI, MUSE) and parallel text.

All readers are `strict`: the first bad row raises. Else each is noted in `problems` and left out, and a line that is
not UTF-8 is noted too and read with U+FFFD for what is wrong.
"""

from collections.abc import Sequence
from pathlib import Path

from dlfa_adapters.data.readers.base import Example, Notes, Read, shown
from dlfa_adapters.data.readers.lines import read_lines
from dlfa_adapters.data.readers.table import finish_table, read_records, to_examples, undo_csv_quotes

TEXT_END, LABELS_END = "_text.txt", "_labels.txt"


def label_side(cells: Sequence[Sequence[str]]) -> tuple[int, float, bool]:
    """Which of two columns is the label: the one with fewer distinct values, then the shorter one.

    Returns:
        0 or 1; its distinct values as a share of the rows; whether the other column alone has blanks in its cells, as
        texts beside labels have.
    """
    rows = [row for row in cells if len(row) == 2]
    if not rows:
        return 1, 1.0, False
    columns = [[row[side].strip() for row in rows] for side in (0, 1)]
    distinct = [len(set(column)) for column in columns]
    side = int(distinct[1] <= distinct[0])
    if distinct[0] == distinct[1]:
        side = int(sum(map(len, columns[1])) <= sum(map(len, columns[0])))
    blanks = [sum(" " in cell for cell in column) / len(rows) for column in columns]
    return side, distinct[side] / len(rows), blanks[1 - side] >= 0.1 + blanks[side]


def labels_beside(path: str | Path) -> Path | None:
    """The file of labels that belongs to a file of texts (`x_text.txt`, `x_labels.txt`), if it is there."""
    name = Path(path).name
    if not name.endswith(TEXT_END):
        return None
    labels = Path(path).with_name(name.removesuffix(TEXT_END) + LABELS_END)
    return labels if labels.is_file() else None


def read_labelled(path: str | Path, *, strict: bool = True) -> Read[Example]:
    """Read labelled texts, single or in pairs.

    Args:
        path: A tsv, CSV, JSON or Parquet file, or the `..._text.txt` of a pair of files.
        strict: Whether the first bad row raises; else such rows are noted and left out.

    Returns:
        The texts; a `text_pair` where the file has one.

    Raises:
        DataError: The file cannot be read, lacks a column, has not as many labels as texts, or (when strict) has a bad
            row.
    """
    notes = Notes(path, strict)
    labels = labels_beside(path)
    if labels is not None:
        return _two_files(read_lines(path, notes), labels, notes)
    records = read_records(notes, _orders, ("text", "label"))
    return finish_table(to_examples(records), "labelled", notes)


def _orders(rows: Sequence[Sequence[str]]) -> dict[int, tuple[str, ...]]:
    pair = ("label", "text") if label_side(rows)[0] == 0 else ("text", "label")
    return {2: pair, 3: ("text", "text_pair", "label")}


def _two_files(texts: Sequence[str], labels_path: Path, notes: Notes) -> Read[Example]:
    labels = read_lines(labels_path, Notes(labels_path))
    if len(labels) != len(texts):
        message = f"expected one label a text, but {labels_path.name} has {len(labels)} lines for {len(texts)} texts"
        notes.error(min(len(labels), len(texts)) + 1, "columns", message)
        notes.drop("text_without_label", max(0, len(texts) - len(labels)))
    items = [
        Example(text, None, label, str(index), index + 1)
        for index, (text, label) in enumerate(zip(texts, labels, strict=False))
    ]
    return finish_table(items, "labelled", notes)


_SIB200_ORDERS = {3: ("id", "label", "text")}


def read_sib200(path: str | Path, *, strict: bool = True) -> Read[Example]:
    """Read a SIB-200 file.

    Returns:
        The sentences with their topics; `id` is `index_id`.

    Raises:
        DataError: The file cannot be read, lacks a column, or (when strict) has a bad row.
    """
    notes = Notes(path, strict)
    records = read_records(notes, _SIB200_ORDERS, ("text", "label", "id"))
    return finish_table(to_examples(records), "sib200", notes)


LABEL_SPELLINGS = {"contradictory": "contradiction"}
_XNLI_ORDERS = {2: ("text", "text_pair"), 3: ("text", "text_pair", "label")}


def read_xnli(path: str | Path, *, strict: bool = True) -> Read[Example]:
    """Read an NLI file.

    Returns:
        The pairs. Rows with the label `-` are counted in `dropped` as `no_gold_label`; ids are row numbers counted
        before that, so they stay aligned across languages. An unknown label stays as it is.

    Raises:
        DataError: The file cannot be read, lacks a column, or (when strict) has a bad row.
    """
    notes = Notes(path, strict)
    records = read_records(notes, _XNLI_ORDERS, ("text", "text_pair"))
    undo_csv_quotes(records, notes)
    items = []
    for example in to_examples(records):
        if example.label == "-":
            notes.drop("no_gold_label")
            continue
        example.label = LABEL_SPELLINGS.get(example.label or "", example.label)
        items.append(example)
    return finish_table(items, "xnli", notes)


PLACEHOLDER = "NS"
_PAWSX_ORDERS = {
    2: ("text", "text_pair"),
    3: ("text", "text_pair", "label"),
    4: ("id", "text", "text_pair", "label"),
}


def flaw_of(text: str, text_pair: str) -> str | None:
    """`placeholder` or `blank` where a pair is none; a sentence that merely begins with NS is a sentence."""
    sides = (text.strip(), text_pair.strip())
    if PLACEHOLDER in sides:
        return "placeholder"
    return "blank" if "" in sides else None


def read_pawsx(path: str | Path, *, strict: bool = True) -> Read[Example]:
    """Read a PAWS-X file; without a header, 2 columns are the pair, a third is its label, and of 4 the first is the id.

    Returns:
        The pairs, the flawed ones marked in `flaw` and noted with their number.

    Raises:
        DataError: The file cannot be read, lacks a column, or (when strict) has a bad row.
    """
    notes = Notes(path, strict)
    records = read_records(notes, _PAWSX_ORDERS, ("text", "text_pair"))
    undo_csv_quotes(records, notes)
    items = to_examples(records)
    lines: dict[str, list[int]] = {}
    for example in items:
        example.flaw = flaw_of(example.text, example.text_pair or "")
        if example.flaw:
            lines.setdefault(example.flaw, []).append(example.line)
    for flaw, where in lines.items():
        meaning = 'is only "NS"' if flaw == "placeholder" else "is blank"
        notes.warn(where[0], flaw, f"{len(where)} rows have a sentence that {meaning}; training leaves them out")
    return finish_table(items, "pawsx", notes)


def read_text(path: str | Path, *, strict: bool = True) -> Read[Example]:
    """Read plain text, in which no row is bad: strict, a line that is not UTF-8 raises, else it is noted and read.

    Returns:
        One `Example` a line, without label; lines of blanks only are counted in `dropped` as `empty_line`.

    Raises:
        DataError: The file cannot be read.
    """
    notes = Notes(path, strict)
    items = []
    for number, line in enumerate(read_lines(path, notes), 1):
        if line.strip():
            items.append(Example(line, None, None, str(number - 1), number))
        else:
            notes.drop("empty_line")
    return Read(items, "text", path, notes.problems, notes.dropped)


def read_pairs(path: str | Path, *, strict: bool = True) -> Read[Example]:
    """Read pairs: source TAB target.

    Returns:
        One `Example` a pair, without label.

    Raises:
        DataError: The file cannot be read, or (when strict) a line has not two columns.
    """
    notes = Notes(path, strict)
    items = []
    for number, line in enumerate(read_lines(path, notes), 1):
        if not line:
            notes.drop("empty_line")
            continue
        cells = line.split("\t")
        if len(cells) != 2:
            message = f"expected 2 columns with a TAB between them, but got {len(cells)}: {shown(line)}"
            notes.bad_row(number, "columns", message)
            continue
        items.append(Example(cells[0], cells[1], None, str(number - 1), number))
    return Read(items, "pairs", path, notes.problems, notes.dropped)
