"""Pseudo-perplexity: equal to one mask at a time, of every family, in windows, of adapted encoders and of runs."""

import json
import math
import shutil

import numpy as np
import pytest
import torch
import transformers
from tiny_masked import save_masked_encoder
from typer.testing import CliRunner

from dlfa_adapters.analysis.pseudo_perplexity.measure import measure_pseudo_perplexity
from dlfa_adapters.analysis.pseudo_perplexity.models import load_masked
from dlfa_adapters.analysis.pseudo_perplexity.report import pseudo_perplexity_notes, pseudo_perplexity_tables
from dlfa_adapters.analysis.pseudo_perplexity.score import Windows, score_pieces
from dlfa_adapters.encoders.load import Encoder, load_encoder
from dlfa_adapters.ground.errors import ConfigError, DataError, RunError
from dlfa_adapters.heads import load_masked_lm
from dlfa_adapters.learning import adapt_encoder, train
from dlfa_adapters.predict.load import load_run
from dlfa_adapters.runs import read_run
from dlfa_cli.main import app

TEXTS = ["anna met bob in rome", "far", "the bank of new york is far and the acme is in rome", "Bob met", "rome"]
SMALL = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 32}
FAMILIES = {
    "bert": (transformers.BertConfig, {}),
    "roberta": (transformers.RobertaConfig, {"pad_token_id": 0, "type_vocab_size": 1}),
    "distilbert": (transformers.DistilBertConfig, {"dim": 16, "n_layers": 2, "n_heads": 2, "hidden_dim": 32}),
    "albert": (transformers.AlbertConfig, {"embedding_size": 8}),
    "electra": (transformers.ElectraConfig, {"embedding_size": 8}),
    "deberta-v2": (transformers.DebertaV2Config, {}),
    "modernbert": (transformers.ModernBertConfig, {"pad_token_id": 0, "reference_compile": False}),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A tiny BERT without a decoder, whose tokenizer has a mask token; rows of 64 at most."""
    folder = tmp_path_factory.mktemp("masked")
    save_masked_encoder(folder, max_position_embeddings=64)
    return folder


@pytest.fixture(scope="module")
def checkpoint(folder, tmp_path_factory):
    """checkpoint("roberta"): the folder of a tiny masked language model of that family, with weights that matter."""
    tokenizer, root = transformers.AutoTokenizer.from_pretrained(folder), tmp_path_factory.mktemp("families")
    tokenizer.model_max_length = 64

    def save(family):
        if not (root / family).exists():
            config, options = FAMILIES[family]
            torch.manual_seed(3)
            model = transformers.AutoModelForMaskedLM.from_config(
                config(vocab_size=len(tokenizer), max_position_embeddings=70, **{**SMALL, **options})
            )
            with torch.no_grad():
                for parameter in model.parameters():
                    parameter.add_(torch.randn_like(parameter) * 0.3)
            model.save_pretrained(root / family)
            tokenizer.save_pretrained(root / family)
        return str(root / family)

    return save


def by_definition(model, tokenizer, text, room=None):
    """The log-probability of each piece: one mask, one row without padding, all logits. With `room`, of its window."""
    ids, found = tokenizer(text, add_special_tokens=False)["input_ids"], []
    for t, piece in enumerate(ids):
        start = 0 if room is None else max(0, min(t - room // 2, len(ids) - room))
        window = ids[start : len(ids) if room is None else start + room]
        row = [tokenizer.cls_token_id, *window, tokenizer.sep_token_id]
        row[1 + t - start] = tokenizer.mask_token_id
        with torch.no_grad():
            logits = model(input_ids=torch.tensor([row]), return_dict=True).logits
        found.append(torch.log_softmax(logits[0, 1 + t - start], -1)[piece].item())
    return np.array(found)


@pytest.mark.parametrize("name", FAMILIES)
def test_every_piece_as_one_mask_at_a_time(name, checkpoint):
    encoder = load_masked_lm(checkpoint(name))
    for tokens in (None, 40):
        scores = score_pieces(encoder, Windows.of(encoder, TEXTS), max_tokens=tokens)
        for text, score in zip(TEXTS, scores, strict=True):
            expected = by_definition(encoder.model, encoder.tokenizer, text)
            assert np.abs(score - expected).max() < 1e-4
            assert np.ptp(expected) > 0.05 or len(expected) < 5  # a model that tells pieces apart
    with torch.no_grad():  # the model is as it was
        ids = torch.tensor([[2, 5, 6, 3]])
        assert encoder.model(input_ids=ids).logits.shape[:2] == (1, 4)


def test_the_figure_is_the_definition_over_all_texts(checkpoint):
    encoder = load_masked_lm(checkpoint("bert"))
    found = measure_pseudo_perplexity(encoder, {"en": TEXTS, "xx": TEXTS[:1]}, resamples=200)
    for each, texts in zip(found, (TEXTS, TEXTS[:1]), strict=True):
        scores = np.concatenate([by_definition(encoder.model, encoder.tokenizer, text) for text in texts])
        assert each.value == pytest.approx(math.exp(-scores.mean()), rel=1e-4)
        assert (each.texts, each.pieces, each.cut, each.empty) == (len(texts), len(scores), 0, 0)
    assert found[0].low < found[0].value < found[0].high
    assert (found[1].low, found[1].high) == (None, None)
    again = measure_pseudo_perplexity(encoder, {"en": TEXTS}, resamples=200)
    assert again == found[:1]


def test_texts_that_are_longer_than_a_row_have_a_window_for_each_piece(checkpoint):
    encoder = load_masked_lm(checkpoint("bert"))
    [short] = measure_pseudo_perplexity(encoder, {"en": TEXTS}, max_length=12, resamples=10)
    scores = [by_definition(encoder.model, encoder.tokenizer, text, 10) for text in TEXTS]
    assert short.value == pytest.approx(math.exp(-np.concatenate(scores).mean()), rel=1e-4)
    assert short.cut == sum(len(score) > 10 for score in scores) > 1
    [whole] = measure_pseudo_perplexity(encoder, {"en": TEXTS}, resamples=10)
    assert abs(whole.value - short.value) > 1e-3
    longest = [" ".join(["rome"] * 40)]  # 160 pieces, and the encoder takes rows of 64
    [each] = measure_pseudo_perplexity(encoder, {"en": longest}, resamples=10)
    expected = by_definition(encoder.model, encoder.tokenizer, longest[0], 62)
    assert (each.pieces, each.cut) == (160, 1)
    assert each.value == pytest.approx(math.exp(-expected.mean()), rel=1e-4)
    with pytest.raises(ConfigError, match=r"max_length must lie in 3\.\.64"):
        measure_pseudo_perplexity(encoder, {"en": TEXTS}, max_length=65)


def test_windows_are_as_long_as_can_be_and_hold_their_piece():
    windows = Windows([list(range(25)), [1, 2]], None, 7)
    for t in range(25):
        start = windows.start(0, t)
        assert 0 <= start <= t < start + 7 <= 25
        assert abs(t - start - 3) <= 1 or start in (0, 18)
    assert [windows.start(1, t) for t in (0, 1)] == [0, 0]


def test_what_has_no_piece_or_only_unknown_ones(checkpoint):
    encoder = load_masked_lm(checkpoint("bert"))
    [each] = measure_pseudo_perplexity(encoder, {"en": ["", "far \u4f60", "  "]}, resamples=10)
    assert (each.texts, each.empty, each.pieces, each.unknown) == (3, 2, 4, 1)
    expected = by_definition(encoder.model, encoder.tokenizer, "far \u4f60")
    assert each.value == pytest.approx(math.exp(-expected.mean()), rel=1e-4)
    with pytest.raises(DataError, match=r"expected text in xx, but the tokenizer of .* finds no piece in it"):
        measure_pseudo_perplexity(encoder, {"xx": [" "]})
    slow = Encoder("x", "x", encoder.model, None)
    with pytest.raises(ConfigError, match="expected a fast tokenizer"):
        measure_pseudo_perplexity(slow, {"en": TEXTS})


# Adapted encoders and runs


@pytest.fixture(scope="module")
def text(tmp_path_factory):
    folder = tmp_path_factory.mktemp("text")
    lines = [f"{TEXTS[i % 5]} {'abc'[i % 3] * (i // 3 + 1)}" for i in range(60)]
    for language, some in (("en", lines), ("de", [line[::-1] for line in lines])):
        (folder / f"{language}.txt").write_text("\n".join(some) + "\n", "utf-8")
    return folder


@pytest.fixture(scope="module")
def adapted(folder, text, tmp_path_factory):
    """adapted("lora"): the folder of an encoder, or adapter, that was adapted a little."""
    root, options = tmp_path_factory.mktemp("adapted"), {"batch_size": 8, "max_length": 32, "learning_rate": 1e-2}

    def adapt(learns):
        source = {language: str(text / f"{language}.txt") for language in ("en", "de")}
        if not (root / learns).exists():
            adapt_encoder(source, model=str(folder), out=root / learns, steps=3, learns=learns, **options)
        return root / learns

    return adapt


def test_an_adapted_encoder(adapted):
    """With an independent decoder: the transform of BERT over the saved weights."""
    encoder = load_masked(str(adapted("full")))
    head = encoder.model.heads["masked_lm"]
    config = transformers.AutoConfig.from_pretrained(adapted("full"))
    plain = transformers.BertForMaskedLM.from_pretrained(adapted("full"), config=config).eval()
    transform = plain.cls.predictions.transform
    transform.dense.load_state_dict(head.dense.state_dict())
    transform.LayerNorm.load_state_dict(head.norm.state_dict())
    plain.cls.predictions.decoder.bias.data.copy_(head.bias)
    scores = score_pieces(encoder, Windows.of(encoder, TEXTS))
    for line, score in zip(TEXTS, scores, strict=True):
        assert np.abs(score - by_definition(plain, encoder.tokenizer, line)).max() < 1e-4


@pytest.mark.parametrize("tuning", ["full", "lora", "features"])
def test_a_run_is_read_with_the_decoder_of_its_start(tuning, checkpoint, tmp_path):
    """And with the embeddings that it has now; before the first step it is the checkpoint."""
    name, rows = checkpoint("bert"), [(line.split(), ["B-PER", *["O"] * (len(line.split()) - 1)]) for line in TEXTS]
    options = {"max_length": 32, **({"learning_rate": 5e-2} if tuning != "features" else {})}
    run = train(
        "ner", train_data=rows, model=name, tuning=tuning, out=tmp_path / "run", language="en", max_steps=4, **options
    )
    before, after = load_masked(name), load_masked(run)
    assert after.name == str(run.folder)
    scores = score_pieces(after, Windows.of(after, TEXTS))
    plain = transformers.BertForMaskedLM.from_pretrained(name).eval()
    if tuning == "full":
        own = load_encoder(str(run.folder / "encoder")).model.base_model.state_dict()
        plain.bert.load_state_dict({k: v for k, v in own.items() if k in plain.bert.state_dict()})
        assert not plain.bert.embeddings.word_embeddings.weight.equal(before.model.get_input_embeddings().weight)
    expected = [by_definition(plain, after.tokenizer, line) for line in TEXTS]
    same = max(np.abs(a - b).max() for a, b in zip(scores, expected, strict=True))
    assert (same < 1e-4) == (tuning != "lora")


def test_a_run_over_a_domain_adapter_and_one_without_a_decoder(adapted, folder, tmp_path):
    rows = [(["anna", "met"], ["B-PER", "O"]), (["far"], ["O"])] * 4
    options = {"train_data": rows, "model": str(folder), "language": "en", "max_steps": 1, "max_length": 32}
    over = train("ner", tuning=f"stack:{adapted('adapter')}", out=tmp_path / "over", **options)
    encoder = load_masked(over)
    assert list(encoder.model.active_adapters.children) == ["domain", "ner"]
    scores = score_pieces(encoder, Windows.of(encoder, TEXTS))
    for line, score in zip(TEXTS, scores, strict=True):
        assert np.abs(score - by_definition(encoder.model, encoder.tokenizer, line)).max() < 1e-4
    alone = train("ner", tuning="lora", out=tmp_path / "alone", **options)
    with pytest.raises(ConfigError, match="has no decoder, which writes pieces; train on a masked language model"):
        load_masked(alone)
    peft = train("ner", tuning="peft-lora", out=tmp_path / "peft", **options)
    with pytest.raises(ConfigError, match="was trained with PEFT"):
        load_masked(read_run(peft.folder))


@pytest.mark.parametrize("tuning", ["full", "lora"])
def test_a_run_whose_encoder_is_another_one_now_or_gone(tuning, checkpoint, tmp_path):
    rows = [(["anna", "met"], ["B-PER", "O"]), (["far"], ["O"])] * 4
    encoder = tmp_path / "encoder"
    shutil.copytree(checkpoint("bert"), encoder)
    run = train(
        "ner", train_data=rows, model=str(encoder), language="en", tuning=tuning, max_steps=1, max_length=32,
        out=tmp_path / "run",
    )  # fmt: skip
    assert load_masked(run).model is not None
    other = transformers.BertForMaskedLM.from_pretrained(encoder)
    with torch.no_grad():
        other.cls.predictions.bias.add_(5)
        other.bert.embeddings.word_embeddings.weight.mul_(2)
    other.save_pretrained(encoder)
    with pytest.raises(RunError, match=r"the encoder found under that name has .*; (put|use) the weights"):
        load_masked(run)
    shutil.rmtree(encoder)
    with pytest.raises(ConfigError, match=r"cannot be loaded .*; give a folder"):
        load_masked(run)
    if tuning == "lora":
        with pytest.raises(ConfigError, match=r"cannot be loaded .*; the run .*run was trained on it, so put it back"):
            load_run(run)


# Typed


def dlfa(*arguments):
    return CliRunner().invoke(app, ["analyze", "pseudo-perplexity", *map(str, arguments)])


def test_typed(checkpoint, adapted, text, tmp_path):
    models, plot = (checkpoint("bert"), adapted("full")), tmp_path / "x.svg"
    files = ("--text", f"en={text / 'en.txt'}", "--text", f"de={text / 'de.txt'}")
    done = dlfa(*models, *files, "--limit", 5, "--json", "--plot", plot)
    assert done.exit_code == 0, done.output
    record = json.loads(done.stdout)
    assert [(each["model"], each["language"]) for each in record["models"]] == [
        (str(model), language) for model in models for language in ("en", "de")
    ]
    lines = (text / "en.txt").read_text("utf-8").splitlines()[:5]
    [expected] = measure_pseudo_perplexity(load_masked(str(models[0])), {"en": lines})
    assert record["models"][0] == expected.to_dict()
    assert plot.read_text("utf-8").startswith("<?xml")
    done = dlfa(models[0], "--text", text, "--languages", "de", "--limit", 3)
    assert "Pseudo-perplexity: lower is better" in done.stdout
    assert "│ en" not in done.stdout


def test_all_models_are_looked_at_before_the_first_is_measured(checkpoint, folder, text, monkeypatch):
    """A later one without a decoder costs nobody the time of those before it."""
    monkeypatch.setattr("dlfa_adapters.analysis.pseudo_perplexity.measure.score_pieces", lambda *_, **__: 1 / 0)
    done = dlfa(checkpoint("bert"), folder, "--text", text)
    with pytest.raises(ConfigError, match=f"^The encoder '{folder}' has no decoder, which writes pieces; name a"):
        raise done.exception


def test_what_is_left_out_is_told_in_words(checkpoint, tmp_path):
    (tmp_path / "en.txt").write_text("anna met\nfar\nanna met\n", "utf-8")
    (tmp_path / "de.txt").write_text("far\nbob\n", "utf-8")
    done = dlfa(checkpoint("bert"), "--text", tmp_path, "--json")
    assert "Left out: texts that came before (1), texts that stand in several languages (2)." in done.stderr
    assert {each["language"]: each["texts"] for each in json.loads(done.stdout)["models"]} == {"de": 1, "en": 1}


def test_typed_with_data(checkpoint, tmp_path):
    """Words of sentences, both texts of a pair; labels are not looked at."""
    (tmp_path / "test-en.tsv").write_text("anna met\trome\t1\nfar\tbob met\t\n", "utf-8")
    found = {}
    for task in ("pawsx", "ner"):
        if task == "ner":
            (tmp_path / "test-en.tsv").write_text("anna\tX\nmet\tO\n\nrome\tO\n\nfar\tO\n\nbob\tO\nmet\tO\n\n", "utf-8")
        done = dlfa(checkpoint("bert"), "--data", tmp_path, "--task", task, "--json")
        assert done.exit_code == 0, done.output
        [found[task]] = json.loads(done.stdout)["models"]
    assert found["pawsx"] == found["ner"]
    assert found["ner"]["texts"] == 4


def test_what_readers_are_told(checkpoint):
    one = measure_pseudo_perplexity(load_masked(checkpoint("bert")), {"en": TEXTS, "de": TEXTS}, resamples=10)
    other = [each.__class__(**{**each.to_dict(), "model": "b", "pieces": 7, "cut": 2}) for each in one[:1]]
    table = pseudo_perplexity_tables([*one, *other])[0]
    assert table.header == ["model", "en", "de"]
    assert table.rows[1] == ["b", f"{one[0].value:,.2f}", "\u2013"]
    told = " ".join(pseudo_perplexity_notes([*one, *other]))
    assert "different numbers of pieces" in told
    assert "2 in en (b)" in told
    assert "different numbers" not in " ".join(pseudo_perplexity_notes(one))
