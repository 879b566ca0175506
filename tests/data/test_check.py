"""`check_data` and `dlfa data check`: right counts, every problem with its line, one sentence if unreadable."""

import json

import pytest
from typer.testing import CliRunner

from dlfa_adapters.data.check import check_data
from dlfa_adapters.ground.errors import ConfigError, DataError
from dlfa_cli.data import data_app


def put(tmp_path, data, name="dev-en.tsv"):
    path = tmp_path / name
    path.write_bytes(data if isinstance(data, bytes) else data.encode())
    return path


def kinds(check):
    return {problem.kind: problem for problem in check.problems}


def test_counts(tmp_path):
    check = check_data(put(tmp_path, "Anna\tB-PER\nLee\tI-PER\nmet\tO\n\nRome\tB-LOC\n\n-DOCSTART-\tO\n\n"))
    assert check.to_dict() == {
        "path": str(tmp_path / "dev-en.tsv"),
        "format": "columns",
        "read": "2 columns: word, tag; IOB2; 2 types; 2 sentences (by its content)",
        "kind": "tagging",
        "sentences": 2,
        "words": 4,
        "labels": {"B-PER": 1, "I-PER": 1, "O": 1, "B-LOC": 1},
        "entities": {"PER": 1, "LOC": 1},
        "scheme": "IOB2",
        "metric": "span_f1",
        "also": {},
        "dropped": {"docstart_marker": 1},
        "problems": [],
    }


def test_a_treebank_has_labels_of_two_kinds(tmp_path):
    rows = ["1\ta\t_\tDET\t_\t_\t2\tdet\t_\t_", "2\tb\t_\tNOUN\t_\t_\t0\troot\t_\t_", ""]
    wrong = [rows[0], rows[1].replace("\t0\troot", "\t1\tobj"), ""]
    path = put(tmp_path, "\n".join([*rows, *rows, *wrong, ""]), "en.conllu")
    check = check_data(path)
    assert (check.kind, check.labels) == ("tagging", {"DET": 3, "NOUN": 3})
    assert check.to_dict()["also"] == {"parsing": {"det": 2, "root": 2}}  # what is no tree is not learned from
    assert (kinds(check)["no_tree"].line, kinds(check)["no_tree"].level) == (7, "warning")
    shown = CliRunner().invoke(data_app, ["check", str(path)]).stdout
    assert "label for parsing" in shown
    plain = put(tmp_path, "\n".join([rows[0].replace("\t2\tdet", "\t_\t_"), "", ""]), "en-words.conllu")
    assert check_data(plain).also == {}


def test_words_with_tags_in_a_csv_file_are_refused_and_tabs_are_read(tmp_path):
    path = put(tmp_path, "Anna;B-PER\nmet;O\n", "mood.csv")
    with pytest.raises(
        DataError, match="expected texts with labels in a CSV file, but there are words with tags; save"
    ):
        check_data(path)
    assert check_data(path, "text").items == 2
    assert check_data(put(tmp_path, "Anna\tB-PER\nmet\tO\n", "mood.csv")).labels  # by its content


def test_classification_counts(tmp_path):
    check = check_data(put(tmp_path, "a b\tc\tneutral\nd\te f\tneutral\ng\th\t-\n"))
    assert (check.format, check.kind, check.unit, check.items, check.words) == (
        "xnli",
        "classification",
        "examples",
        2,
        6,
    )
    assert check.labels == {"neutral": 2}
    assert check.dropped == {"no_gold_label": 1}


def test_all_errors_at_once(tmp_path):
    data = b"Rome\tB-LOC\nCaf\xe9\tO\nx\n\na\tO\tO\nb\tO\nc\t\n"
    check = check_data(put(tmp_path, data))
    assert [(p.line, p.kind) for p in check.errors] == [(2, "encoding"), (3, "columns"), (5, "columns"), (7, "tag")]
    assert check.items == 2
    assert check.words == 4
    assert check.dropped == {"bad_row": 2}
    with pytest.raises(DataError, match=r"line 2: expected UTF-8, .* \(the first of 4 errors\)"):
        check.raise_for_errors()


