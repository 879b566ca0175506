"""Known sentences in every dialect of their formats: read back equal, or refused with the cause, never otherwise.

`python -m tests.data.test_format_fuzz 2000` tries so many files of each kind and prints what came of them.
"""

import csv
import gzip
import io
import json
import sys
import tempfile
from collections import Counter
from pathlib import Path

import datasets
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dlfa_adapters.data.readers import read_file
from dlfa_adapters.ground.errors import DataError
from dlfa_adapters.tasks import NER, XNLI, tagging_task

EXAMPLES = 200
OWN = tagging_task("own", ["O", "B-PER", "I-PER", "B-LOC", "I-LOC", "B-ORG", "I-ORG"])
WORDS = (
    "Anna Bern met # #Rome the in 1 12 2024 O B-PER NOUN word tag token label de:12 en:x -DOCSTART-s _ - . , ; \" 'x "
    '"q" é 日本 Ünïcode a\u2028b \u200b x\u00a0y {a} [1] 1-2 8.1 id text'
).split(" ")

# ---- sentences, and their tags in other schemes ----

entity = st.tuples(st.sampled_from(["PER", "LOC", "ORG"]), st.integers(1, 3))
piece = st.one_of(entity, st.tuples(st.just("O"), st.integers(1, 4)))


@st.composite
def sentences(draw):
    """A few sentences; the first three make sure that there is something to tell a scheme by."""
    fixed = [[("PER", 2), ("O", 2)], [("O", 1), ("LOC", 1), ("O", 3)], [("ORG", 1), ("O", 1), ("PER", 1), ("O", 2)]]
    out = []
    for pieces in fixed * 3 + draw(st.lists(st.lists(piece, min_size=1, max_size=4), min_size=1, max_size=6)):
        tags = []
        for kind, length in pieces:
            tags += ["O"] * length if kind == "O" else [f"B-{kind}", *[f"I-{kind}"] * (length - 1)]
        out.append((draw(st.lists(st.sampled_from(WORDS), min_size=len(tags), max_size=len(tags))), tags))
    return out


def spans(tags):
    found = []
    for index, tag in enumerate(tags):
        if tag[0] == "B":
            found.append([index, index + 1, tag[2:]])
        elif tag[0] == "I":
            found[-1][1] = index + 1
    return found


def in_scheme(tags, scheme):
    out = list(tags)
    for start, end, kind in spans(tags):
        if scheme == "IOB1" and not (start and tags[start - 1][2:] == kind):
            out[start] = f"I-{kind}"
        if scheme in ("BIOES", "BILOU"):
            single, last = ("S", "E") if scheme == "BIOES" else ("U", "L")
            out[end - 1] = f"{single if end - start == 1 else last}-{kind}"
    return out


def slip(tag, how):
    """A tag as somebody mistypes it."""
    return {"case": tag.lower(), "separator": tag.replace("-", "_"), "blank": tag + " "}[how]


# ---- dialects of columns ----

dialects = st.fixed_dictionaries(
    {
        "separator": st.sampled_from(["\t", " "]),
        "number": st.sampled_from([None, 0, 1]),
        "between": st.lists(st.sampled_from(["pos", "empty", "chunk"]), max_size=2),
        "after": st.lists(st.sampled_from(["empty"]), max_size=1),
        "tag_first": st.booleans(),
        "header": st.booleans(),
        "comments": st.sampled_from([None, "# sent_id = {}", "# a note", "#\thttp://x\t[2010]"]),
        "docstart": st.booleans(),
        "scheme": st.sampled_from(["IOB1", "IOB2", "BIOES", "BILOU"]),
        "ends": st.sampled_from(["\n", "\r\n", "\r"]),
        "mark": st.sampled_from([None, "start", "inside"]),
        "gzip": st.booleans(),
        "last": st.sampled_from(["", "\n", "\n\n\n"]),
        "slips": st.sampled_from([None, "case", "separator", "blank"]),
        "name": st.sampled_from(["train-en.tsv", "x.conll", "x.txt", "x.conllu", "x.csv", "x.jsonl"]),
        "task": st.sampled_from([None, NER, OWN]),
        "named": st.booleans(),
    }
)


