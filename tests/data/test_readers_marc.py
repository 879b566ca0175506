"""MARC: reviews with stars, as the corpus is distributed, in CSV, Parquet and Python, and as MTEB has them."""

import json

import datasets
import pytest

from dlfa_adapters.data.layout import find_files, language_and_split
from dlfa_adapters.data.readers import read_file
from dlfa_adapters.data.sources import load_data, load_source
from dlfa_adapters.ground.errors import DataError
from dlfa_adapters.tasks import MARC

ROWS = [
    {"review_id": "de_1", "product_id": "p1", "reviewer_id": "r1", "stars": "1", "review_body": "Kaputt, leider.",
     "review_title": "Schade", "language": "de", "product_category": "home"},
    {"review_id": "de_2", "product_id": "p2", "reviewer_id": "r2", "stars": "5", "review_body": 'Ein "Traum"!',
     "review_title": "", "language": "de", "product_category": "books"},
]  # fmt: skip
READ = [("de_1", "1", "Schade\n\nKaputt, leider.", None), ("de_2", "5", 'Ein "Traum"!', None)]


def items_of(path):
    read = read_file(path, task=MARC)
    assert read.format == "labelled"
    assert read.problems == []
    assert {item.language for item in read.items} == {"de"}
    return [(item.id, item.label, item.text, item.text_pair) for item in read.items]


@pytest.mark.parametrize("stars", [str, int, float])
def test_json_lines_and_parquet(tmp_path, stars):
    """The corpus writes stars as text, its form on the hub as numbers."""
    rows = [{**row, "stars": stars(row["stars"])} for row in ROWS]
    path = tmp_path / "dataset_de_train.json"
    path.write_text("\n".join(json.dumps(row, ensure_ascii=False) for row in rows) + "\n", "utf-8")
    assert items_of(path) == READ
    datasets.Dataset.from_list(rows).to_parquet(tmp_path / "x.parquet")
    assert items_of(tmp_path / "x.parquet") == READ
    data = load_data(datasets.Dataset.from_list(rows), task="marc")
    assert list(zip(data["id"], data["label"], data["text"], data["text_pair"], strict=True)) == READ


def test_csv_with_a_column_of_numbers_before_it(tmp_path):
    names = list(ROWS[0])
    lines = [",".join(["", *names])] + [
        ",".join([str(i), *('"' + row[name].replace('"', '""') + '"' for name in names)]) for i, row in enumerate(ROWS)
    ]
    (tmp_path / "train.csv").write_text("\n".join(lines) + "\n", "utf-8")
    assert items_of(tmp_path / "train.csv") == READ


def test_languages_and_splits_are_in_the_names(tmp_path):
    for split in ("train", "dev", "test"):
        for language in ("de", "en"):
            path = tmp_path / split / f"dataset_{language}_{split}.json"
            path.parent.mkdir(exist_ok=True)
            path.write_text(json.dumps({**ROWS[0], "language": language}) + "\n", "utf-8")
            assert language_and_split(path) == (language, split)
    assert [file.path.name for file in find_files(tmp_path, "marc", "dev")] == [
        "dataset_de_dev.json", "dataset_en_dev.json",
    ]  # fmt: skip
    assert load_data(tmp_path, "marc", "train", ["en"])["language"][:] == ["en"]


def test_a_row_without_stars_is_named(tmp_path):
    path = tmp_path / "dataset_de_train.json"
    path.write_text(json.dumps({**ROWS[0], "stars": None}) + "\n", "utf-8")
    with pytest.raises(DataError, match="expected a label for every example, but 'de_1' has none"):
        load_data(path, "marc", "train")


def test_labels_from_0_are_stars_from_1():
    """MTEB's copy; labels that have no 0, or a 5, are stars already."""
    loaded = load_source([("a", "0"), ("b", "4"), ("c", "2")], "marc")
    assert loaded.dataset["label"][:] == ["1", "5", "3"]
    assert [problem.message for problem in loaded.problems] == [
        "the given items: the labels 0 to 4 are read as 1 to 5 stars"
    ]
    assert load_data([("a", "1"), ("b", "4")], "marc")["label"][:] == ["1", "4"]
    mixed = load_source([("a", "0"), ("b", "5")], "marc")
    assert (mixed.dataset["label"][:], mixed.unknown_labels) == (["0", "5"], {"0": 1})
    assert load_data([("a", "0"), ("b", "4")], "topic")["label"][:] == ["0", "4"]
