"""Training a language adapter: perplexity falls, the encoder stays, and a folder is whole or not there."""

import json
import shutil

import numpy as np
import pytest
import torch
import transformers
from safetensors.torch import load_file
from test_resume import die, killed
from tiny_masked import save_masked_encoder

from dlfa_adapters.encoders import load_encoder
from dlfa_adapters.ground.errors import ConfigError, DataError, RunError
from dlfa_adapters.heads.language import RECORD
from dlfa_adapters.learning import resume_language, train_language
from dlfa_adapters.learning.language.masking import MaskedDraws, Masking
from dlfa_adapters.learning.language.text import hold_out, mask_text, read_paragraphs
from dlfa_adapters.runs.lifecycle import work_folder

WORDS = "anna bob met in rome new york is far the bank of and acme".split()


@pytest.fixture(scope="module")
def encoder(tmp_path_factory):
    """The folder of a tiny BERT without a decoder, whose tokenizer has a mask token."""
    folder = tmp_path_factory.mktemp("masked")
    save_masked_encoder(folder, hidden_size=32, max_position_embeddings=64)
    return folder


@pytest.fixture(scope="module")
def text(tmp_path_factory):
    """200 paragraphs of words in a fixed order, so that there is something to learn."""
    folder, random = tmp_path_factory.mktemp("text"), np.random.default_rng(0)
    lines = []
    for start in random.integers(len(WORDS), size=200):
        lines.append(" ".join(WORDS[(start + i) % len(WORDS)] for i in range(4)))
    (folder / "xx.txt").write_text("\n".join(f"{line} {i % 7 * 'a'}" for i, line in enumerate(lines)), "utf-8")
    return folder / "xx.txt"


@pytest.fixture(scope="module")
def learn(encoder, text):
    """learn(out, ...): a short training; what it gives."""

    def run(out, steps=12, language="xx", **options):
        defaults = {"model": str(encoder), "batch_size": 8, "max_length": 32, "every": 4}
        return train_language(language, text, out=out, steps=steps, **{**defaults, **options})

    return run


@pytest.fixture(scope="module")
def trained(learn, tmp_path_factory):
    rates = {"learning_rate": 3e-2, "head_learning_rate": 1e-1}
    return learn(tmp_path_factory.mktemp("adapters") / "xx", steps=80, **rates)


def weights(folder):
    return load_file(folder / "adapter.safetensors")


def assert_equal_weights(ours, theirs, tolerance=0.0):
    assert ours.keys() == theirs.keys()
    assert len(ours) > 10
    for key, tensor in ours.items():
        torch.testing.assert_close(tensor, theirs[key], rtol=0, atol=tolerance, msg=key)


def test_perplexity_falls_and_the_record_says_so(trained, encoder):
    measured = trained.record["perplexity"]
    assert 17.2 < measured["before"] < 23  # to know how often each piece occurs, and no more, gives 17.2
    assert measured["after"] < 14
    record = json.loads((trained.folder / RECORD).read_text("utf-8"))
    assert record == trained.record
    assert record["adapter"] == {"config": "seq_bn_inv", "reduction": 2, "leave_out": [], "decoder": "new"}
    assert record["encoder"] == load_encoder(str(encoder)).describe()
    assert (record["language"], record["training"]["steps"], record["text"]["held_out"]) == ("xx", 80, 4)
    assert record["versions"]["adapters"].startswith("1.3")
    assert set(record["files"]) == {"adapter.safetensors", "adapter_config.json", "decoder.safetensors"}
    assert sorted(path.name for path in trained.folder.iterdir()) == sorted([*record["files"], RECORD])
    assert not work_folder(trained.folder).exists()


def test_the_encoder_stays_as_it_is(learn, encoder, tmp_path):
    """To the bit; and every part of the adapter has moved, its invertible one too."""
    kept = {}

    def keep(plan):
        state = plan.encoder.model.state_dict()
        kept.update(plan=plan, start={name: tensor.clone() for name, tensor in state.items()})

    moved = weights(learn(tmp_path / "xx", steps=3, learning_rate=1e-2, on_start=keep).folder)
    model = kept["plan"].encoder.model
    fresh = load_encoder(str(encoder)).model
    before = dict(fresh.base_model.named_parameters())
    after = {name: p for name, p in model.base_model.named_parameters() if ".xx." not in name}
    assert before.keys() == after.keys()
    assert all(p.equal(after[name]) for name, p in before.items())
    assert any("invertible_adapters" in name for name in moved)
    assert all(not tensor.equal(kept["start"][name]) for name, tensor in moved.items())
    assert not [name for name in moved if ".xx." not in name]