def write_columns_in(dialect, items):
    """The bytes of a file, the items as they stand in it, and the columns of word and tag."""
    roles = ["tag", *dialect["between"], "word"] if dialect["tag_first"] else ["word", *dialect["between"], "tag"]
    roles = (["number"] if dialect["number"] is not None else []) + roles + dialect["after"]
    lines, kept = [], []
    if dialect["header"]:
        lines += [dialect["separator"].join({"word": "TOKEN", "tag": "NER", "number": "id"}.get(r, r) for r in roles)]
    for index, (words, gold) in enumerate(items):
        words = [w.replace(" ", "") for w in words]
        tags = in_scheme(gold, dialect["scheme"])
        if dialect["slips"] and index % 9 == 0:
            tags[-1] = slip(tags[-1], dialect["slips"])
        if dialect["docstart"] and index % 4 == 0:
            start = {"word": "-DOCSTART-", "tag": "O", "number": "0"}
            lines += [dialect["separator"].join(start.get(role, "-X-") for role in roles), ""]
        if dialect["comments"]:
            lines.append(dialect["comments"].format(index))
        if dialect["mark"] == "inside" and index == 4:
            lines.append("")
        for place, (word, tag) in enumerate(zip(words, tags, strict=True)):
            cells = {
                "word": word, "tag": tag, "number": str(place + (dialect["number"] or 0)),
                "pos": ("NNP", "VBZ", "DT")[place % 3], "empty": "_", "chunk": ("B-NP", "I-NP", "O")[place % 3],
            }  # fmt: skip
            row = dialect["separator"].join(cells[role] for role in roles)
            if dialect["mark"] == "inside" and index == 4 and place == 0:
                row = "\ufeff" + row
            lines.append(row)
        lines.append("")
        kept.append((words, tags))
    text = dialect["ends"].join(lines) + dialect["last"].replace("\n", dialect["ends"])
    data = (("\ufeff" if dialect["mark"] == "start" else "") + text).encode()
    return gzip.compress(data) if dialect["gzip"] else data, kept, roles.index("word"), roles.index("tag")


def outcome_of_columns(folder, dialect, items):
    data, kept, word, tag = write_columns_in(dialect, items)
    path = folder / (dialect["name"] + ".gz" * dialect["gzip"])
    path.write_bytes(data)
    options = {"word_column": word, "tag_column": tag} if dialect["named"] else {}
    try:
        read = read_file(path, task=dialect["task"], **options)
    except DataError as error:
        return "refused: " + cause(error, path)
    if read.format != "columns" or [item.words for item in read.items] != [words for words, _ in kept]:
        return f"different: {read.format}"
    for item, (_, written), (_, gold) in zip(read.items, kept, items, strict=True):
        for place, (got, right) in enumerate(zip(item.tags, gold, strict=True)):
            slipped = written[place] != in_scheme(gold, dialect["scheme"])[place]
            if got != right and not (slipped and got == written[place] and named(read, got)):
                return f"different: tag {right} as {got}, scheme {read.scheme}"
    return "equal"


def named(read, tag):
    return any(problem.kind == "slip" and repr(tag) in problem.message for problem in read.problems)


def cause(error, path):
    return str(error).replace(str(path), "FILE").split(" (")[0].split("'")[0][:90]


# ---- JSON, Parquet and CSV ----

containers = st.fixed_dictionaries(
    {
        "form": st.sampled_from(["lines", "array", "indented", "doccano", "spans", "studio", "parquet", "csv"]),
        "words": st.sampled_from(["tokens", "words"]),
        "tags": st.sampled_from(["tags", "ner_tags", "labels"]),
        "more": st.booleans(),
        "scheme": st.sampled_from(["IOB1", "IOB2", "BIOES"]),
        "gzip": st.booleans(),
        "ends": st.sampled_from(["\n", "\r\n"]),
        "task": st.sampled_from([None, NER, OWN]),
    }
)


def outcome_of_containers(folder, form, items):
    kind = form["form"]
    rows, texts = [], []
    for words, gold in items:
        places, start = [], 0
        for word in words:
            places.append((start, start + len(word)))
            start += len(word) + 1
        text = " ".join(words)
        marked = [(places[a][0], places[b - 1][1], label) for a, b, label in spans(gold)]
        texts.append((text, [(text[a:b], label) for a, b, label in marked]))
        more = {"id": len(rows), "meta": {"a": [1]}, "pos_tags": ["NOUN"] * len(words)} if form["more"] else {}
        value = [{"start": a, "end": b, "text": text[a:b], "labels": [label]} for a, b, label in marked]
        rows.append(
            {
                "doccano": {"text": text, "label": [list(span) for span in marked]},
                "spans": {"text": text, "entities": [{"start": a, "end": b, "label": c} for a, b, c in marked]},
                "studio": {"data": {"text": text}, "annotations": [{"result": [{"value": each} for each in value]}]},
            }.get(kind, {**more, form["words"]: words, form["tags"]: in_scheme(gold, form["scheme"])})
        )
    path = folder / {"parquet": "x.parquet", "csv": "x.csv", "lines": "x.jsonl"}.get(kind, "x.json")
    if kind == "parquet":
        datasets.Dataset.from_list(rows).to_parquet(path)
    elif kind == "csv":
        buffer = io.StringIO()
        csv.writer(buffer).writerows(
            [word, tag] for words, tags in items for word, tag in zip(words, tags, strict=True)
        )
        path.write_text(buffer.getvalue(), "utf-8")
    else:
        whole = json.dumps(rows, ensure_ascii=False, indent=2 if kind == "indented" else None)
        text = "\n".join(json.dumps(row) for row in rows) if kind in ("lines", "doccano") else whole
        data = text.replace("\n", form["ends"]).encode()
        path.write_bytes(gzip.compress(data) if form["gzip"] else data)
    try:
        read = read_file(path, task=form["task"])
    except DataError as error:
        return "refused: " + cause(error, path)
    if read.format == "tokens":
        same = [(item.words, item.tags) for item in read.items] == [(list(w), t) for w, t in items]
        return "equal" if same else "different: tokens"
    if read.format != "spans" or len(read.items) != len(items):
        return f"different: {read.format}"
    for item, (text, marked) in zip(read.items, texts, strict=True):
        found = [("".join(item.words[a:b]), label) for a, b, label in spans(item.tags)]
        if "".join(item.words) != "".join(text.split()) or found != [("".join(t.split()), c) for t, c in marked]:
            return "different: spans"
    return "equal"


