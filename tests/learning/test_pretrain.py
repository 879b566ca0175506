"""Encoders from scratch: a vocabulary of the text, windows of any length, a folder that every command takes."""

import json

import numpy as np
import pytest
import torch
from gensim.models import Word2Vec
from safetensors.torch import load_file
from transformers import AutoModelForMaskedLM, AutoTokenizer

from dlfa_adapters.encoders import load_encoder
from dlfa_adapters.ground.errors import ConfigError, DataError, MissingExtraError
from dlfa_adapters.heads import load_masked_lm
from dlfa_adapters.learning import train
from dlfa_adapters.learning.pretrain import (
    RECORD,
    Shape,
    bert,
    pretrain_bert,
    pretrain_word2vec,
    read_sentences,
    word2vec,
)
from dlfa_adapters.learning.pretrain.vocabulary import train_tokenizer

WORDS = {
    "en": "anna met bob in rome new york is far the bank of and acme".split(),
    "de": "anna traf bob in rom neu ulm ist weit die Bank von und 你好".split(),
}
SHAPE = Shape(width=64, blocks=1, heads=4, positions=64)
TINY = {
    "shape": Shape(width=16, blocks=2, heads=2, positions=64), "window": 64, "pieces": 4000, "pieces_a_step": 200
}  # fmt: skip


@pytest.fixture(scope="module")
def text(tmp_path_factory):
    """A file a language: 300 sentences of three words, each of them twice, so that there is something to learn."""
    folder, random, files = tmp_path_factory.mktemp("text"), np.random.default_rng(0), {}
    for language, words in WORDS.items():
        lines = [" ".join(word for word in random.choice(words, 3) for _ in range(2)) for _ in range(300)]
        (folder / f"{language}.txt").write_text("\n".join(lines) + "\n", "utf-8")
        files[language] = folder / f"{language}.txt"
    return files


@pytest.fixture(scope="module")
def trained(text, tmp_path_factory):
    options = {"shape": SHAPE, "pieces": 60_000, "pieces_a_step": 300, "learning_rate": 5e-3, "window": 8}
    return pretrain_bert(text, tmp_path_factory.mktemp("encoders") / "tiny", sentences=200, **options)


def test_it_learns_and_the_record_says_from_what(trained, text):
    record = json.loads((trained.folder / RECORD).read_text("utf-8"))
    assert record == trained.record
    assert record["languages"] == {"en": 200, "de": 200}
    assert record["files"] == {language: str(file) for language, file in text.items()}
    assert record["training"]["pieces"] == pytest.approx(60_000, rel=0.02)
    assert record["training"]["steps"] == pytest.approx(200, rel=0.05)
    assert record["shape"] == {"width": 64, "blocks": 1, "heads": 4, "positions": 64}
    assert record["perplexity"] < 5  # of some 25 words


def test_every_command_can_take_the_folder(trained):
    encoder, masked = load_encoder(str(trained.folder)), load_masked_lm(str(trained.folder))
    ids = torch.tensor([masked.tokenizer("anna anna bob [MASK] rome rome")["input_ids"]])
    with torch.no_grad():
        assert encoder.model.base_model(ids).last_hidden_state.shape == (1, 8, 64)
        logits = masked.model(ids).logits
        expected = AutoModelForMaskedLM.from_pretrained(trained.folder)(ids).logits
    assert logits.equal(expected)
    assert masked.tokenizer.decode(logits[0, 4].argmax()) == "bob"


@pytest.mark.parametrize("window", [8, 64])
def test_windows_cut_rows_and_not_what_is_learnt_from(window, text, tmp_path, monkeypatch):
    seen = []
    original = bert.Trainer.training_step

    def step(self, model, inputs, *args, **kwargs):
        seen.append(inputs["attention_mask"])
        return original(self, model, inputs, *args, **kwargs)

    monkeypatch.setattr(bert.Trainer, "training_step", step)
    record = pretrain_bert(text, tmp_path / "out", **{**TINY, "window": window}).record
    longest = max(mask.shape[1] for mask in seen)
    assert window - 6 < longest <= window
    assert sum(int(mask.sum()) for mask in seen) == pytest.approx(4000, rel=0.1)
    assert len(seen) == record["training"]["steps"] == pytest.approx(20, abs=4)


def test_the_same_seed_gives_the_same_encoder(text, tmp_path):
    options = {**TINY, "pieces": 800}
    first, again, other = (
        load_file(pretrain_bert(text, tmp_path / str(i), seed=seed, **options).folder / "model.safetensors")
        for i, seed in enumerate((0, 0, 1))
    )
    assert all(tensor.equal(again[name]) for name, tensor in first.items())
    assert not any(tensor.equal(other[name]) for name, tensor in first.items() if tensor.dim() == 2)


@pytest.fixture(scope="module")
def static(trained, text, tmp_path_factory):
    """word2vec on the pieces of the trained encoder."""
    out = tmp_path_factory.mktemp("encoders") / "static"
    return pretrain_word2vec(text, out, sentences=200, tokenizer=trained.folder, width=24, window=2, epochs=3)


