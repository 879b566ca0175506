"""Means of languages from text and data: what counts, by hand; and `dlfa analyze means`."""

import json

import pytest
import torch
from tiny_tokenizer import character_tokenizer
from tokenizers import Tokenizer, models, pre_tokenizers, processors
from transformers import PreTrainedTokenizerFast
from typer.testing import CliRunner

from dlfa_adapters.analysis.language_text import CountedRows, LanguageText, text_of_data, text_of_files
from dlfa_adapters.analysis.means import measure_encoder_means, measure_means, measure_run_means
from dlfa_adapters.analysis.means_table import mean_cosines, means_notes, means_tables
from dlfa_adapters.encoders import load_encoder
from dlfa_adapters.encoders.means import LanguageMeans
from dlfa_adapters.encoders.means_record import read_record
from dlfa_adapters.encoders.shift import shift_language
from dlfa_adapters.ground.errors import ConfigError, DataError, DLFAError
from dlfa_adapters.learning import train
from dlfa_adapters.predict.load import load_run
from dlfa_cli.main import app

NER = [(["Anna", "met", "Bob"], ["B-PER", "O", "B-PER"]), (["in", "Rome"], ["O", "B-LOC"])] * 3


@pytest.fixture(scope="module")
def encoder(tiny_folder):
    return load_encoder(str(tiny_folder))


def states_alone(encoder, ids):
    with torch.no_grad():
        outputs = encoder.model.base_model(torch.tensor([ids]), output_hidden_states=True)
    return torch.stack(outputs.hidden_states, dim=2)[0].double()  # (tokens, layers, width)


def texts(*given, **dropped):
    return LanguageText(given, "here", len(given))


def test_pieces_by_hand(encoder):
    """Everything but [CLS] and [SEP]; running text as it stands."""
    tokenizer = encoder.tokenizer
    found = measure_means(encoder.model, tokenizer, {"en": texts("Anna met Bob", "in Rome")}, name="tiny")
    parts = []
    for text in ("Anna met Bob", "in Rome"):
        ids = tokenizer(text)["input_ids"]
        assert ids[0] == tokenizer.cls_token_id
        assert ids[-1] == tokenizer.sep_token_id
        parts.append(states_alone(encoder, ids)[1:-1])
    together = torch.cat(parts)
    torch.testing.assert_close(found.of("en").double(), together.mean(0), rtol=0, atol=1e-6)
    assert found.record.languages["en"].count == len(together)
    assert found.record.languages["en"].texts == 2
    assert (found.record.unit, found.record.encoder["num_hidden_layers"]) == ("pieces", 3)


def test_words_by_hand(encoder):
    """Every word once, whatever its number of pieces."""
    sentence = ["Anna", "met", "a", "Bob"]
    found = measure_means(encoder.model, encoder.tokenizer, {"en": texts(sentence)}, name="tiny", unit="words")
    pieces = [encoder.tokenizer(word, add_special_tokens=False)["input_ids"] for word in sentence]
    assert len({len(ids) for ids in pieces}) > 1
    ids = [encoder.tokenizer.cls_token_id, *(i for word in pieces for i in word), encoder.tokenizer.sep_token_id]
    states, at, words = states_alone(encoder, ids), 1, []
    for word in pieces:
        words.append(states[at : at + len(word)].mean(0))
        at += len(word)
    torch.testing.assert_close(found.of("en").double(), torch.stack(words).mean(0), rtol=0, atol=1e-6)
    assert found.record.languages["en"].count == 4
    by_pieces = measure_means(encoder.model, encoder.tokenizer, {"en": texts(sentence)}, name="tiny")
    assert by_pieces.record.languages["en"].count == sum(map(len, pieces))
    assert not torch.allclose(by_pieces.of("en"), found.of("en"), atol=1e-4)
    running = measure_means(encoder.model, encoder.tokenizer, {"en": texts("Anna met a Bob")}, name="x", unit="words")
    torch.testing.assert_close(running.of("en"), found.of("en"))