def test_loaded_again_it_gives_the_same_states(learn, encoder, tmp_path):
    """On an encoder that was loaded anew; tests/learning/test_train_tunings.py does so in another process."""
    kept = {}
    trained = learn(tmp_path / "xx", steps=3, learning_rate=1e-2, on_start=lambda plan: kept.update(plan=plan))
    model, again, ids = kept["plan"].encoder.model.eval(), load_encoder(str(encoder)).model, torch.arange(5, 25)[None]
    again.set_active_adapters(again.load_language_adapter(trained.folder))
    with torch.no_grad():
        expected = model.base_model(input_ids=ids).last_hidden_state
        assert again.base_model(input_ids=ids).last_hidden_state.equal(expected)
        model.set_active_adapters(None)
        assert not torch.allclose(model.base_model(input_ids=ids).last_hidden_state, expected, atol=1e-3)


def test_smaller_batches_at_once_give_the_same_gradients(learn, encoder, tmp_path, monkeypatch):
    """Rows differ in length, and so in hidden pieces: the loss is over the whole batch."""
    found, still = [], tmp_path / "without-dropout"
    shutil.copytree(encoder, still)
    config = json.loads((still / "config.json").read_text())
    (still / "config.json").write_text(json.dumps({**config, "hidden_dropout_prob": 0.0}))

    def keep(model, step, learning):
        found.append({name: p.grad.clone() for name, p in model.named_parameters() if p.grad is not None})

    monkeypatch.setattr("dlfa_adapters.learning.trainer.check_gradients", keep)
    for size in (8, 4, 2):
        learn(tmp_path / f"{size}", steps=1, model=str(still), micro_batch_size=size, max_grad_norm=1e9)
    whole, *parts = found
    assert len(whole) > 10
    for part in parts:
        assert_equal_weights(part, whole, tolerance=1e-6)
    assert max(float(gradient.abs().max()) for gradient in whole.values()) > 1e-2


@pytest.mark.parametrize(
    "options",
    [
        {"config": "seq_bn", "leave_out": [2]},
        {"config": "double_seq_bn_inv", "reduction": 4},
        {"precision": "bf16"},
        {"gradient_checkpointing": True},
    ],
)
def test_options(options, learn, tmp_path):
    trained = learn(tmp_path / "xx", steps=2, **options)
    assert np.isfinite(trained.record["perplexity"]["after"])
    names = weights(trained.folder)
    assert any("invertible" in name for name in names) == (options.get("config") != "seq_bn")
    if "leave_out" in options:
        assert {name.split("layer.")[1][0] for name in names} == {"0"}
        assert trained.record["adapter"]["leave_out"] == [2]


def test_a_checkpoint_with_a_decoder(encoder, learn, tmp_path):
    tokenizer = transformers.AutoTokenizer.from_pretrained(encoder)
    torch.manual_seed(1)
    model = transformers.BertForMaskedLM(transformers.AutoConfig.from_pretrained(encoder))
    model.save_pretrained(tmp_path / "whole")
    tokenizer.save_pretrained(tmp_path / "whole")
    kept = {}
    trained = learn(
        tmp_path / "xx", steps=1, model=str(tmp_path / "whole"), on_start=lambda plan: kept.update(plan=plan)
    )
    assert trained.record["adapter"]["decoder"] == "the checkpoint's"
    assert list(kept["plan"].encoder.model.heads) == ["masked_lm"]


# Killed


@pytest.fixture(scope="module")
def through(learn, tmp_path_factory):
    return learn(tmp_path_factory.mktemp("through") / "xx")


@pytest.mark.parametrize("step", [2, 7])
def test_killed_at_a_step(step, learn, through, tmp_path):
    seen = [0]

    def progress(stage, done, total):
        seen[0] += done if stage == "Training" else 0
        if seen[0] == step:
            die()

    killed(lambda: learn(tmp_path / "xx", progress=progress))
    assert not (tmp_path / "xx").exists()
    assert (work_folder(tmp_path / "xx") / "checkpoint-4").exists() == (step > 4)
    resumed = resume_language(tmp_path / "xx")
    assert_equal_weights(weights(resumed.folder), weights(through.folder))
    assert resumed.record["perplexity"] == through.record["perplexity"]
    assert [path.name for path in tmp_path.iterdir()] == ["xx"]


