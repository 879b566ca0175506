"""Language and split from names: every layout that `data/layout.py` promises."""

from pathlib import Path

import pytest

from dlfa_adapters.data.layout import LANGUAGE_NAMES, check_language, find_files, language_and_split, other_files
from dlfa_adapters.tasks import get_task


@pytest.mark.parametrize(
    ("path", "wanted"),
    [
        ("panx/train-en.tsv", ("en", "train")),
        ("udpos/test-zh.tsv", ("zh", "test")),
        ("panx/sw/dev.tsv", ("sw", "dev")),
        ("masakhaner2/swa/dev.txt", ("swa", "dev")),
        ("sib200/eng_Latn/test.tsv", ("eng_Latn", "test")),
        ("wikiann/de/train", ("de", "train")),
        ("UD_English-EWT/en_ewt-ud-dev.conllu", ("en", "dev")),
        ("UD_English/en-ud-dev.conllu", ("en", "dev")),  # as up to UD 2.0
        ("x/qhe_hiencs-ud-train.conllu", ("qhe", "train")),
        ("XNLI-1.0/xnli.test.tsv", ("und", "test")),
        ("multinli/multinli.train.sw.tsv", ("sw", "train")),
        ("x-final/ko/translated_train.tsv", ("ko", "train")),
        ("x-final/ko/dev_2k.tsv", ("ko", "dev")),
        ("german/val_text.txt", ("de", "dev")),
        ("sw_test.tsv", ("sw", "test")),
        ("ner/train.tsv", ("und", "train")),
        ("mydata/train.tsv", ("und", "train")),
        ("de/labels.txt", ("und", None)),
        ("german/val_labels.txt", ("und", None)),
        ("README.md", ("und", None)),
        ("training.tsv", ("und", None)),
        ("dishes-de.tsv", ("de", None)),
        ("my_dishes_sw.conll", ("sw", None)),
        ("news.2024.zh.txt", ("zh", None)),
        ("dishes-swh_Latn.tsv", ("swh_Latn", None)),
        ("dishes-v2.tsv", ("und", None)),
        ("dishes-xx.tsv", ("und", None)),
        ("dishes-nds-nl.tsv", ("nds-nl", None)),
        ("dishes-zh-min-nan.tsv", ("zh-min-nan", None)),
        ("too-simple.tsv", ("und", None)),
        ("panx/simple/test", ("simple", "test")),
        ("panx/be-x-old/dev.tsv", ("be-x-old", "dev")),
        ("zh_classical_test.tsv", ("zh_classical", "test")),
        ("test-zh-Hant-TW.tsv", ("zh-Hant-TW", "test")),
        ("es-419_dev.tsv", ("es-419", "dev")),
        ("my-ner.tsv", ("und", None)),
    ],
)
def test_language_and_split(path, wanted):
    assert language_and_split(Path(path)) == wanted


def test_every_pos_language_of_xtreme_has_its_name():
    assert set(LANGUAGE_NAMES) == set(get_task("pos").languages)
    assert LANGUAGE_NAMES["fa"] == "Persian"
    assert LANGUAGE_NAMES["zh"] == "Chinese"
    assert LANGUAGE_NAMES["yo"] == "Yoruba"


WIKIPEDIA = (
    "en zh-min-nan zh-classical be-x-old simple map-bms roa-rup fiu-vro nds-nl cbk-zam zh-yue bat-smg be-tarask "
    "roa-tara"
).split()


@pytest.mark.parametrize("name", ["test-{}.tsv", "{}_test.tsv", "{}/test.tsv", "{}/test"])
def test_wikipedias_codes(name, tmp_path):
    for language in WIKIPEDIA:
        path = tmp_path / name.format(language)
        path.parent.mkdir(exist_ok=True)
        path.touch()
    assert sorted(file.language for file in find_files(tmp_path, None, "test")) == sorted(WIKIPEDIA)
    assert other_files(tmp_path, None) == []


def test_the_spelling_of_every_name_may_be_typed():
    for code in (*WIKIPEDIA, "de", "eng_Latn", "iw"):
        check_language(code)


def test_hidden_files_are_no_data(tmp_path):
    """A notebook's `.ipynb_checkpoints` has copies of what lies beside it."""
    for name in ("train-en.tsv", ".ipynb_checkpoints/train-en.tsv", ".train-de.tsv"):
        path = tmp_path / ".cache" / name  # the folder itself may be hidden
        path.parent.mkdir(exist_ok=True, parents=True)
        path.touch()
    found = find_files(tmp_path / ".cache", None, "train")
    assert [file.path for file in found] == [tmp_path / ".cache" / "train-en.tsv"]


def test_files_that_are_taken_for_no_split(tmp_path):
    taken = ("test-de.tsv", "train-en.tsv", "sw/dev.conllu", "german/val_text.txt", "german/val_labels.txt")
    no_data = (
        "README.md",
        "LICENSE",
        "README.txt",
        ".cache/test-de.tsv",
        "sw/.hidden.tsv",
        "de/labels.txt",
        "stats.xml",
    )
    others = ("de/extra.tsv", "german/mapping.txt", "notes/val_labels.txt", "test-fr.tsv.xz", "test-xx_.tsv")
    for name in (*taken, *no_data, *others):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.touch()
    assert other_files(tmp_path, None) == sorted(others)
    (tmp_path / "panx").mkdir()
    (tmp_path / "panx" / "odd.tsv").touch()
    assert other_files(tmp_path, "ner") == ["odd.tsv"]
