"""What the library knows of each task: labels, languages, the paper's layer and its scaling to other depths."""

from dataclasses import replace

import pytest

from dlfa_adapters.tasks import TASKS, Task, classification_task, get_task

XTREME = ["ner", "pos", "xnli", "pawsx"]


def test_every_task_is_found_by_its_name():
    assert set(XTREME) < set(TASKS)
    for name, task in TASKS.items():
        assert get_task(name) is task
        assert task.name == name


@pytest.mark.parametrize("name", ["NER", "pan-x", "", "paws-x"])
def test_names_are_exact(name):
    assert get_task(name) is None


def test_ner_labels_are_iob2_of_three_types():
    assert get_task("ner").labels == ("O", "B-PER", "I-PER", "B-ORG", "I-ORG", "B-LOC", "I-LOC")


def test_pos_labels_are_the_seventeen_universal_tags():
    """https://universaldependencies.org/u/pos/: six open classes, eight closed ones, three others."""
    open_class, closed = "ADJ ADV INTJ NOUN PROPN VERB", "ADP AUX CCONJ DET NUM PART PRON SCONJ"
    assert set(get_task("pos").labels) == set(f"{open_class} {closed} PUNCT SYM X".split())
    assert len(get_task("pos").labels) == 17


def test_labels_of_pairs():
    assert get_task("xnli").labels == ("entailment", "neutral", "contradiction")
    assert get_task("pawsx").labels == ("0", "1")


def test_labels_of_single_texts():
    """Seven topics (SIB-200, Table 1), four of MLDoc, three sentiments (XLM-T), five stars; none is in the paper."""
    topics = "science/technology travel politics sports health entertainment geography".split()
    assert set(get_task("topic").labels) == set(topics)
    assert get_task("sentiment").labels == ("negative", "neutral", "positive")
    assert get_task("mldoc").labels == ("CCAT", "ECAT", "GCAT", "MCAT")
    assert get_task("marc").labels == ("1", "2", "3", "4", "5")
    for task in map(get_task, ("topic", "mldoc", "sentiment", "marc")):
        assert (task.kind, task.pair, task.fuse_layer_of_12, task.languages) == ("classification", False, None, ())


@pytest.mark.parametrize("name", TASKS)
def test_label_ids_are_positions(name):
    task = get_task(name)
    assert len(set(task.labels)) == len(task.labels)
    assert [task.id2label[i] for i in range(len(task.labels))] == list(task.labels)


@pytest.mark.parametrize(
    ("name", "kind", "metric", "pair"),
    [
        ("ner", "tagging", "span_f1", False),
        ("pos", "tagging", "accuracy", False),
        ("xnli", "classification", "accuracy", True),
        ("pawsx", "classification", "accuracy", True),
    ],
)
def test_kind_and_metric(name, kind, metric, pair):
    task = get_task(name)
    assert (task.kind, task.metric, task.pair) == (kind, metric, pair)


@pytest.mark.parametrize(("name", "count"), [("ner", 40), ("pos", 33), ("xnli", 15), ("pawsx", 7)])
def test_xtreme_languages(name, count):
    languages = get_task(name).languages
    assert len(languages) == len(set(languages)) == count
    assert list(languages) == sorted(languages)
    assert "en" in languages
    assert set(languages) <= set(get_task("ner").languages)  # PAN-X has every language of XTREME


@pytest.mark.parametrize(("name", "layer"), [("ner", 8), ("pos", 10), ("xnli", 11), ("pawsx", 6)])
def test_the_papers_layer(name, layer):
    """Table II of the paper, mBERT."""
    assert get_task(name).fuse_layer_of_12 == layer
    assert get_task(name).default_fuse_layer(12) == layer


def test_the_lowest_layer_of_a_task_is_not_the_default_of_none():
    task = classification_task("mood", ["glad", "sad"])
    assert replace(task, fuse_layer_of_12=0).default_fuse_layer(12) == 1
    assert task.default_fuse_layer(12) == 8


@pytest.mark.parametrize(
    ("name", "by_depth"),
    [  # k L / 12, rounded, within 1..L-1
        ("ner", {1: None, 2: 1, 4: 3, 6: 4, 12: 8, 24: 16}),  # 1.33, 2.67, 4, 8, 16
        ("pos", {1: None, 2: 1, 4: 3, 6: 5, 12: 10, 24: 20}),  # 1.67 -> 2 -> 1, 3.33, 5, 10, 20
        ("xnli", {1: None, 2: 1, 4: 3, 6: 5, 12: 11, 24: 22}),  # 1.83 -> 2 -> 1, 3.67 -> 4 -> 3, 5.5 -> 6 -> 5, 11, 22
        ("pawsx", {1: None, 2: 1, 4: 2, 6: 3, 12: 6, 24: 12}),  # 1, 2, 3, 6, 12
    ],
)
def test_the_default_layer_at_other_depths(name, by_depth):
    assert {depth: get_task(name).default_fuse_layer(depth) for depth in by_depth} == by_depth


def test_without_a_layer_from_the_paper_it_is_two_thirds():
    task = Task(name="other", kind="tagging", labels=("a", "b"), metric="accuracy")
    assert {depth: task.default_fuse_layer(depth) for depth in (1, 2, 3, 6, 12, 24)} == {
        1: None, 2: 1, 3: 2, 6: 4, 12: 8, 24: 16,
    }  # fmt: skip
