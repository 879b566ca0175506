"""Token translation: a model whose languages differ by one vector translates perfectly; any other as by hand."""

import json
import math

import numpy as np
import pytest
import torch
import transformers
from tiny_masked import save_masked_encoder
from typer.testing import CliRunner

from dlfa_adapters.analysis.language_text import LanguageText, text_of_files
from dlfa_adapters.analysis.means import measure_means
from dlfa_adapters.analysis.translation.measure import measure_translation, write_pieces
from dlfa_adapters.analysis.translation.prepare import translate_tokens
from dlfa_adapters.analysis.translation.report import sample_lines, translation_notes, translation_tables
from dlfa_adapters.analysis.translation.text import Translated
from dlfa_adapters.data.pairs import encode_texts
from dlfa_adapters.encoders.means import LanguageMeans
from dlfa_adapters.encoders.shift import Shift
from dlfa_adapters.ground.errors import ConfigError, DataError
from dlfa_adapters.heads import load_masked_lm
from dlfa_adapters.learning import train_language
from dlfa_cli.main import app

SOURCE, TARGET = "ab cd ef gh ij".split(), "AB CD EF GH IJ".split()
SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "."]
SENTENCES = ["ab cd ef gh ij .", "cd ij .", "gh ab ef .", "ij ij cd ."]
PAIRS = [(text, text.upper()) for text in SENTENCES]


@pytest.fixture(scope="module")
def linear(tmp_path_factory):
    """The folder of a masked language model that passes its embeddings on, and reads them again.

    A word is a unit vector, and one of its language is added. The shift moves the language alone, so that word k of the
    one language becomes word k of the other.
    """
    folder, words = tmp_path_factory.mktemp("linear"), [*SPECIAL, *SOURCE, *TARGET]
    tokenizer = transformers.PreTrainedTokenizerFast(
        tokenizer_object=_word_tokenizer(words), model_max_length=32, unk_token="[UNK]", pad_token="[PAD]",
        cls_token="[CLS]", sep_token="[SEP]", mask_token="[MASK]", clean_up_tokenization_spaces=True,
    )  # fmt: skip
    config = transformers.BertConfig(
        vocab_size=len(words), hidden_size=16, num_hidden_layers=3, num_attention_heads=2, intermediate_size=8,
        max_position_embeddings=32, hidden_act="linear", hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0,
    )  # fmt: skip
    model = transformers.BertForMaskedLM(config)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            parameter.zero_() if "LayerNorm.weight" not in name else parameter.fill_(1)
        model.cls.predictions.transform.dense.weight.copy_(torch.eye(16))
        embeddings = model.get_input_embeddings().weight
        for number in range(len(SPECIAL)):
            embeddings[number, 7 + number] = math.sqrt(2)
        for language, ids in enumerate((range(6, 11), range(11, 16))):
            for number, piece in enumerate(ids):
                embeddings[piece, number], embeddings[piece, 5 + language] = 1, 1
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def _word_tokenizer(words):
    from tokenizers import Tokenizer, models, pre_tokenizers, processors

    backend = Tokenizer(models.WordPiece({word: i for i, word in enumerate(words)}, unk_token="[UNK]"))
    backend.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    backend.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    return backend


@pytest.fixture(scope="module")
def report(linear):
    return translate_tokens(str(linear), PAIRS, ("en", "de"), layers=[1, 3], alphas=[-1, 0, 1, 40], shown=2)


def scores(report, layer, alpha):
    [cell] = [cell for cell in report.cells if (cell.layer, cell.alpha) == (layer, alpha)]
    return {name: score.value for name, score in cell.scores.items()}