def test_all_conllu_errors_at_once(tmp_path):
    rows = [
        "1\ta\t_\tX\t_\t_\t9\troot\t_\t_",
        "3\tb\t_\tX\t_\t_\t0\troot\t_\t_",
        "x\tc",
        "2\td\t_\tX\t_\t_\t0\tr\t_\t_",
    ]
    check = check_data(put(tmp_path, "\n".join(rows) + "\n", "x.conllu"))
    assert [(p.line, p.kind) for p in check.errors] == [(1, "head"), (2, "id"), (3, "columns"), (4, "id")]


@pytest.mark.parametrize(
    ("text", "kind", "line", "part"),
    [
        ("a\tB-X\n\tO\n\u200b\tO\n", "empty_word", 2, "empty words, each kept"),
        ("a\tB-X\n\u200b\tO\n\ufeff\tO\n", "invisible_word", 2, ": 2 (lines 2, 3; the first is '\\u200b')"),
        ("a\tB-X\n26\u00a0000\tO\n", "blank_in_word", 2, ": 1 (lines 2"),
        ("a\tB-X\npa\ufffds\tO\n", "replacement_character", 2, "bytes lost"),
        ("a\tB-X\nÃ©n\tO\n", "mojibake", 2, "decoded as Latin-1"),
        ("a\tB-X\nb\x07\tO\n", "control_character", 2, "control characters"),
        ("a\tB-X\n\nb\tO\nc\tI-X\n", "orphan_inside", 4, ": 1 (lines 4; the first is 'c')"),
        ("a\tB-X\n\nb\tO\n\na\tB-X\n", "duplicate", 5, ": 1 (lines 5; the first is 'a')"),
        ("a\tB-X\n\nb\tO\n\na\tO\n", "conflicting_duplicate", 5, "with another label: 1"),
        ("w\tO\n" * 251, "long_sentence", 1, "of more than 250 words"),
        ("w\tI-X\nv\tO\n", "scheme", None, "tags are in IOB1; 1 of them were rewritten"),
    ],
)
def test_oddities_of_tagging_files(tmp_path, text, kind, line, part):
    check = check_data(put(tmp_path, text))
    assert kind in kinds(check), check.problems
    assert kinds(check)[kind].line == line
    assert part in kinds(check)[kind].message
    assert check.errors == []


def test_a_clean_file_has_no_problems(tmp_path):
    check = check_data(put(tmp_path, "Où\tO\nest\tO\nl'\tO\nÉlysée\tB-LOC\n?\tO\n\n山\tB-LOC\n"))
    assert check.problems == ()


def test_oddities_of_pairs(tmp_path):
    check = check_data(put(tmp_path, "a\tNS\t1\n\tb\t0\nc\td\t1\nc\td\t0\n"))
    assert check.format == "pawsx"
    found = {(p.kind, p.line) for p in check.problems}
    assert found == {("placeholder", 1), ("blank", 2), ("blank_text", 2), ("conflicting_duplicate", 4)}


def test_withheld_labels_are_a_warning(tmp_path):
    check = check_data(put(tmp_path, "Bonn\nam\n\nRhein\n"))
    assert (check.format, check.items, check.words, check.labels) == ("words", 2, 3, {})
    assert "sentences without tags, which can be tagged but not scored: 2" in kinds(check)["no_tags"].message


def run(*args):
    return CliRunner().invoke(data_app, ["check", *map(str, args)])


def test_cli_table(tmp_path):
    result = run(put(tmp_path, "Anna\tB-PER\nmet\tO\n\nx\tO\ny\tI-PER\n"))
    assert result.exit_code == 0, result.output
    for part in ("columns, tags in IOB2", "sentences  2", "words      4", "PER 2", "B-PER", "warning"):
        assert part in result.output


def test_cli_json(tmp_path):
    result = run(put(tmp_path, "[bold]\tB-PER\nmet\tO\n"), "--json")
    assert result.exit_code == 0
    report = json.loads(result.output)
    assert (report["format"], report["sentences"], report["words"]) == ("columns", 1, 2)
    assert report["labels"] == {"B-PER": 1, "O": 1}
    assert report["problems"] == []


def test_cli_does_not_read_markup_in_data(tmp_path):
    result = run(put(tmp_path, "a\t[red]\nb\t[/red]\n\nc\t[red]\n"))
    assert result.exit_code == 0
    assert "[/red]" in result.output


