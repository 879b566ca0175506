"""Any bytes: no crash but DataError. Any Unicode: what a writer wrote, its reader gives back, to the last word."""

import string

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dlfa_adapters.data.check import check_data
from dlfa_adapters.data.readers import (
    READERS,
    Sentence,
    Tree,
    read_columns,
    read_conllu,
    read_file,
    read_wikiann,
    read_words,
    write_columns,
    write_conllu,
    write_wikiann,
    write_words,
)
from dlfa_adapters.data.readers.iob import converted_to_iob2, detect_scheme, orphans, repair
from dlfa_adapters.ground.errors import ConfigError, DataError

relaxed = settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])

# Every character that may stand in a field: all of Unicode but TAB, LF and surrogates.
field = st.text(st.characters(blacklist_categories=("Cs",), blacklist_characters="\t\n"), max_size=8)
tag = st.sampled_from(["O", "B-PER", "I-PER", "B-LOC", "I-LOC", "NOUN", "B-x-y", "日本"])
word = field.filter(lambda text: not text.startswith("-DOCSTART-"))
sentences = st.lists(st.lists(st.tuples(word, tag), min_size=1, max_size=6), min_size=1, max_size=5)


def as_items(rows, language=None):
    return [
        Sentence([word for word, _ in row], [tag for _, tag in row], str(i), language=language)
        for i, row in enumerate(rows)
    ]


def words_of(items):
    return [item.words for item in items]


@relaxed
@given(sentences)
def test_columns_come_back(tmp_path, rows):
    items = as_items(rows)
    write_columns(tmp_path / "x.tsv", items)
    # "O" stands for a scheme here, so that tags are compared as they were written.
    read = read_columns(tmp_path / "x.tsv", scheme="IOB2")
    assert words_of(read.items) == words_of(items)
    assert [item.tags for item in read.items] == [item.tags for item in items]
    assert not read.dropped
    first = (tmp_path / "x.tsv").read_bytes()
    write_columns(tmp_path / "y.tsv", read.items)
    assert (tmp_path / "y.tsv").read_bytes() == first


@relaxed
@given(st.lists(st.lists(st.tuples(word, field, tag), min_size=1, max_size=5), min_size=1, max_size=4))
def test_all_columns_come_back(tmp_path, rows):
    path = tmp_path / "x.tsv"
    path.write_bytes(("\n\n".join("\n".join("\t".join(row) for row in block) for block in rows) + "\n\n").encode())
    read = read_columns(path, word_column=0, tag_column=2)
    assert words_of(read.items) == [[row[0] for row in block] for block in rows]
    write_columns(tmp_path / "y.tsv", read.items)
    assert (tmp_path / "y.tsv").read_bytes() == path.read_bytes()


@relaxed
@given(sentences, st.sampled_from(["en", "zh-min-nan", "simple", "be-x-old"]))
def test_wikiann_comes_back(tmp_path, rows, language):
    items = as_items(rows, language)
    write_wikiann(tmp_path / "x", items)
    read = read_wikiann(tmp_path / "x", prefix=True, scheme="IOB2")
    assert words_of(read.items) == words_of(items)
    assert {item.language for item in read.items} == {language}
    write_wikiann(tmp_path / "y", read.items)
    assert (tmp_path / "y").read_bytes() == (tmp_path / "x").read_bytes()


@relaxed
@given(st.lists(st.lists(word.filter(lambda w: w.strip(" ") and not w.endswith("\r")), min_size=1), min_size=1))
def test_words_come_back(tmp_path, rows):
    items = [Sentence(row, None, str(i)) for i, row in enumerate(rows)]
    write_words(tmp_path / "x", items)
    assert words_of(read_words(tmp_path / "x").items) == rows


@st.composite
def trees(draw):
    """Rows of a tree: words with heads in range, ranges before words, empty nodes after them, comments."""
    count = draw(st.integers(1, 5))
    rows = []
    for number in range(1, count + 1):
        rest = draw(st.lists(field.filter(lambda text: not text.endswith("\r")), min_size=8, max_size=8))
        if number < count and draw(st.booleans()):
            rows.append([f"{number}-{number + 1}", rest[0], *["_"] * 8])
        head = draw(st.integers(0, count))
        rows.append([str(number), rest[0], rest[1], rest[2], rest[3], rest[4], str(head), rest[5], rest[6], rest[7]])
        if draw(st.booleans()):
            rows.append([f"{number}.1", rest[1], *["_"] * 8])
    comments = draw(st.lists(field.map(lambda text: "#" + text).filter(lambda c: not c.endswith("\r")), max_size=3))
    return comments, rows