@pytest.mark.parametrize("layer", [1, 3])
def test_where_a_vector_is_all_that_languages_differ_in_every_token_is_translated(layer, report):
    moved = scores(report, layer, 1.0)
    assert (moved["bleu_1"], moved["convert_rate"], moved["neither"]) == (1.0, 1.0, 0.0)
    assert moved["kept"] == pytest.approx(4 / 17)  # the full stops
    assert moved["gap"] == pytest.approx(1 - moved["others"])
    assert 0.2 < moved["others"] < 0.8
    away = scores(report, layer, -1.0)
    assert (away["convert_rate"], away["kept"]) == (0.0, 1.0)


def test_without_a_shift_the_input_is_copied(report):
    for copied in (report.copy, report.unshifted):
        assert {name: score.value for name, score in copied.items()} == pytest.approx(
            {"bleu_1": 4 / 17, "others": copied["others"].value, "gap": copied["gap"].value, "convert_rate": 0.0,
             "neither": 0.0, "kept": 1.0}
        )  # fmt: skip


def test_far_away_nothing_of_the_source_is_left(report):
    """Forty times the difference: full stops become words too."""
    far = scores(report, 3, 40.0)
    assert (far["convert_rate"], far["kept"]) == (1.0, 0.0)
    assert far["bleu_1"] == pytest.approx(13 / 17)


def test_the_report(report):
    assert (report.layers, report.alphas, report.shown_layer) == ([1, 3], [-1.0, 1.0, 40.0], 3)
    assert report.best.alpha == 1.0
    assert report.sets == {"source": 6, "target": 6, "both": 1}
    assert report.grid("convert_rate").shape == (2, 3)
    assert report.grid("bleu_1")[:, 1].tolist() == [1.0, 1.0]
    told = json.loads(json.dumps(report.to_dict(), allow_nan=False))
    assert told["cells"][1]["scores"]["bleu_1"] == {"value": 1.0, "low": 1.0, "high": 1.0}
    assert told["best"] == {"layer": report.best.layer, "alpha": 1.0}
    first, bleu, rates = translation_tables(report)
    assert [row[0] for row in first.rows] == ["the input, copied", "no shift", "layer 1, alpha 1: the best"]
    assert first.rows[2][1:3] == ["100.0", "[100.0, 100.0]"]
    assert bleu.rows[1] == ["3", "23.5", "100.0", bleu.rows[1][3]]
    assert rates.header == ["layer", "alpha -1", "alpha 1", "alpha 40"]
    assert rates.rows[0][1:3] == ["0.000", "1.000"]
    assert "6 of en, 6 of de, 1 of both" in translation_notes(report)[1]
    assert "Fewer than 30 items in the text (4)" in translation_notes(report)[-1]


def test_samples_are_the_first_sentences(report):
    lines = sample_lines(report)
    assert lines[:4] == [
        "Translated at layer 3", "input      ab cd ef gh ij .", "reference  AB CD EF GH IJ .",
        "alpha 0    ab cd ef gh ij.",
    ]  # fmt: skip
    assert "alpha 1    CD IJ." in lines
    assert len(report.samples) == 2


@pytest.mark.parametrize(("layer", "text"), [(1, "AB CD EF GH IJ."), (3, "ab cd ef gh ij.")])
def test_samples_are_of_the_layer_that_is_asked_for(layer, text, linear):
    """The means differ in layer 1 and not in layer 3."""
    encoder = load_masked_lm(str(linear))
    sides = {language: [pair[side] for pair in PAIRS] for side, language in enumerate(("en", "de"))}
    texts = {language: LanguageText(side, "here", len(side)) for language, side in sides.items()}
    means = measure_means(encoder.model, encoder.tokenizer, texts, name="linear", max_length=32)
    means.tensors["de"][3] = means.tensors["en"][3]
    found = measure_translation(encoder, PAIRS, means, ("en", "de"), layers=[1, 3], alphas=[1], shown_layer=layer)
    assert found.samples[0].outputs == {0.0: "ab cd ef gh ij.", 1.0: text}


