"""The pre-training recipe on a little text: both kinds of vectors, words by layer, a task in other languages."""

import re

import pytest

PEOPLE = {"en": ["Anna met Bob", "in Rome", "the Bank of York"], "de": ["Anna traf Bob", "in Rom", "die Bank von York"]}


@pytest.fixture
def text(tmp_path):
    """A folder with text in two languages, and a dictionary of them."""
    for language, lines in PEOPLE.items():
        (tmp_path / "text").mkdir(exist_ok=True)
        varied = [f"{line} {'and' * (i % 3)} {i}" for i in range(10) for line in lines]
        (tmp_path / "text" / f"{language}.txt").write_text("\n".join(varied), "utf-8")
    (tmp_path / "en-de.txt").write_text("met traf\nRome Rom\nthe die\nof von\n", "utf-8")
    return tmp_path


def test_words_by_layer_and_a_task_in_every_language(recipe, data, text, capsys):
    places = ["--text", text / "text", "--dictionaries", text / "en-de.txt", "--data", data / "xtreme" / "panx"]
    sizes = ["--window", 20, "--pieces", 2000, "--width", 16, "--blocks", 2, "--max-steps", 2, "--split", "test"]
    arguments = [*places, *sizes, "--out", text / "out"]
    main = recipe("pretrain_small").main
    main(list(map(str, arguments)))
    shown = capsys.readouterr().out
    bert, static = text / "out" / "bert", text / "out" / "word2vec"
    for how in ("alone", "in context"):
        layers = shown.split(f"{bert}, {how}: MRR, %, en-de")[1].split("\n\n")[1].splitlines()
        assert [line.split("|")[1].strip() for line in layers[2:]] == ["0", "1", "2"]
    assert f"| {static}, in context: layer 0, cosine |" in shown
    scored = [re.findall(r"^\| (de|en) \| 4 \|", part, re.MULTILINE) for part in shown.split("# ner on")[1:]]
    assert scored == [["de", "en"], ["de", "en"]]
    trained = (bert / "model.safetensors").stat().st_mtime_ns
    main(list(map(str, arguments)))
    assert (bert / "model.safetensors").stat().st_mtime_ns == trained