@relaxed
@given(st.lists(trees(), min_size=1, max_size=4))
def test_conllu_comes_back(tmp_path, drawn):
    lines = []
    for comments, rows in drawn:
        lines += [*comments, *("\t".join(row) for row in rows), ""]
    path = tmp_path / "x.conllu"
    path.write_bytes(("\n".join(lines) + "\n").encode())
    read = read_conllu(path)
    assert words_of(read.items) == [[row[1] for row in rows if row[0].isdigit()] for _, rows in drawn]
    assert all(isinstance(item, Tree) and len(item.heads()) == len(item.words) for item in read.items)
    write_conllu(tmp_path / "y.conllu", read.items)
    assert (tmp_path / "y.conllu").read_bytes() == path.read_bytes()


# Text that looks like data: many TABs, line ends, quotes, digits and tags, and any other character.
texty = st.text(
    st.one_of(
        st.sampled_from("\t\t\n\n\r \"'#-_.:0123{}[],OB" + string.ascii_letters[:6]),
        st.characters(blacklist_categories=("Cs",)),
    ),
    max_size=120,
)


@pytest.mark.parametrize("format", sorted(READERS))
@relaxed
@given(st.one_of(st.binary(max_size=60), texty.map(str.encode)))
def test_no_reader_crashes_on_any_bytes(tmp_path, format, data):
    path = tmp_path / "x.tsv"
    path.write_bytes(data)
    for strict in (True, False):
        try:
            read = READERS[format](path, strict=strict)
        except DataError:
            continue
        else:
            for item in read.items:
                if isinstance(item, Sentence):
                    assert item.tags is None or len(item.tags) == len(item.words)
                    assert len(item.lines) == len(item.words)


@relaxed
@given(st.one_of(st.binary(max_size=60), texty.map(str.encode)), st.sampled_from(["x.tsv", "x.conllu", "x.jsonl", "x"]))
def test_check_and_detection_survive_any_bytes(tmp_path, data, name):
    path = tmp_path / name
    path.write_bytes(data)
    try:
        check = check_data(path)
    except DataError:
        with pytest.raises((DataError, ConfigError)):
            read_file(path)
    else:
        assert check.items or check.errors
        assert all(problem.line is None or problem.line > 0 for problem in check.problems)


iob = st.lists(st.sampled_from(["O", "B-A", "I-A", "B-B", "I-B"]), max_size=12)


def spans(tags):
    """Entities by conlleval's reading, which holds for IOB1 and IOB2 alike."""
    found, start = [], None
    for index, tag in enumerate([*tags, "O"]):
        kind = tag[2:]
        if start is not None and (tag[0] == "B" or kind != tags[start][2:]):
            found.append((start, index, tags[start][2:]))
            start = None
        if kind and start is None:
            start = index
    return found


@relaxed
@given(iob)
def test_conversion_keeps_every_entity(tags):
    assert spans(converted_to_iob2(tags, "IOB1")) == spans(tags)
    fixed, changed = repair(tags)
    assert spans(fixed) == spans(tags)
    assert orphans(fixed) == []
    assert changed == len(orphans(tags))


@relaxed
@given(st.lists(iob, max_size=4))
def test_bilou_and_iob1_are_inverted(rows):
    gold = [repair(tags)[0] for tags in rows]
    assert [converted_to_iob2(as_bilou(tags), "BILOU") for tags in gold] == gold
    iob1 = [as_iob1(tags) for tags in gold]
    assert [converted_to_iob2(tags, "IOB1") for tags in iob1] == gold
    scheme = detect_scheme(iob1)
    assert scheme in (("IOB1", None) if any(spans(tags) for tags in gold) else (None,))


def as_bilou(tags):
    out = list(tags)
    for start, end, kind in spans(tags):
        out[start:end] = (
            [f"U-{kind}"] if end - start == 1 else [f"B-{kind}", *[f"I-{kind}"] * (end - start - 2), f"L-{kind}"]
        )
    return out


def as_iob1(tags):
    out = list(tags)
    for start, _, kind in spans(tags):
        touches = start > 0 and tags[start - 1][2:] == kind
        out[start] = f"{'B' if touches else 'I'}-{kind}"
    return out