def test_intervals_are_of_resampled_sentences(linear, tmp_path):
    """Half of the references are wrong: BLEU-1 moves with how many of them are drawn, the convert rate does not."""
    pairs = [(text, text.upper() if i % 2 else "x x x x") for i, text in enumerate(SENTENCES * 10)]
    text = {"en": SENTENCES, "de": [text.upper() for text in SENTENCES]}
    for language, lines in text.items():
        (tmp_path / language).write_text("\n".join(lines))
    files = {language: [tmp_path / language] for language in text}
    found = translate_tokens(str(linear), pairs, ("en", "de"), text=files, layers=[2], alphas=[1], resamples=200)
    bleu, rate = (found.cells[0].scores[name] for name in ("bleu_1", "convert_rate"))
    assert bleu.low < bleu.value < bleu.high
    assert (rate.low, rate.value, rate.high) == (1.0, 1.0, 1.0)


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """(encoder, adapter, text): a random encoder with a trained adapter and decoder, and text in two languages."""
    folder = tmp_path_factory.mktemp("trained")
    save_masked_encoder(folder / "encoder", num_hidden_layers=3)
    for language, word in (("en", "anna met bob"), ("de", "Anna traf Bob")):
        (folder / f"{language}.txt").write_text("\n".join(f"{word} {'ro' * (i % 5)} {i * 'a'}" for i in range(40)))
    train_language(
        "mul", [folder / "en.txt", folder / "de.txt"], model=str(folder / "encoder"), out=folder / "mul", steps=3,
        batch_size=4, max_length=32, learning_rate=1e-2, head_learning_rate=1e-1,
    )  # fmt: skip
    return folder / "encoder", folder / "mul", {language: [folder / f"{language}.txt"] for language in ("en", "de")}


@torch.no_grad()
@pytest.mark.parametrize("layer", [1, 2, 3])
def test_outputs_are_those_of_the_blocks_above_and_the_head(layer, tmp_path, tiny_config, trained):
    """By hand: the state of the layer, plus alpha times the difference of the means, through the rest of the model."""
    torch.manual_seed(3)
    model = transformers.BertForMaskedLM(tiny_config(num_hidden_layers=3, vocab_size=100)).eval()
    model.save_pretrained(tmp_path)
    transformers.AutoTokenizer.from_pretrained(trained[0]).save_pretrained(tmp_path)
    encoder, texts = load_masked_lm(str(tmp_path)), ["anna met bob", "in rome", "a"]
    rows, _ = encode_texts(encoder.tokenizer, texts)
    vector = 0.8 * torch.randn(16)
    written = write_pieces(encoder, rows, [Shift(vector, layer)])
    plain = write_pieces(encoder, rows)
    for row, output, unshifted in zip(rows, written, plain, strict=True):
        states = model.bert(torch.tensor([row.input_ids]), output_hidden_states=True).hidden_states
        state = states[layer] + vector
        for block in model.bert.encoder.layer[layer:]:
            state = block(state)[0]
        assert output == model.cls(state).argmax(-1)[0].tolist()
        assert unshifted == model(torch.tensor([row.input_ids])).logits.argmax(-1)[0].tolist()
    assert written != plain


def test_a_large_vocabulary_is_decoded_some_rows_at_a_time(linear, monkeypatch):
    encoder = load_masked_lm(str(linear))
    rows, _ = encode_texts(encoder.tokenizer, SENTENCES)
    done, seen = [], []
    whole = write_pieces(encoder, rows)
    monkeypatch.setattr("dlfa_adapters.analysis.translation.measure.LOGITS_AT_ONCE", 16 * 10)
    encoder.model.register_forward_hook(lambda module, inputs, output: seen.append(output.logits.numel()))
    assert write_pieces(encoder, rows, on_progress=done.append) == whole
    assert sum(done) == 4
    assert max(seen) <= 160