def test_cli_does_not_give_control_characters_to_the_terminal(tmp_path):
    result = run(put(tmp_path, "a\tB-\x1b[2J\nb\tO\n"))
    assert result.exit_code == 0
    assert "\x1b[2J" not in result.output
    assert r"B-\x1b[2J" in result.output


def test_cli_shows_labels_that_are_no_unicode(tmp_path):
    path = tmp_path / "x.jsonl"
    path.write_text('{"text": "a", "label": "\\udcff"}\n', "utf-8")
    result = run(path)
    assert result.exit_code == 0
    assert r"\udcff" in result.output


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "expected sentences or examples, but there are none"),
        (b"\n\n", "expected sentences or examples, but there are none"),
        (b"Caf\xe9\tO\n", "line 1: expected UTF-8, but got byte 0xE9"),
        (b"a\tO\nb\n", "line 2: expected 2 columns with a TAB between them, but got 1"),
        (b"index_id\tcategory\n1\tsports\n", None),
    ],
)
def test_cli_unreadable_input_is_one_sentence(tmp_path, data, message):
    result = run(put(tmp_path, data), *(["--format", "sib200"] if message is None else []))
    assert isinstance(result.exception, DataError)
    text = str(result.exception)
    assert (message or "expected a header that names the columns") in text
    assert "\n" not in text


def test_cli_json_is_whole_even_with_errors(tmp_path):
    result = run(put(tmp_path, "a\tO\nb\n"), "--json")
    assert isinstance(result.exception, DataError)
    assert [p["line"] for p in json.loads(result.output)["problems"]] == [2]


def test_cli_folder_missing_file_and_format(tmp_path):
    assert "expected a file, but this is a folder" in str(run(tmp_path).exception)
    assert "there is none of this name" in str(run(tmp_path / "none").exception)
    assert isinstance(run(put(tmp_path, "a\tO\n"), "-f", "csv").exception, ConfigError)


@pytest.mark.parametrize("where", [1, 5, 12])
@pytest.mark.parametrize("name", ["my.conll", "my.txt"])
def test_one_damaged_row_does_not_hide_the_format(tmp_path, where, name):
    rows = ["Anna B-PER", "met O", "Bob B-PER", "", "Rome B-LOC", "fell O", ""] * 4
    rows.insert(where, "lonely")
    path = tmp_path / name
    path.write_text("\n".join(rows) + "\n", "utf-8")
    result = check_data(path)
    assert result.format == "columns"
    assert [(p.line, p.kind) for p in result.problems if p.line == where + 1], result.problems
    assert any("lonely" in p.message for p in result.problems)


def test_a_misspelt_tag_is_named_and_the_others_are_still_entities(tmp_path):
    rows = ["Anna\tB-PER", "met\tO", "Bob\tB_PER", "", "Rome\tB-LOC", "Bern\tB-LOC", "Lee\tB-PER", "Oslo\tB-LOC", ""]
    path = tmp_path / "my.tsv"
    path.write_text("\n".join(rows), "utf-8")
    result = check_data(path)
    assert (result.format, result.scheme) == ("columns", "IOB2")
    assert dict(result.entities) == {"PER": 2, "LOC": 3}
    assert any("B_PER" in p.message and p.line == 3 for p in result.problems), result.problems


def test_many_errors_with_one_cause_are_grouped_and_counted(tmp_path):
    rows = ["Anna\tB-PER\n", "met\tO\n", "Bern\tB-LOC\n"] * 400 + ["lonely\n"] * 300 + [f"a{i}\t\n" for i in range(5)]
    check = check_data(put(tmp_path, "".join(rows)))
    assert [(p.line, p.kind, p.count) for p in check.errors if p.kind == "columns"] == [
        (1201, "columns", 1), (1202, "columns", 1), (1203, "columns", 1), (1204, "columns", 297)
    ]  # fmt: skip
    assert "297 more lines with this cause, up to line 1500; the next: expected 2 columns" in check.errors[3].message
    assert len([p for p in check.errors if p.kind == "tag"]) == 5
    with pytest.raises(DataError, match=r"line 1201: expected 2 columns .*\(the first of 305 errors\)"):
        check.raise_for_errors()
