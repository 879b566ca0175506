"""Language and split from names: every layout that `data/layout.py` promises."""

from pathlib import Path

import pytest

from dlfa_adapters.data.layout import LANGUAGE_NAMES, describe
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
        ("my-ner.tsv", ("und", None)),
    ],
)
def test_describe(path, wanted):
    assert describe(Path(path)) == wanted


def test_every_pos_language_of_xtreme_has_its_name():
    assert set(LANGUAGE_NAMES) == set(get_task("pos").languages)
    assert LANGUAGE_NAMES["fa"] == "Persian"
    assert LANGUAGE_NAMES["zh"] == "Chinese"
    assert LANGUAGE_NAMES["yo"] == "Yoruba"