def test_an_encoder_with_adapter_and_decoder(trained):
    encoder, adapter, text = trained
    found = translate_tokens(
        str(encoder), [("anna met bob", "Anna traf Bob"), ("rome", "Rom")], ("en", "de"), language_adapter=adapter,
        text=text, units="pieces", alphas=[2], layers=[2],
    )  # fmt: skip
    assert found.means == f"{text['en'][0]}, {text['de'][0]}"
    tokenizer = load_masked_lm(str(encoder), adapter).tokenizer
    for language, side in (("en", "source"), ("de", "target")):
        pieces = set(tokenizer(text[language][0].read_text("utf-8"))["input_ids"]) - set(tokenizer.all_special_ids)
        assert found.sets[side] == len(pieces)


def test_means_of_a_file(linear, tmp_path, report):
    found = translate_tokens(str(linear), PAIRS, ("en", "de"), layers=[1], alphas=[1])
    assert found.means == "the sentences themselves and their translations"
    backwards = translate_tokens(str(linear), [(b, a) for a, b in PAIRS], ("de", "en"), layers=[1], alphas=[1])
    assert scores(backwards, 1, 1.0)["bleu_1"] == 1.0
    assert report.means == found.means


def test_pieces_are_counted_without_special_tokens(linear):
    tokenizer = load_masked_lm(str(linear)).tokenizer
    text = Translated.of(tokenizer, PAIRS, "pieces", 128, None)
    assert text.inputs()[1] == [7, 10, 5]
    assert text.references[1] == "12 15 5"
    assert text.words([7, 4, 10, 3]) == "cd ij"  # [MASK] and [SEP], which the model may write
    counts = text.counts(text.inputs())
    assert counts.shape == (4, 12)
    assert counts[1].tolist() == [2, 0, 1, 0, 1, 3, 3, 1, 3, 4, 3, 3]  # against itself, and "GH AB EF ."
    assert np.array_equal(counts[:, -1], [6, 3, 4, 4])


def test_what_is_longer_than_the_limit_is_told(linear):
    found = translate_tokens(str(linear), PAIRS, ("en", "de"), layers=[1], alphas=[1], max_length=6)
    assert found.cut.n_truncated == 1
    assert "1 sentences were cut: 2 of 25 pieces." in translation_notes(found)


def test_what_is_longer_than_the_encoder_takes_is_cut_and_told(linear):
    """32 positions, two of them special."""
    found = translate_tokens(str(linear), [("ab " * 40, "AB " * 40), *PAIRS], ("xx", "yy"))
    assert found.cut.n_truncated == 1
    assert found.cut.pieces_dropped == 10


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"layers": [0]}, ConfigError, "layer from 1 to 3 of this encoder, got 0"),
        ({"layers": [4]}, ConfigError, "layer from 1 to 3 of this encoder, got 4"),
        ({"layers": []}, ConfigError, "Name a layer to shift at"),
        ({"layers": [1, 2], "shown_layer": 3}, ConfigError, r"shifted at, \[1, 2\], got 3"),
        ({"alphas": [0]}, ConfigError, "finite weights other than 0, got 0"),
        ({"alphas": [1, float("nan")]}, ConfigError, "finite weights other than 0, got 1, nan"),
        ({"units": "words"}, ConfigError, "BLEU-1 counts one of"),
        ({"max_length": 33}, ConfigError, "max_length is 33, but this encoder has 32 positions; type --max-length 32"),
        ({"text": {"en": ["x.txt"]}}, ConfigError, "expected text of en and de, got that of en"),
        ({"means": "no.safetensors"}, DataError, "expected a file of language means"),
    ],
)
def test_what_cannot_work_is_refused(linear, options, error, message):
    with pytest.raises(error, match=message):
        translate_tokens(str(linear), PAIRS, ("en", "de"), **options)


def test_a_pair_alone_is_refused(linear):
    with pytest.raises(DataError, match="expected two or more pairs of a sentence and its translation, got 1"):
        translate_tokens(str(linear), PAIRS[:1], ("en", "de"))