@pytest.mark.parametrize("moment", ["dlfa_adapters.runs.sha256_of", "remove_work"])
def test_killed_while_the_folder_is_written(moment, learn, through, tmp_path, monkeypatch):
    """The weights are there, the record is not; or all is there and the checkpoints were about to go."""
    with monkeypatch.context() as patch:
        if moment == "remove_work":
            patch.setattr("dlfa_adapters.runs.lifecycle.remove_work", die)
        else:
            patch.setattr("dlfa_adapters.runs.sha256_of", die)
        killed(lambda: learn(tmp_path / "xx", every=100))
    assert (tmp_path / "xx").exists() == (moment == "remove_work")
    if moment == "remove_work":
        assert (tmp_path / "xx" / RECORD).is_file()
    resumed = resume_language(tmp_path / "xx")
    assert_equal_weights(weights(resumed.folder), weights(through.folder))
    assert [path.name for path in tmp_path.iterdir()] == ["xx"]


def test_resuming_something_else_is_refused(learn, through, tmp_path):
    with pytest.raises(RunError, match="There is no training of"):
        resume_language(tmp_path / "xx")
    assert resume_language(through.folder) == through  # it had ended
    killed(lambda: learn(tmp_path / "xx", progress=lambda stage, *_: stage == "Training" and die()))
    with pytest.raises(RunError, match="began with steps=12, now it is 13"):
        learn(tmp_path / "xx", steps=13, resume=True)


# Text


@pytest.fixture(scope="module")
def tokenizer(encoder):
    return load_encoder(str(encoder)).tokenizer


def test_nothing_is_lost_between_text_and_rows(tokenizer, tmp_path):
    """Long paragraphs are cut, short ones share a row, and each piece is in one row."""
    lines = [f"{'ab' * (i % 30 + 1)} {'xyz'[i // 30] * 3}" for i in range(60)]
    (tmp_path / "a.txt").write_text("\n".join(["", *lines, "  "]), "utf-8")
    text = mask_text([tmp_path / "a.txt"], "text", tokenizer, max_length=16, count=7, seed=0)
    held, kept = hold_out(lines, 0)
    special = {tokenizer.cls_token_id, tokenizer.sep_token_id}
    found = [piece for row in text.rows.source for piece in row if piece not in special]
    assert found == [piece for line in kept for piece in tokenizer(line, add_special_tokens=False)["input_ids"]]
    assert all(len(row) <= 16 and row[0] == tokenizer.cls_token_id for row in text.rows.source)
    assert all(row[-1] == tokenizer.sep_token_id for row in text.rows.source)
    assert sum(list(row).count(tokenizer.sep_token_id) for row in text.rows.source) >= len(kept)
    shown = [[p if q == -100 else q for p, q in zip(row.input_ids, row.labels, strict=True)] for row in text.held_out]
    found = [piece for row in shown for piece in row if piece not in special]
    assert found == [piece for line in held for piece in tokenizer(line, add_special_tokens=False)["input_ids"]]
    assert (len(held), text.about["paragraphs"], text.about["held_out"]) == (3, 60, 3)
    assert text.about["dropped"] == {"empty_line": 2}


def test_what_is_held_out_is_not_learnt_from():
    lines = [f"line {i}" for i in range(20_000)] + ["line 3", "line 4"] * 50
    held, kept = hold_out(lines, 1)
    assert len(held) == 500
    assert not set(held) & set(kept)
    assert len(kept) + sum(lines.count(text) for text in held) == len(lines)
    assert hold_out(lines, 1) == (held, kept)
    assert hold_out(lines, 2)[0] != held


def test_masks(tokenizer):
    """15 % of the pieces; of these 80 % masked, 10 % another piece, 10 % as they were; never a special token."""
    masking, random = Masking(tokenizer), np.random.default_rng(0)
    row = np.array([2, *random.integers(4, 80, 200), 1, 3])
    fates = np.zeros(3)
    for _ in range(400):
        masked = masking(row, random)
        ids, labels = np.array(masked.input_ids), np.array(masked.labels)
        hidden = labels != -100
        assert hidden.sum() == 30
        assert not hidden[[0, -1, -2]].any()
        assert (labels[hidden] == row[hidden]).all()
        assert (ids[~hidden] == row[~hidden]).all()
        same, mask = ids[hidden] == row[hidden], ids[hidden] == tokenizer.mask_token_id
        fates += [mask.sum(), (~mask & ~same).sum(), same.sum()]
        assert not masking.is_special[ids[hidden & (ids != tokenizer.mask_token_id)]].any()
    shares = fates / fates.sum()
    np.testing.assert_allclose(shares, [0.8, 0.1, 0.1], atol=0.01)
    assert sum(label != -100 for label in masking(np.array([2, 7, 3]), random).labels) == 1


