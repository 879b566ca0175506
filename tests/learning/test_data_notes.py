"""What training says of its data before the first step."""

import pytest

from dlfa_adapters.ground.errors import DataError
from dlfa_adapters.learning.dataset import load_dev, load_split

SENTENCE = "Anna\tB-PER\nmet\tO\n\nBob\tB-PER\n\n"


@pytest.fixture
def notes(start, tmp_path):
    """notes(train, dev): what is said of two files."""

    def run(train, dev, task="mine", names=("train-en.tsv", "dev-en.tsv")):
        for name, text in zip(names, (train, dev), strict=True):
            (tmp_path / name).write_text(text, "utf-8")
        files = [str(tmp_path / name) for name in names]
        _, plan = start(task, tmp_path / "run", "features", fuse_layer=2, train_data=files[0], dev_data=files[1],
                        language=None)  # fmt: skip
        return plan.notes

    return run


def test_good_data_get_no_remark(notes):
    assert notes(SENTENCE, "Rome\tO\n\nBob\tB-PER\nmet\tO\n\n") == []


def test_a_label_of_dev_that_is_not_in_train(notes):
    [note] = notes(SENTENCE, "Rome\tB-LOC\n\nAcme\tB-PER\n\n")
    assert note.endswith("counted as missed: B-LOC (1).")


def test_dev_in_another_language(notes):
    [note] = notes(SENTENCE, "Rom\tB-PER\n\nx\tO\n", names=("train-en.tsv", "dev-de.tsv"))
    assert note.startswith("The dev data are in de, the training data in en:")


def test_dev_in_another_spelling_of_the_language(notes):
    assert notes(SENTENCE, "Rom\tB-PER\n\nx\tO\n", names=("train-en.tsv", "dev-eng_Latn.tsv")) == []


def test_dev_items_that_are_in_train(notes):
    [note] = notes(SENTENCE, "Anna\tB-PER\nmet\tO\n\nRome\tO\n")
    assert note.startswith("1 of 2 dev items are also in the training data")


@pytest.mark.parametrize(("task", "again"), [("mood", ("in York", "glad")), ("xnli", ("Rome", "in York", "neutral"))])
def test_dev_texts_that_are_in_train(task, again, start, items, tmp_path):
    new = ("Rome", *again[1:]) if task == "mood" else ("Rome", "Anna", "neutral")
    train = [item for item in items[task] if item[:-1] != new[:-1]] + [again]
    _, plan = start(task, tmp_path / "run", "features", fuse_layer=2, train_data=train, dev_data=[again, new, new])
    assert plan.notes[0].startswith("1 of 3 dev items are also in the training data")
    _, plan = start(task, tmp_path / "run", "features", fuse_layer=2, train_data=train, dev_data=[again, again, new])
    assert plan.notes[0].startswith("2 of 3 dev items are also in the training data")


def test_tags_without_b_and_i(notes):
    [note] = notes("Anna\tPER\nmet\tO\n\nRome\tLOC\n\n", "Bob\tPER\n\nin\tO\n\n")
    assert note.startswith("The tags LOC, PER have no B- or I- before them")
    assert "write B-LOC" in note


def test_parts_of_speech_are_no_entities(notes):
    assert notes("Anna\tPROPN\nmet\tVERB\n\n", "Bob\tPROPN\n\n") == []


def test_dev_without_entities(notes):
    [note] = notes(SENTENCE, "nobody\tO\n\ncame\tO\n\n")
    assert note.startswith("The dev data have no entities")


def test_training_takes_the_source_language_alone(tmp_path):
    for split in ("train", "dev"):
        for language in ("en", "de", "sw"):
            (tmp_path / f"{split}-{language}.tsv").write_text(f"{language}\tB-PER\n\n", "utf-8")
    for asked, there in ((None, "en"), ("sw", "sw")):
        for split in ("train", "dev"):
            rows = load_split(tmp_path, "ner", split, asked).dataset
            assert (list(rows["language"]), list(rows["words"])) == ([there], [[there]])
        for named in (None, tmp_path):
            rows = load_dev(named, tmp_path, "ner", asked).dataset
            assert (list(rows["language"]), list(rows["words"])) == ([there], [[there]])


def test_dev_data_of_another_kind_are_refused(notes):
    with pytest.raises(DataError, match="like the training data, words with tags, but got texts with labels"):
        notes(SENTENCE, "It came late.\tsad\nThank you.\tglad\nWell done.\tglad\nToo dear.\tsad\n")


def test_an_earlier_run_is_said_to_be_replaced(notes, tmp_path):
    dev = "Rome\tO\n\nBob\tB-PER\nmet\tO\n\n"
    assert notes(SENTENCE, dev) == []
    assert notes(SENTENCE, dev) == [
        f"{tmp_path / 'run'} holds an earlier run, which this one replaces when it is done."
    ]
