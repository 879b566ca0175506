"""Training on data in several source languages: a file for each, or a folder with all."""

import json

import pytest

from dlfa_adapters.ground.errors import ConfigError, DataError, RunError
from dlfa_adapters.learning import resume_training
from dlfa_adapters.learning.dataset import describe_data, load_dev, load_split

LANGUAGES = ["en", "de"]


@pytest.fixture
def folder(items, tmp_path):
    """Files train-en.tsv, dev-en.tsv, train-de.tsv, dev-de.tsv; the German ones with other sentences."""
    path = tmp_path / "data"
    path.mkdir()
    for language in LANGUAGES:
        for split, rows in (("train", items["ner"]), ("dev", items["ner"][:3])):
            sentences = [
                [(word + "x" * (language == "de"), tag) for word, tag in zip(*row, strict=True)] for row in rows
            ]
            text = "\n\n".join("\n".join(f"{word}\t{tag}" for word, tag in sentence) for sentence in sentences)
            (path / f"{split}-{language}.tsv").write_text(text + "\n", "utf-8")
    return path


def by_language(folder, split):
    return {language: str(folder / f"{split}-{language}.tsv") for language in LANGUAGES}


def test_files_by_language_are_the_folder_with_these_languages(folder):
    joined = load_split(by_language(folder, "train"), "ner", "train", None)
    read = load_split(folder, "ner", "train", "en, de")
    assert joined.dataset["language"] == read.dataset["language"] == ["en"] * 8 + ["de"] * 8
    assert joined.dataset["words"] == read.dataset["words"]
    assert (joined.kind, joined.own_ids) == (read.kind, read.own_ids)
    described = describe_data(joined, by_language(folder, "train"))
    assert described["source"] == by_language(folder, "train")
    assert (described["language"], described["items"]) == (LANGUAGES, 16)
    assert described["fingerprint"] == describe_data(read, folder)["fingerprint"]


def test_dev_data_are_of_the_same_languages(folder):
    files = by_language(folder, "train")
    assert load_dev(None, files, "ner", None) is None  # single files have no dev split
    for dev in (folder, by_language(folder, "dev")):
        assert load_dev(dev, files, "ner", None).dataset["language"] == ["en"] * 3 + ["de"] * 3
    folders = dict.fromkeys(LANGUAGES, folder)
    assert load_dev(None, folders, "ner", None).dataset["language"] == ["en"] * 3 + ["de"] * 3


def test_a_training_on_two_languages(start, folder, tmp_path):
    data = {"train_data": by_language(folder, "train"), "dev_data": by_language(folder, "dev"), "language": None}
    run, plan = start("ner", tmp_path / "run", "full", fuse_layer=2, **data)
    assert run.config["data"]["train"]["language"] == LANGUAGES
    assert run.config["data"]["train"]["source"] == data["train_data"]
    assert run.config["training"]["picked_on"] == "English, de dev"
    [line] = [line for line in plan.lines() if line.startswith("Data: ")]
    assert f"train-en.tsv, {folder / 'train-de.tsv'} (en, de, 16 items)" in line
    one, _ = start("ner", tmp_path / "one", "full", fuse_layer=2, train_data=folder, dev_data=folder, language="en,de")
    assert {name: sha for name, sha in one.config["files"].items() if name.endswith(".safetensors")} == {
        name: sha for name, sha in run.config["files"].items() if name.endswith(".safetensors")
    }


def test_it_can_be_resumed_from_what_is_written_down(start, folder, tmp_path):
    class Killed(BaseException):
        pass

    def die(number):
        raise Killed

    data = {"train_data": by_language(folder, "train"), "dev_data": by_language(folder, "dev"), "language": None}
    with pytest.raises(Killed):
        start("ner", tmp_path / "run", "full", fuse_layer=2, on_epoch=die, **data)
    told = json.loads((tmp_path / "run.training" / "training.json").read_text("utf-8"))
    assert told["request"]["train_data"] == data["train_data"]
    assert resume_training(tmp_path / "run").config["data"]["train"]["items"] == 16


def test_what_cannot_be(start, folder, items, tmp_path):
    with pytest.raises(ConfigError, match="The sources have their languages, en, de; leave --language out"):
        start("ner", tmp_path / "run", train_data=by_language(folder, "train"), language="en")
    with pytest.raises(DataError, match="expected one language for a file that names none itself, but got en, de"):
        load_split(folder / "train-en.tsv", "ner", "train", "en,de")
    texts = tmp_path / "texts-de.tsv"
    texts.write_text("text\tlabel\nGut.\tgood\n", "utf-8")
    with pytest.raises(DataError, match=r"train-en.tsv is tagging data, .*texts-de.tsv is classification data"):
        load_split({"en": folder / "train-en.tsv", "de": texts}, "names", "train", None)
    with pytest.raises(DataError, match="no source is named"):
        load_split({}, "ner", "train", None)
    with pytest.raises(RunError, match="was trained on Python objects"):
        start_and_resume(start, {"en": items["ner"], "de": str(folder / "train-de.tsv")}, tmp_path / "items")


def start_and_resume(start, source, out):
    def die(number):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        start("ner", out, "full", fuse_layer=2, train_data=source, dev_data="none", language=None, on_epoch=die)
    resume_training(out)