@pytest.mark.parametrize("unit", ["pieces", "words"])
@pytest.mark.parametrize("length", [8, 20, 128])
def test_every_piece_and_word_counts_once_however_long_the_text(encoder, unit, length):
    words = ["Anna", "met", "Bob", "in", "Rome", "and", "Bank", "far"] * 5
    pieces = sum(len(encoder.tokenizer(word, add_special_tokens=False)["input_ids"]) for word in words)
    for text in (words, " ".join(words)):
        rows = CountedRows(encoder.tokenizer, unit, length)
        found = list(rows.of([text], "en"))
        assert all(len(row.input_ids) == len(row.weights) <= length for row in found)
        expected = pieces if unit == "pieces" else len(words)
        assert sum(sum(row.weights) for row in found) == pytest.approx(expected)
        assert not +rows.dropped


def test_marks_of_words_are_pieces_and_no_part_of_a_word():
    """A SentencePiece tokenizer begins a word with a bare mark where it has no longer piece."""
    pieces = {piece: i for i, piece in enumerate(["<s>", "</s>", "<unk>", "<pad>", "\u2581", "a", "b"])}
    tok = Tokenizer(models.BPE(pieces, [], unk_token="<unk>"))
    tok.pre_tokenizer = pre_tokenizers.Metaspace()
    tok.post_processor = processors.TemplateProcessing(single="<s> $A </s>", special_tokens=[("<s>", 0), ("</s>", 1)])
    names = {"cls_token": "<s>", "sep_token": "</s>", "unk_token": "<unk>", "pad_token": "<pad>"}
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=tok, **names)
    expected = {"pieces": [0.0, 1.0, 1.0, 1.0, 1.0, 1.0, 0.0], "words": [0.0, 0.0, 0.5, 0.5, 0.0, 1.0, 0.0]}
    for unit, weights in expected.items():
        for text in (["ab", "a"], "ab a"):
            [row] = CountedRows(tokenizer, unit, 128).of([text], "en")
            assert row.input_ids == [0, 4, 5, 6, 4, 5, 1]
            assert row.weights == weights


def test_pairs_are_read_as_pairs_and_what_is_cut_off_is_counted(encoder):
    tokenizer, pair = character_tokenizer(), ("Anna met Bob", "in Rome")
    tokenizer.backend_tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    tokenizer.model_input_names = ["input_ids", "token_type_ids", "attention_mask"]
    found = measure_means(encoder.model, tokenizer, {"en": texts(pair)}, name="tiny")
    row = tokenizer(*pair)
    assert [row["input_ids"].count(special) for special in (2, 3)] == [1, 2]
    given = {name: torch.tensor([row[name]]) for name in ("input_ids", "token_type_ids")}
    with torch.no_grad():
        outputs = encoder.model.base_model(**given, output_hidden_states=True)
    states = torch.stack(outputs.hidden_states, dim=2)[0]
    inside = [i for i, piece in enumerate(row["input_ids"]) if piece not in (2, 3)]
    torch.testing.assert_close(found.of("en"), states[inside].mean(0), rtol=0, atol=1e-6)
    short = measure_means(encoder.model, tokenizer, {"en": texts(pair)}, name="tiny", max_length=8)
    assert short.record.languages["en"].dropped == {"pieces_cut_off": len(row["input_ids"]) - 8}
    assert short.record.languages["en"].count == 5
    assert means_notes(short)[1] == f"Left out: pieces of pairs that are too long ({len(row['input_ids']) - 8})."
    by_words = measure_means(encoder.model, tokenizer, {"en": texts(pair)}, name="tiny", unit="words")
    assert by_words.record.languages["en"].count == 5


def test_special_tokens_in_a_text_are_text(encoder):
    row = next(iter(CountedRows(encoder.tokenizer, "pieces", 128).of(["a [SEP] b"], "en")))
    assert row.weights == [0.0, *[1.0] * (len(row.input_ids) - 2), 0.0]