@torch.no_grad()
def test_word_vectors_are_an_encoder_without_context(static, text):
    """Every layer is the vector of the piece, normed; equal to gensim's own, trained on the same pieces."""
    encoder, lines = load_encoder(str(static.folder)), []
    for file in text.values():
        lines += file.read_text("utf-8").splitlines()[:200]
    pieces = [[str(i) for i in encoder.tokenizer(line, add_special_tokens=False)["input_ids"]] for line in lines]
    theirs = Word2Vec(pieces, vector_size=24, window=2, epochs=3, sg=1, min_count=1, seed=0, workers=1).wv
    batch = encoder.tokenizer(["anna bob", "bob rome anna york"], return_tensors="pt", padding=True)
    states = encoder.model.base_model(**batch, output_hidden_states=True).hidden_states
    assert len(states) == 2
    for layer in states:
        for row, place, word in ((0, 1, "anna"), (0, 2, "bob"), (1, 1, "bob"), (1, 3, "anna")):
            vector = torch.tensor(theirs[str(encoder.tokenizer.convert_tokens_to_ids(word))])
            expected = (vector - vector.mean()) / vector.std(correction=0)
            torch.testing.assert_close(layer[row, place], expected, rtol=1e-4, atol=1e-4)
        assert not layer[0, 0].any()  # [CLS], which is in no text
    assert static.record["kind"] == "word2vec"
    assert static.record == json.loads((static.folder / RECORD).read_text("utf-8"))


def test_word_vectors_can_be_asked_for_words_and_learn_a_task(static, tmp_path):
    rows = "".join(f"{word}\tB-PER\nis\tO\n\n" for word in ("anna", "bob") * 10)
    (tmp_path / "train-en.tsv").write_text(rows)
    run = train(
        "ner", train_data=tmp_path / "train-en.tsv", dev_data=tmp_path / "train-en.tsv", model=str(static.folder),
        tuning="features", fusion="last", head_learning_rate=0.1, epochs=20, out=tmp_path / "run",
    )  # fmt: skip
    assert run.config["metrics"]["dev"]["en"] > 90


def test_word_vectors_are_refused_what_cannot_work(text, tmp_path, monkeypatch):
    with pytest.raises(ConfigError, match="epochs must be a whole number from 1 up, got 0"):
        pretrain_word2vec(text, tmp_path / "out", epochs=0)
    monkeypatch.setattr(word2vec, "find_spec", lambda name: None)
    with pytest.raises(MissingExtraError, match=r"pip install 'dlfa-adapters\[static\]'"):
        pretrain_word2vec(text, tmp_path / "out")


def test_a_vocabulary_is_cased_and_of_the_text(trained, tmp_path):
    tokenizer = train_tokenizer(["Bank bank 你好 Bank", "fährt"], 60)
    tokenizer.save_pretrained(tmp_path)
    for each in (tokenizer, AutoTokenizer.from_pretrained(tmp_path)):
        assert each.tokenize("Bank bank 你好")[0] == "Bank"
        assert each.tokenize("你好") == ["你", "好"]
        assert each.tokenize("Fahrt ß") == ["[UNK]", "[UNK]"]
        assert each.decode(each("fährt", "bank")["input_ids"]) == "[CLS] fährt [SEP] bank [SEP]"
        assert each("fährt", "bank")["token_type_ids"][-2:] == [1, 1]
        assert (each.mask_token, each.pad_token, each.model_max_length) == ("[MASK]", "[PAD]", 512)
    assert trained.record["vocabulary"] == len(AutoTokenizer.from_pretrained(trained.folder))


def test_several_encoders_can_have_one_vocabulary(trained, text, tmp_path):
    again = pretrain_bert(text, tmp_path / "out", sentences=30, tokenizer=trained.folder, **TINY)
    first, second = (AutoTokenizer.from_pretrained(each.folder).get_vocab() for each in (trained, again))
    assert first == second


def test_the_first_sentences_are_taken_and_too_few_are_told(text, caplog):
    read = read_sentences(text, 250)
    assert [len(lines) for lines in read.values()] == [250, 250]
    assert read["en"] == text["en"].read_text("utf-8").splitlines()[:250]
    assert not caplog.records
    assert len(read_sentences(text, 400)["de"]) == 300
    assert "has 300 sentences in de, not 400" in caplog.text


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"window": 100}, ConfigError, "window is 100, but the model reads at most 64 pieces"),
        ({"window": 3}, ConfigError, "max_length must be at least 4, got 3"),
        ({"sentences": 0}, ConfigError, "sentences must be a whole number from 1 up, got 0"),
        ({"sentences": 5}, DataError, "at least 20 different paragraphs"),
        ({"vocabulary": 5}, ConfigError, "needs more than 5 pieces, got 5"),
        ({"tokenizer": "./nothing"}, ConfigError, r"encoder '\./nothing' cannot be loaded"),
    ],
)
def test_what_cannot_work_is_refused(options, error, message, text, tmp_path):
    with pytest.raises(error, match=message):
        pretrain_bert(text, tmp_path / "out", **{**TINY, **options})
    assert not (tmp_path / "out").exists()


def test_nothing_of_others_is_replaced(text, trained, tmp_path):
    (tmp_path / "mine.txt").write_text("mine")
    with pytest.raises(ConfigError, match="is there and not empty; give another folder"):
        pretrain_bert(text, tmp_path, **TINY)
    with pytest.raises(DataError, match="expected a file of text for each language, got none"):
        pretrain_bert({}, tmp_path / "out")
    with pytest.raises(DataError, match=r"no\.txt: expected a file"):
        pretrain_bert({"en": tmp_path / "no.txt"}, tmp_path / "out")
    with pytest.raises(ConfigError, match="The width 16 cannot be divided by 3 heads"):
        Shape(width=16, heads=3)
    with pytest.raises(ConfigError, match="blocks must be a whole number from 1 up, got 0"):
        Shape(blocks=0)
