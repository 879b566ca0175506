"""What a file is taken for: the named format and columns, then the task, then the content, then the name."""

import pytest

from dlfa_adapters.data.check import check_data
from dlfa_adapters.data.readers import read_file
from dlfa_adapters.data.sources import load_data, load_source
from dlfa_adapters.ground.errors import ConfigError, DataError


@pytest.fixture
def put(tmp_path):
    def write(text, name="train-en.tsv"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    return write


def tagged(read):
    return [list(zip(item.words, item.tags, strict=True)) for item in read.items]


def test_a_hash_begins_a_word_in_columns_with_blanks(put):
    text = (
        "-DOCSTART- -X- O\n#Rome -X- _ B-LOC\nis -X- _ O\nlovely -X- _ O\n\nAnna -X- _ B-PER\nagrees -X- _ O\n\n"
        "# -X- _ O\n1 -X- _ O\nfan -X- _ O\n\n#Bern -X- _ B-LOC\n\n"
    )
    check = check_data(put(text))
    assert (check.items, check.words, check.entities) == (4, 9, {"LOC": 2, "PER": 1})
    assert check.dropped == {"docstart_marker": 1}


def test_comments_in_columns_with_blanks_are_counted(put):
    text = "# id = 1\n#begin document (a); part 000\nRome NNP B-LOC\n# note on it\nis VBZ O\n#damaged\n"
    check = check_data(put(text))
    assert check.words == 2
    assert check.dropped == {"comment_line": 3, "bad_row": 1}  # "#damaged" may have been a word


def test_carriage_returns_alone_end_lines(put):
    read = read_file(put("Anna\tB-PER\rmet\tO\rBob\tB-PER\r\rRome\tB-LOC\r"))
    assert tagged(read) == [[("Anna", "B-PER"), ("met", "O"), ("Bob", "B-PER")], [("Rome", "B-LOC")]]
    assert [problem.kind for problem in read.problems] == ["cr_line_ends"]
    assert tagged(read_file(put("Anna\tB-PER\rmet\tO\r\n"))) == [[("Anna", "B-PER"), ("met", "O")]]
    kept = read_file(put("a\rb\tB-X\nc\tO\n"))  # inside a word of a file with LF it is a character like any other
    assert kept.items[0].words == ["a\rb", "c"]


@pytest.mark.parametrize("blank", [" ", "\u00a0", "\u2009", " \u00a0"])
def test_blanks_beside_tags_are_no_part_of_them(put, blank):
    text = f"Anna\tB-PER{blank}\nmet\tO{blank}\nBob\tB-PER\n\nNew\t{blank}B-LOC\nYork\tI-LOC{blank}\n\n"
    check = check_data(put(text))
    assert check.entities == {"PER": 2, "LOC": 1}
    assert set(check.labels) == {"O", "B-PER", "B-LOC", "I-LOC"}
    (problem,) = check.problems
    assert (problem.kind, problem.line) == ("blank_beside_tag", 1)
    assert "4 (lines 1, 2, 5, 6;" in problem.message


@pytest.mark.parametrize(
    ("text", "layout"),
    [
        ("O\tany\nB-Rating\ttop\nI-Rating\trated\n", "2 columns: tag, word"),
        ("O any\nB-Rating top\nI-Rating rated\n", "2 columns: tag, word"),
        ("0\tO\tany\n1\tB-Rating\ttop\n2\tI-Rating\trated\n", "3 columns: number, tag, word"),
        ("O\tDT\tany\nB-Rating\tJJ\ttop\nI-Rating\tJJ\trated\n", "3 columns: tag, -, word"),
    ],
)
def test_the_tag_may_stand_first(put, text, layout):
    read = read_file(put(text))
    assert tagged(read) == [[("any", "O"), ("top", "B-Rating"), ("rated", "I-Rating")]]
    assert read.layout == layout


def test_words_that_look_like_tags_are_words_where_all_else_is_o(put):
    read = read_file(put("1/0\tO\n\nB-52\tO\n"), format="columns")
    assert [(item.words, item.tags) for item in read.items] == [(["1/0"], ["O"]), (["B-52"], ["O"])]


@pytest.mark.parametrize("end", ["\t", ""])
def test_comments_and_outer_entities_of_germeval(put, end):
    text = f"#\thttp://x\t[2010-07-04]{end}\n1\tAnna\tB-PER\tO\n2\tlebt\tO\tO\n3\tin\tO\tO\n4\tRom\tB-LOC\tO\n"
    check = check_data(put(text))
    assert (check.words, check.entities, check.dropped) == (4, {"PER": 1, "LOC": 1}, {"comment_line": 1})
    assert check.errors == []


def test_of_two_columns_with_tags_the_one_with_four_times_as_many_counts(put):
    def columns(most):
        rows = [f"a{i}\tB-PER\t{'O' if i else 'B-LOC'}\n" for i in range(most)]
        return put("".join(rows))

    assert read_file(columns(4)).layout == "3 columns: word, tag, -"
    with pytest.raises(DataError, match="2 columns hold tags; name the right one with --tag-column"):
        read_file(columns(3))


def test_numbers_behind_the_word_are_not_those_of_the_rows(put):
    text = "Anna\t2\tB-PER\n#\t0\tO\nBern\t1\tB-LOC\n\n"
    read = read_file(put(text))
    assert read.layout == "3 columns: word, -, tag"
    assert tagged(read) == [[("Anna", "B-PER"), ("#", "O"), ("Bern", "B-LOC")]]


@pytest.mark.parametrize(
    ("labels", "format"),
    [
        ("xyxyxy", "labelled"),
        ("xyzxyz", "labelled"),
        ("xyzvxy", "columns"),
        ("------", "labelled"),
        ("abcdef", "columns"),
    ],
)
def test_three_columns_of_words_are_labelled_where_each_label_stands_twice(put, labels, format):
    text = "".join(f"one{i}\tother{i}\t{label}\n" for i, label in enumerate(labels))
    assert read_file(put(text)).format == format


def test_a_comment_of_as_many_columns_as_the_rows(put):
    text = "#\thttp://x\t[2010]\nAnna\tB-PER\t_\n#\tO\t_\n\n#\tO\t_\n#1\tO\t_\n"
    read = read_file(put(text))
    assert [item.words for item in read.items] == [["Anna", "#"], ["#", "#1"]]
    assert read.dropped == {"comment_line": 1}


HIPE = (
    "TOKEN\tNE-COARSE-LIT\tNE-COARSE-METO\tNE-FINE-LIT\tMISC\n"
    "# hipe2022:document_id = a\n# hipe2022:date = 1898\n"
    "Ende\tO\tO\tO\t_\nBern\tB-loc\tB-org\tB-loc.adm\tNoSpaceAfter\n# hipe2022:document_id = b\n.\tO\tO\tO\t_\n"
)


def test_header_and_comments_of_hipe_are_no_words_and_its_column_is_chosen(put):
    path = put(HIPE)
    with pytest.raises(
        DataError, match=r"3 columns hold tags; name the right one with --tag-column .*: NE-COARSE-LIT,"
    ):
        read_file(path)
    for column in ("NE-COARSE-LIT", "ne-coarse-lit", 1, "1", -4):
        read = read_file(path, tag_column=column)
        assert tagged(read) == [[("Ende", "O"), ("Bern", "B-loc"), (".", "O")]]
        assert read.dropped == {"header_row": 1, "comment_line": 3}
    assert read_file(path, tag_column="NE-FINE-LIT").items[0].tags[1] == "B-loc.adm"
    assert "word (TOKEN), -, tag (NE-COARSE-METO), -, - (with a header row)" in str(read_file(path, tag_column=2))
    with pytest.raises(
        DataError, match="expected tag_column among the columns, but got 'NE', and they are named TOKEN"
    ):
        read_file(path, tag_column="NE")


@pytest.mark.parametrize("header", ["word\ttag", "TOKEN\tNER", "Text\tLabel", "#form\tner_tags"])
def test_a_header_row_is_no_word(put, header):
    text = f"{header}\nAnna\tB-PER\nmet\tO\nBob\tB-PER\n\nRome\tB-LOC\n.\tO\n\n"
    check = check_data(put(text))
    assert (check.words, check.entities, check.dropped) == (5, {"PER": 2, "LOC": 1}, {"header_row": 1})
    joined = check_data(put(text + text))
    assert (joined.words, joined.dropped) == (10, {"header_row": 2})


def test_a_column_of_the_header_is_the_word_wherever_it_stands(put):
    read = read_file(put("tag\tlemma\tword\nB-X\ta\tA\nO\tb\tB\n\n"))
    assert tagged(read) == [[("A", "B-X"), ("B", "O")]]


def test_a_byte_order_mark_inside_is_part_of_no_word(put):
    text = "\ufeffAnna\tB-PER\n\n\ufeff-DOCSTART-\tO\n\n\ufeffRome\tB-LOC\nx\tO\n\ufeff\tO\n"
    read = read_file(put(text))
    assert tagged(read) == [[("Anna", "B-PER")], [("Rome", "B-LOC"), ("x", "O"), ("\ufeff", "O")]]
    assert read.dropped == {"docstart_marker": 1}
    assert [(p.kind, p.line, p.message[:13]) for p in read.problems] == [("byte_order_mark", 3, "2 lines begin")]


def test_few_and_many_labels_are_labels(put):
    few = read_file(put("I love it\tpositive\nbad\tnegative\nok\tneutral\ngood\tpositive\nawful\tnegative\n"))
    assert (few.format, [item.label for item in few.items][:2]) == ("labelled", ["positive", "negative"])
    rows = "".join(f"how do I reset number {i}\tintent{i % 3000}\n" for i in range(6000))
    many = read_file(put(rows))
    assert many.format == "labelled"
    assert len({item.label for item in many.items}) == 3000


def test_two_readings_that_are_about_as_likely_are_asked_about(put):
    rows = "".join(f"source{i % 6}\ttarget{i}\n" for i in range(10))
    path = put(rows, "en-de.tsv")
    with pytest.raises(DataError, match=r"the first repeats a little: .* --format labelled or --format pairs"):
        read_file(path)
    assert read_file(path, "pairs").items[0].text == "source0"
    assert load_data(path, task="topic").num_rows == 10  # the task decides


@pytest.mark.parametrize("end", ["", "\n", "\n\n\n"])
def test_blank_lines_around_pairs_change_nothing(put, end):
    text = f"{end}a b c\td e f\tneutral\nx y z\tq r\tentailment\n{end}"
    for task in (None, "xnli"):
        data = load_data(put(text), task=task, split="train")
        assert data["text"][:] == ["a b c", "x y z"]
        assert data["label"][:] == ["neutral", "entailment"]
    paws = load_data(put(f"a b\tc d\t0\ne f\tg h\t1\n{end}"), task="pawsx", split="train")
    assert paws["label"][:] == ["0", "1"]


def test_the_named_task_decides_over_shape(put):
    odd = put("a\tb\tmaybe\nc\td\tperhaps\n\ne\tf\tmaybe\n")  # neither its labels nor its shape speak for pairs
    assert load_source(odd, task="xnli", split="dev").kind == "classification"
    assert load_source(odd, split="dev").kind == "tagging"


def test_a_task_never_reads_the_other_kind(put):
    nli = put("a b c\td e f\tneutral\nx y z\tq r\tentailment\n\n", "nli-en.tsv")
    with pytest.raises(DataError, match="data for ner, a tagging task, but this is classification data, format xnli"):
        load_data(nli, task="ner")
    names = put("Anna\tB-PER\nmet\tO\n\nBob\tB-PER\n")
    with pytest.raises(DataError, match="data for xnli, a classification task, but this is tagging data, format col"):
        load_data(names, task="xnli")
    with pytest.raises(DataError, match="expected data for words with tags, whose columns are named, but this is cl"):
        read_file(nli, tag_column=2)
    words = put("von\tof\nzu\tto\nim\tin\n")
    with pytest.raises(DataError, match="data for pos, a tagging task, but this is classification data, format pairs"):
        load_data(words, task="pos")


def test_the_labels_of_the_task_choose_the_column(put):
    path = put("Anna\tPROPN\tB-PER\nmet\tVERB\tO\n\nBob\tPROPN\tB-PER\n")
    assert load_data(path, task="ner")["tags"][0] == ["B-PER", "O"]
    assert load_data(path, task="pos")["tags"][0] == ["PROPN", "VERB"]
    assert load_data(path, tag_column=1)["tags"][0] == ["PROPN", "VERB"]


@pytest.mark.parametrize("name", ["test.conllu", "test.conllu.tsv"])
def test_the_content_wins_over_the_name(put, name):
    text = "".join(f"0\tAnna{i}\tB-PER\n1\tmet\tO\n\n" for i in range(40))
    check = check_data(put(text, name))
    assert (check.format, check.items, check.words, check.errors) == ("columns", 40, 80, [])
    read = read_file(put(text, name))
    assert str(read).startswith("3 columns: number, word, tag; IOB2; 1 type; 40 sentences (by its content")
    assert ("the name says CoNLL-U, but the rows have 3 columns" in str(read)) == (name == "test.conllu")


def test_one_line_for_all_files_that_were_taken_for_the_same(put, tmp_path):
    for language in ("de", "en", "sw"):
        put("1\tAnna\tB-PER\n2\tmet\tO\n\n", f"test-{language}.tsv")
    (line,) = load_source(tmp_path, task="ner").taken
    assert line.startswith(
        f"{tmp_path / 'test-de.tsv'} and 2 more like it, 3 items in all: 3 columns: number, word, tag"
    )


def test_options_that_nothing_comes_of_are_refused(put):
    path = put("Anna\tB-PER\nmet\tO\n\n")
    with pytest.raises(ConfigError, match="the format xnli has no option tag_column"):
        load_data(path, format="xnli", tag_column=1)
    for source in ("samples:ner", [(["a"], ["O"])]):
        with pytest.raises(ConfigError, match="tag_column says how files are read, but there is no file"):
            load_data(source, task="ner", tag_column=1)
    with pytest.raises(DataError, match="to be two columns, but both are 1"):
        load_data(path, word_column=1, tag_column=1)