def test_draws_depend_on_seed_and_number_alone(tokenizer):
    rows = [np.array([2, *range(4, 4 + n), 3]) for n in range(5, 25)]
    draws = MaskedDraws(rows, Masking(tokenizer), 50, seed=3)
    again = MaskedDraws(rows, Masking(tokenizer), 50, seed=3)
    assert [draws[i] for i in range(50)] == [again[i] for i in reversed(range(50))][::-1]
    lengths = [len(draws[i].input_ids) for i in range(40)]
    assert sorted(lengths[:20]) == sorted(lengths[20:]) == [len(row) for row in rows]
    assert lengths[:20] != lengths[20:]
    assert [draws[i] for i in range(50)] != [MaskedDraws(rows, Masking(tokenizer), 50, seed=4)[i] for i in range(50)]


def test_labelled_data_as_text(items, tmp_path):
    """The words of sentences, without prefix and tags; and both texts of pairs."""
    rows = ["".join(f"en:{word}\t{tag}\n" for word, tag in zip(*sentence, strict=True)) for sentence in items["ner"]]
    (tmp_path / "train.tsv").write_text("\n".join(rows), "utf-8")
    paragraphs, _ = read_paragraphs([tmp_path / "train.tsv"], "wikiann")
    assert paragraphs == [" ".join(words) for words, _ in items["ner"]]
    (tmp_path / "pairs.tsv").write_text("".join(f"{a}\t{b}\t{label}\n" for a, b, label in items["xnli"]), "utf-8")
    paragraphs, _ = read_paragraphs([tmp_path / "pairs.tsv"], "xnli")
    assert paragraphs == [text for pair in items["xnli"] for text in pair[:2]]


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"language": "a.b"}, ConfigError, "language adapter name cannot contain a dot"),
        ({"language": "to"}, ConfigError, "cannot be called 'to'.*type e.g. 'to_language_adapter'"),
        ({"config": "lora"}, ConfigError, "config must be one of seq_bn_inv, seq_bn"),
        ({"reduction": 0}, ConfigError, "reduction must be a number above 0, got 0"),
        ({"leave_out": [3]}, ConfigError, "blocks 1 to 2 of this encoder, got 3; type 2"),
        ({"leave_out": [1, 2]}, ConfigError, "got 1, 2; type 2"),
        ({"steps": 0}, ConfigError, "steps must be a whole number from 1 up"),
        ({"fuse_layer": 2}, ConfigError, "has no option 'fuse_layer'; it has batch_size"),
        ({"max_length": 65}, ConfigError, "max_length is 65, but this encoder has 64 positions"),
        ({"max_length": 3}, ConfigError, "max_length must be at least 4"),
        ({"batch_size": 8, "micro_batch_size": 3}, ConfigError, "cannot be divided"),
        ({"format": "texts"}, ConfigError, "expected a format among"),
    ],
)
def test_options_that_are_refused(options, error, message, learn, tmp_path):
    with pytest.raises(error, match=message):
        learn(tmp_path / "xx", **options)
    assert not list(tmp_path.iterdir())


def test_text_and_encoders_that_are_refused(learn, encoder, tiny_folder, tmp_path):
    few = tmp_path / "few.txt"
    few.write_text("one line\n" * 100, "utf-8")
    for text, model, error, message in (
        (few, encoder, DataError, "at least 20 different paragraphs, one a line, got 1"),
        (tmp_path / "none.txt", encoder, DataError, "there is none of this name"),
        (few, tiny_folder, ConfigError, "needs a mask token, and PreTrainedTokenizerFast of this encoder has none"),
    ):
        with pytest.raises(error, match=message):
            train_language("xx", text, model=str(model), out=tmp_path / "xx", max_length=32)
    (tmp_path / "xx").mkdir()
    with pytest.raises(ConfigError, match=r"exists and is not a folder with language\.json"):
        learn(tmp_path / "xx")