def test_files_are_read_line_by_line(tmp_path):
    path = tmp_path / "en.txt"
    path.write_bytes("\ufeffAnna\r\n\n  \nmet Bob\nin\u2028Rome".encode())
    text = text_of_files([path, path])
    assert text.total == 6
    assert list(text.texts) == ["Anna", "met Bob", "in\u2028Rome"] * 2
    assert text.dropped == {"empty_line": 4}
    assert list(text_of_files([path], limit=2).texts) == ["Anna", "met Bob"]
    path.write_bytes(b"Anna\nr\xe9sum\xe9\n")
    with pytest.raises(DataError, match=r"en\.txt, line 2: expected UTF-8, but got byte 0xE9 at position 2"):
        text_of_files([path])
    path.write_text("\n \n", "utf-8")
    with pytest.raises(DataError, match="expected lines of text; there are none"):
        text_of_files([path])


def test_data_give_their_words_and_texts_by_language(tmp_path):
    for language in ("de", "sw"):
        (tmp_path / f"test-{language}.tsv").write_text("Anna\tB-PER\nmet\tO\n\nBob\tB-PER\n\n", "utf-8")
    found, loaded = text_of_data(tmp_path, "ner", "test", ["sw", "de"])
    assert list(found) == ["sw", "de"]
    assert list(found["de"].texts) == [["Anna", "met"], ["Bob"]]
    assert found["de"].source == f"{loaded.source} (test)"
    single, _ = text_of_data([("a text", "x"), ("another", "y")], None, languages=["en"])
    assert list(single["en"].texts) == ["a text", "another"]
    pairs, _ = text_of_data([("a", "b", "x"), ("c", "d", "y")], None, languages=["en"], limit=1)
    assert list(pairs["en"].texts) == [("a", "b")]
    with pytest.raises(DataError, match="expected data that say their language; name it with --languages"):
        text_of_data([("a text", "x"), ("another", "y")])


def test_means_of_a_run_are_of_its_own_encoder(tiny_folder, tmp_path):
    given = {"language": "en", "model": str(tiny_folder), "batch_size": 3, "epochs": 2, "learning_rate": 1e-2}
    run = train("ner", train_data=NER, dev_data=NER, tuning="lora", out=tmp_path / "run", fuse_layer=2, **given)
    found = measure_run_means(run, {"en": texts(["Anna"]), "de": texts(["Bob"])})
    plain = measure_encoder_means(load_encoder(str(tiny_folder)), {"en": texts(["Anna"]), "de": texts(["Bob"])})
    assert torch.equal(found.of("en")[0], plain.of("en")[0])
    assert not torch.allclose(found.of("en")[3], plain.of("en")[3], atol=1e-4)
    predictor = load_run(run)
    with shift_language(predictor.model, found, source="de", target="en", layer=2):
        predictor.predict([["Anna"]])
    with pytest.raises(ConfigError, match="make means of this model"):
        with shift_language(predictor.model, plain, source="de", target="en", layer=2):
            pass


def test_tables(encoder):
    found = measure_encoder_means(encoder, {"en": texts("Anna"), "de": texts("Bob met Anna")})
    first, second = means_tables(found)
    pieces = [row[2] for row in first.rows]
    assert first.header == ["language", "texts", "pieces"]
    assert pieces == [str(found.record.languages[language].count) for language in ("en", "de")]
    assert second.header == ["layer", "0", "1", "2", "3"]
    a, b = found.of("en")[1], found.of("de")[1]
    assert second.rows[0][2] == f"{(a @ b / a.norm() / b.norm()).item():.3f}"
    assert mean_cosines(found)["de"].shape == (4,)
    assert len(means_tables(measure_encoder_means(encoder, {"en": texts("Anna")}))) == 1