# ---- pairs of texts with labels ----

text = st.lists(st.sampled_from(WORDS), min_size=2, max_size=6).map(" ".join)
pairs = st.lists(st.tuples(text, text, st.sampled_from(XNLI.labels)), min_size=2, max_size=8)
tables = st.fixed_dictionaries(
    {
        "form": st.sampled_from(["tsv", "csv", "semicolons", "lines", "array", "parquet"]),
        "header": st.sampled_from(
            [None, "premise hypothesis label", "text_a text_b label", "sentence1 sentence2 gold_label"]
        ),
        "ends": st.sampled_from(["\n", "\r\n"]),
        "last": st.sampled_from(["", "\n", "\n\n"]),
        "mark": st.booleans(),
        "task": st.sampled_from([None, XNLI]),
    }
)  # fmt: skip


def outcome_of_tables(folder, table, rows):
    names = (table["header"] or "premise hypothesis label").split()
    path = folder / {"csv": "x.csv", "semicolons": "x.csv", "lines": "x.jsonl", "array": "x.json"}.get(
        table["form"], "x.tsv"
    )
    if table["form"] in ("lines", "array", "parquet"):
        named_rows = [dict(zip(names, row, strict=True)) for row in rows]
        if table["form"] == "parquet":
            datasets.Dataset.from_list(named_rows).to_parquet(path)
        else:
            lines = "\n".join(map(json.dumps, named_rows))
            path.write_text(lines if table["form"] == "lines" else json.dumps(named_rows), "utf-8")
    else:
        buffer = io.StringIO()
        listed = [*([names] if table["header"] else []), *rows]
        if table["form"] == "tsv":
            buffer.write("".join("\t".join(row) + table["ends"] for row in listed))
        else:
            delimiter = "," if table["form"] == "csv" else ";"
            csv.writer(buffer, delimiter=delimiter, lineterminator=table["ends"]).writerows(listed)
        data = buffer.getvalue() + table["last"].replace("\n", table["ends"])
        path.write_bytes((("\ufeff" if table["mark"] else "") + data).encode())
    try:
        read = read_file(path, task=table["task"])
    except DataError as error:
        return "refused: " + cause(error, path)
    got = [(item.text, item.text_pair, item.label) for item in read.items if hasattr(item, "text")]
    return "equal" if got == rows else f"different: {read.format}"


KINDS = {
    "columns": (outcome_of_columns, dialects, sentences()),
    "containers": (outcome_of_containers, containers, sentences()),
    "tables": (outcome_of_tables, tables, pairs),
}


def outcomes(kind, examples):
    """How often each outcome came, and an example of each."""
    run, dialect, content = KINDS[kind]
    datasets.disable_progress_bars()
    counts, first = Counter(), {}

    with tempfile.TemporaryDirectory() as folder:

        @settings(max_examples=examples, deadline=None, derandomize=True, database=None)
        @given(dialect, content)
        def try_one(dialect, content):
            for left in Path(folder).iterdir():
                left.unlink()
            outcome = run(Path(folder), dialect, content)
            counts[outcome] += 1
            first.setdefault(outcome, (dialect, content))

        try_one()
    return counts, first


@pytest.mark.parametrize("kind", KINDS)
def test_files_are_read_back_equal_or_refused(kind):
    counts, first = outcomes(kind, EXAMPLES)
    different = [(outcome, first[outcome]) for outcome in counts if outcome.startswith("different")]
    assert not different
    assert counts["equal"] > 0.6 * sum(counts.values()), counts


if __name__ == "__main__":
    for kind in sys.argv[2:] or KINDS:
        counts, first = outcomes(kind, int(sys.argv[1]))
        print(kind, sum(counts.values()))
        for outcome, count in counts.most_common():
            print(f"  {count:5} {outcome}")
            if outcome.startswith("different"):
                print("       ", first[outcome])