def test_means_of_another_model_are_refused(linear, trained, tmp_path):
    encoder, adapter, text = trained
    other = load_masked_lm(str(encoder), adapter)
    found = measure_means(other.model, other.tokenizer, {x: text_of_files(text[x]) for x in text}, name="other")
    found.save(tmp_path / "means.safetensors")
    with pytest.raises(ConfigError, match="make means of this model"):
        translate_tokens(str(linear), PAIRS, ("en", "de"), means=tmp_path / "means.safetensors")
    again = translate_tokens(
        str(encoder), PAIRS, ("en", "de"), language_adapter=adapter, means=tmp_path / "means.safetensors", layers=[1]
    )
    assert again.means == f"{text['en'][0]}, {text['de'][0]}"
    direct = measure_translation(
        other, PAIRS, LanguageMeans.read(tmp_path / "means.safetensors"), ("en", "de"), layers=[1]
    )
    assert again.cells == direct.cells


@pytest.fixture
def translate(monkeypatch):
    monkeypatch.setattr("dlfa_cli.screen.quiet_libraries", lambda: None)  # it would silence the rest of the session
    return lambda *arguments: CliRunner().invoke(app, ["analyze", "translate", *map(str, arguments)])


@pytest.fixture
def parallel(tmp_path):
    (tmp_path / "en-de.tsv").write_text("".join(f"{a}\t{b}\n" for a, b in PAIRS), "utf-8")
    return tmp_path / "en-de.tsv"


def test_the_command_prints_tables_samples_and_notes(translate, linear, parallel, tmp_path):
    done = translate("--parallel", parallel, "--model", linear, "--layers", "1,3", "--plot", tmp_path / "grid.svg")
    assert done.exit_code == 0, done.output
    assert f"en → de, {linear}: 4 sentences" in done.stdout
    assert "alpha 1    AB CD EF GH IJ." in done.stdout
    assert "Convert rate: the share of tokens of de alone" in done.stdout
    drawing = (tmp_path / "grid.svg").read_text("utf-8")
    assert drawing.count("layer 3") >= 2
    assert "en → de" in drawing


def test_the_command_backwards_as_json(translate, linear, parallel):
    done = translate("--parallel", parallel, "--model", linear, "--reverse", "--alphas", "1", "--limit", 3, "--json")
    told = json.loads(done.stdout)
    assert (told["languages"], told["sentences"], len(told["cells"])) == (["de", "en"], 3, 3)
    assert told["samples"][0]["outputs"][-1] == {"alpha": 1.0, "text": "ab cd ef gh ij."}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "add --parallel FILE"),
        (["--parallel", "TEXT", "--model", "offline"], "The offline encoder has no decoder"),
        (["--parallel", "TEXT", "--language-adapter", "no"], r"There is no decoder in no \(decoder.safetensors\)"),
        (["--parallel", "TEXT", "--alphas", "one"], "expected weights such as 0.5,1,2 in --alphas, got 'one'"),
        (["--parallel", "TEXT", "--units", "words"], "BLEU-1 counts one of"),
        (["--parallel", "TEXT", "--text", "en"], "--text expects LANGUAGE=FILE"),
        (["--parallel", "TEXT", "--text", "en=TEXT"], "expected text of en and de, got that of en"),
        (["--parallel", "TEXT", "--means", "TEXT"], "expected a file of language means"),
        (["--parallel", "TEXT", "--plot", "x.jpg"], r"ends in \.svg, \.png, \.pdf, got x\.jpg"),
        (["--parallel", "x=TEXT"], "does not say which languages it has; type en-de="),
    ],
)
def test_what_the_command_refuses(translate, parallel, arguments, message):
    done = translate(*(argument.replace("TEXT", str(parallel)) for argument in arguments))
    assert done.exit_code == 1
    with pytest.raises((ConfigError, DataError), match=message):
        raise done.exception