@pytest.fixture
def dlfa(tmp_path, monkeypatch):
    """Run `dlfa analyze means` in a folder of its own."""
    monkeypatch.chdir(tmp_path)
    for language, text in (("en", "Anna met Bob\nin Rome\n"), ("de", "die Bank\n\n"), ("sw", "a b c\n")):
        (tmp_path / f"{language}.txt").write_text(text, "utf-8")
    return lambda *args: CliRunner().invoke(app, ["analyze", "means", *map(str, args)])


def test_the_command_writes_a_file_and_adds_to_it(dlfa, tiny_folder, tmp_path):
    pytest.importorskip("matplotlib")
    about = ("--model", tiny_folder, "--plot", "means.svg")
    done = dlfa(*about, "--text", "en=en.txt", "--text", "de=de.txt")
    assert done.exit_code == 0, done.output
    assert "Every piece counts alike but special ones." in done.stdout
    assert "Left out: empty lines (1)." in done.stdout
    assert (tmp_path / "means.svg").stat().st_size > 1000
    read = LanguageMeans.read("means.safetensors")
    assert list(read.tensors) == ["en", "de"]
    again = dlfa(*about, "--text", "sw=sw.txt")
    assert "means.safetensors exists; give another file with --out, or type --add" in str(again.exception)
    added = dlfa(*about, "--text", "sw=sw.txt", "--add", "--json")
    assert added.exit_code == 0, added.output
    assert list(json.loads(added.stdout)["languages"]) == ["en", "de", "sw"]
    assert torch.equal(LanguageMeans.read("means.safetensors").of("en"), read.of("en"))
    assert "Replaced" not in added.stderr
    anew = dlfa("--model", tiny_folder, "--text", "sw=de.txt", "--text", "fr=de.txt", "--add")
    assert "Replaced: the earlier mean of sw." in anew.stderr
    other = dlfa("--model", tiny_folder, "--text", "sw=sw.txt", "--add", "--by", "words")
    assert "write them to another file" in str(other.exception)


def test_the_command_reads_data(dlfa, tiny_folder, tmp_path):
    (tmp_path / "train-de.tsv").write_text("Anna\tB-PER\n\n", "utf-8")
    done = dlfa("--model", tiny_folder, "--data", "train-de.tsv", "--by", "words", "--out", "x.safetensors", "--json")
    assert done.exit_code == 0, done.output
    record = read_record("x.safetensors")
    assert record.unit == "words"
    assert record.languages["de"].count == 1


@pytest.mark.parametrize(
    ("args", "sentence"),
    [
        ((), "Name text, --text de=FILE for each language, or labelled data with --data."),
        (("--text", "en=en.txt", "--data", "samples:ner"), "or labelled data with --data"),
        (("--text", "en.txt"), "--text expects LANGUAGE=FILE, got 'en.txt'; type e.g. --text en=en.txt."),
        (("--text", "en=no.txt"), "no.txt: expected a file or a folder, but there is none of this name"),
        (("--text", "en=en.txt", "--by", "tokens"), "--by must be one of pieces, words; got 'tokens'."),
        (("--text", "en=en.txt", "--format", "text"), "format says how data are read"),
        (("--text", "en=en.txt", "--add"), "expected a file of language means, but there is none of this name"),
        (("run", "--model", "offline", "--text", "en=en.txt"), "Give a run, or an encoder with --model, not both."),
        (("--text", "en=en.txt", "--language-adapter", "en=x"), "--language-adapter is for runs of --tuning stack"),
        (("--text", "en=en.txt", "--plot", "x.txt"), "--plot expects a file that ends in"),
        (("--data", "no/", "--split", "test"), "there is none of this name"),
    ],
)
def test_what_is_refused_before_anything_is_loaded(dlfa, monkeypatch, args, sentence):
    monkeypatch.setattr("dlfa_cli.screen.loading", None)
    done = dlfa(*args)
    assert isinstance(done.exception, DLFAError)
    assert sentence in str(done.exception)
