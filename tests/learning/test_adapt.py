"""Domain adaptation: what learns, that labels do not matter, killed and resumed, and a training on what came of it."""

import json
import shutil

import pytest
import torch
import transformers
from safetensors.torch import load_file
from test_resume import die, killed
from tiny_masked import save_masked_encoder
from typer.testing import CliRunner

from dlfa_adapters import load_run
from dlfa_adapters.encoders import fingerprint, load_encoder
from dlfa_adapters.encoders.adapted import RECORD
from dlfa_adapters.ground.errors import ConfigError, DLFAError, RunError
from dlfa_adapters.heads import load_masked_lm
from dlfa_adapters.learning import adapt_encoder, resume_adaptation, resume_adapted, train, train_adapted
from dlfa_adapters.learning.adapt.place import place_of, training_left
from dlfa_adapters.learning.language.loop import perplexity
from dlfa_adapters.runs.lifecycle import work_folder
from dlfa_cli.main import app

WORDS = "anna bob met in rome new york is far the bank of and acme".split()


@pytest.fixture(scope="module")
def encoder(tmp_path_factory):
    """The folder of a tiny BERT without a decoder, whose tokenizer has a mask token."""
    folder = tmp_path_factory.mktemp("masked")
    save_masked_encoder(folder, hidden_size=32, max_position_embeddings=64)
    return folder


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """Sentences in English, labelled, and German, where every label is wrong; words in a fixed order."""
    folder = tmp_path_factory.mktemp("data") / "panx"
    folder.mkdir()
    for language, shift in (("en", 0), ("de", 5)):
        for split, count in (("train", 80), ("dev", 10), ("test", 10)):
            rows = []
            for i in range(count):
                words = [WORDS[(i * 7 + shift + k) % len(WORDS)] for k in range(4)] + [
                    "ab" * (i % 5 + 1) + "z" * (i // 5)
                ]
                tags = ["B-PER" if language == "de" or word == "anna" else "O" for word in words]
                rows.append("".join(f"{word}\t{tag}\n" for word, tag in zip(words, tags, strict=True)))
            (folder / f"{split}-{language}.tsv").write_text("\n".join(rows) + "\n", "utf-8")
    return folder.parent


@pytest.fixture(scope="module")
def adapt(encoder, data):
    """adapt(out, ...): a short adaptation; what it gives."""

    def run(out, source=data, steps=12, **options):
        defaults = {"task": "ner", "model": str(encoder), "batch_size": 8, "max_length": 32, "every": 4}
        return adapt_encoder(source, out=out, steps=steps, **{**defaults, **options})

    return run


@pytest.fixture(scope="module")
def adapted(adapt, tmp_path_factory):
    rates = {"learning_rate": 1e-2, "head_learning_rate": 1e-1}
    return adapt(tmp_path_factory.mktemp("adapted") / "ner", steps=60, **rates)


def weights(folder):
    return {(f.name, k): t for f in sorted(folder.glob("*.safetensors")) for k, t in load_file(f).items()}


def assert_equal_weights(ours, theirs):
    assert ours.keys() == theirs.keys()
    assert len(ours) > 10
    assert [key for key, tensor in ours.items() if not tensor.equal(theirs[key])] == []


def test_perplexity_falls_in_each_language_and_the_record_says_so(adapted, encoder):
    measured = adapted.record["perplexity"]
    assert set(measured["before"]) == set(measured["after"]) == {"en", "de"}
    assert all(after < 0.8 * measured["before"][language] for language, after in measured["after"].items())
    record = json.loads((adapted.folder / RECORD).read_text("utf-8"))
    assert record == adapted.record
    assert record["adaptation"] == {"learns": "full", "decoder": "new"}
    assert record["encoder"] == load_encoder(str(encoder)).describe()
    assert record["text"]["languages"] == {"de": 80, "en": 80}
    assert {"model.safetensors", "decoder.safetensors", "config.json", "tokenizer.json"} <= set(record["files"])
    assert sorted(path.name for path in adapted.folder.iterdir()) == sorted([*record["files"], RECORD])


def test_it_is_an_encoder_for_any_tool_and_says_what_it_is(adapted, encoder):
    ours = load_encoder(str(adapted.folder))
    assert (
        ours.origin
        == f"{adapted.folder} (folder; {encoder}, adapted to {adapted.record['text']['source'][0]} in de, en, 60 steps)"
    )
    assert fingerprint(ours.model) == adapted.record["fingerprint"] != adapted.record["encoder"]["fingerprint"]
    plain = transformers.BertModel.from_pretrained(adapted.folder, add_pooling_layer=False).eval()
    ids = torch.arange(5, 25)[None]
    with torch.no_grad():
        assert plain(ids).last_hidden_state.equal(ours.model.base_model(input_ids=ids).last_hidden_state)


def own(model):
    """The encoder's own parameters; adapters lists the word embeddings a second time, as those of prompt tuning."""
    named = model.base_model.named_parameters(remove_duplicate=False)
    return {name: p for name, p in named if not any(part in name for part in (".domain.", "prompt_tuning"))}


@pytest.mark.parametrize(
    ("learns", "moved"), [("full", "all"), ("freeze:1", "upper"), ("lora:2", "attention"), ("adapter", "nothing")]
)
def test_what_learns(learns, moved, adapt, encoder, tmp_path):
    """And that what is loaded again is, with its decoder, the model that was measured."""
    kept = {}
    done = adapt(
        tmp_path / "x", steps=3, learning_rate=1e-2, learns=learns, on_start=lambda plan: kept.update(plan=plan)
    )
    before = own(load_encoder(str(encoder)).model)
    lm = load_masked_lm(str(encoder), done.folder) if learns == "adapter" else load_masked_lm(str(done.folder))
    after = own(lm.model)
    assert before.keys() == after.keys()
    changed = {name for name, p in before.items() if not p.equal(after[name])}
    expected = {
        "all": set(before),
        "upper": {name for name in before if "layer.1." in name},
        "attention": {name for name in before if name.endswith(("query.weight", "value.weight"))},
        "nothing": set(),
    }[moved]
    assert changed == expected
    rows = held_out(kept["plan"])
    found = {
        language: perplexity(lm.model, of, lm.tokenizer.pad_token_id, lambda n: None) for language, of in rows.items()
    }
    assert found == pytest.approx(done.record["perplexity"]["after"], rel=1e-5)


def held_out(plan):
    """The rows that perplexity was measured on."""
    from dlfa_adapters.learning.adapt.data import mask_domain
    from dlfa_adapters.learning.adapt.text import read_unlabelled

    source = plan.text["source"][0]
    options = {"whole_words": False, "max_length": 32, "count": 1, "seed": 0}
    return mask_domain(read_unlabelled(source, "ner"), plan.encoder.tokenizer, source, **options).held_out


def test_labels_are_not_looked_at(adapt, data, tmp_path):
    """Files without tags in them give the same weights, to the bit."""
    one = adapt(tmp_path / "one", steps=3)
    for path in (data / "panx").iterdir():
        bare = "".join(line.split("\t")[0].strip("\n") + "\n" for line in path.read_text("utf-8").splitlines(True))
        (tmp_path / "bare" / "panx").mkdir(parents=True, exist_ok=True)
        (tmp_path / "bare" / "panx" / path.name).write_text(bare, "utf-8")
    other = adapt(tmp_path / "other", source=tmp_path / "bare", steps=3)
    assert one.record["text"]["fingerprint"] == other.record["text"]["fingerprint"]
    assert_equal_weights(weights(one.folder), weights(other.folder))


def test_a_checkpoint_keeps_its_decoder_and_its_rate(encoder, adapt, tmp_path):
    torch.manual_seed(1)
    config = transformers.AutoConfig.from_pretrained(encoder)
    theirs = transformers.BertForMaskedLM(config)
    theirs.save_pretrained(tmp_path / "whole")
    transformers.AutoTokenizer.from_pretrained(encoder).save_pretrained(tmp_path / "whole")
    kept = {}

    def look(plan):
        head = plan.encoder.model.heads["masked_lm"]
        kept.update(plan=plan, dense=head.dense.weight.detach().clone())

    done = adapt(tmp_path / "x", steps=1, model=str(tmp_path / "whole"), on_start=look)
    assert done.record["adaptation"]["decoder"] == "the checkpoint's"
    assert kept["dense"].equal(theirs.cls.predictions.transform.dense.weight)
    assert kept["plan"].settings.steps.head_learning_rate == kept["plan"].settings.steps.learning_rate == 5e-5
    assert "Decoder: the checkpoint's own" in kept["plan"].lines()
    adapt(tmp_path / "x", steps=1, on_start=look)
    assert kept["plan"].settings.steps.head_learning_rate == 3e-3
    assert any(line.startswith("Decoder: new, for this encoder has none; tied") for line in kept["plan"].lines())


def test_a_damaged_folder_is_refused(adapted, tmp_path):
    folder = shutil.copytree(adapted.folder, tmp_path / "x")
    with (folder / "model.safetensors").open("r+b") as file:
        file.seek(-4, 2)
        file.write(b"\0\0\0\1")
    with pytest.raises(RunError, match=r"model\.safetensors.* missing or not the file that was written"):
        load_encoder(str(folder))


# Killed


@pytest.mark.parametrize("learns", ["full", "freeze:1", "lora", "adapter"])
def test_killed_and_resumed_it_ends_with_the_same_weights(learns, adapt, tmp_path):
    through, seen = adapt(tmp_path / "through", learns=learns), [0]

    def progress(stage, done, total):
        seen[0] += done if stage == "Training" else 0
        if seen[0] == 7:
            die()

    killed(lambda: adapt(tmp_path / "xx", learns=learns, progress=progress))
    assert not (tmp_path / "xx").exists()
    assert (work_folder(tmp_path / "xx") / "checkpoint-4").exists()
    with pytest.raises(RunError, match="began with whole_words=False, now it is True"):
        adapt(tmp_path / "xx", learns=learns, resume=True, whole_words=True)
    resumed = resume_adaptation(tmp_path / "xx")
    assert_equal_weights(weights(resumed.folder), weights(through.folder))
    assert resumed.record["perplexity"] == through.record["perplexity"]
    assert resume_adaptation(tmp_path / "xx") == resumed
    with pytest.raises(RunError, match="There is no training of"):
        resume_adaptation(tmp_path / "yy")


# Then a task

OPTIONS = {"steps": 4, "batch_size": 8, "max_length": 32}
TRAIN = {"tuning": "full", "max_length": 32, "batch_size": 8, "max_steps": 4, "every": 2, "fuse_layer": 1}


@pytest.fixture(scope="module")
def both(encoder, data):
    """both(out, ...): an adaptation and a training on it."""

    def run(out, **options):
        given = {"adapt": str(data), "adapt_options": OPTIONS, "train_data": str(data), "model": str(encoder), **TRAIN}
        return train_adapted("ner", out=out, **{**given, **options})

    return run


def test_a_training_on_what_was_adapted(both, encoder, data, tmp_path):
    """It is the training with --model on the encoder that was adapted by itself; its languages are named."""
    run = both(tmp_path / "run")
    place = place_of(tmp_path / "run")
    alone = adapt_encoder(str(data), task="ner", model=str(encoder), out=tmp_path / "alone", **OPTIONS)
    assert_equal_weights(weights(place), weights(alone.folder))
    train("ner", train_data=str(data), model=str(place), out=tmp_path / "apart", **TRAIN)
    for part in ("encoder", "head"):
        ours, theirs = (load_file(next((tmp_path / x / part).glob("*.safetensors"))) for x in ("run", "apart"))
        assert ours.keys() == theirs.keys()
        assert [name for name, tensor in ours.items() if not tensor.equal(theirs[name])] == []
    assert run.config["encoder"]["name"] == str(place)
    assert "adapted to" in run.config["encoder"]["origin"]
    assert run.config["data"]["train"]["language"] == "en"
    assert load_run(run).predict([["anna", "met", "bob"]])


def test_an_adapter_alone_is_stacked_over(both, encoder, tmp_path):
    with pytest.raises(ConfigError, match="leave --tuning out"):
        both(tmp_path / "run", adapt_options={**OPTIONS, "learns": "adapter"})
    run = both(tmp_path / "run", adapt_options={**OPTIONS, "learns": "adapter"}, tuning=None)
    assert run.config["tuning"] == f"stack:{place_of(tmp_path / 'run')}"
    assert run.config["encoder"]["name"] == str(encoder)
    assert run.config["model"]["adapters"] == ["domain", "ner"]


@pytest.mark.parametrize("moment", ["adapting", "between", "training"])
def test_killed_anywhere_it_goes_on_by_the_name_of_the_run(moment, both, tmp_path, monkeypatch):
    through = both(tmp_path / "through")
    out, seen = tmp_path / "run", []

    def progress(stage, done, total):
        seen.append(stage)
        if moment == "adapting" and seen.count("Training") == 4:
            die()
        if moment == "training" and seen.count("Training") == 5 + 1 + 4:  # the fourth step of the second one
            die()

    with monkeypatch.context() as patch:
        if moment == "between":
            patch.setattr("dlfa_adapters.learning.adapt.then.train", die)
        killed(lambda: both(out, progress=progress))
    assert (training_left(out) is None) == (moment == "training")
    assert place_of(out).exists() == (moment != "adapting")
    with pytest.raises(RunError, match="fuse_layer"):
        both(out, resume=True, fuse_layer=2)
    run = both(out, resume=True) if moment == "training" else resume_adapted(out)
    assert_equal_weights(weights(run.folder / "encoder"), weights(through.folder / "encoder"))
    assert run.config["training"]["dev_scores"] == through.config["training"]["dev_scores"]
    assert training_left(out) is None
    assert sorted(path.name for path in tmp_path.iterdir()) == ["run", "run-adapted", "through", "through-adapted"]
    with pytest.raises(RunError, match="There is no training of"):
        resume_adapted(out)


def test_a_training_with_several_sources_and_tasks_goes_on_too(both, data, tmp_path):
    """Places and ranges among its options are written down as text and numbers."""
    panx = data / "panx"
    (tmp_path / "pos-en.tsv").write_text("anna\tPROPN\nmet\tVERB\n\n" * 20, "utf-8")
    options = {
        "adapt": {"en": panx / "train-en.tsv", "de": panx / "train-de.tsv"}, "source_weights": {"en": 1, "de": 2},
        "train_data": {"en": panx / "train-en.tsv", "de": panx / "train-de.tsv"}, "dev_data": panx / "dev-en.tsv",
        "aux": {"pos": tmp_path / "pos-en.tsv"}, "tuning": "lora", "leave_out": range(1, 2), "fuse_layer": 2,
    }  # fmt: skip
    steps, seen = [], []
    through = both(tmp_path / "through", on_step=steps.append, **options)
    assert steps == [1, 2, 3, 4]

    def progress(stage, done, total):
        seen.append(stage)
        if seen.count("Training") == 3:
            die()

    killed(lambda: both(tmp_path / "run", progress=progress, **options))
    run = resume_adapted(tmp_path / "run")
    learnt = [{n: f for n, f in each.config["files"].items() if n.endswith(".safetensors")} for each in (run, through)]
    assert learnt[0] == learnt[1]
    assert run.config["training"]["aux_heads"] == {"pos": "aux/pos"}
    assert run.config["data"]["train"]["sources"].keys() == {"en", "de"}


# Typed


def dlfa(*arguments):
    return CliRunner().invoke(app, [*map(str, arguments)])


def test_typed(encoder, data, tmp_path):
    options = ("--steps", 2, "--batch-size", 8, "--max-length", 32)
    done = dlfa(
        "adapt", data, "--task", "ner", "--model", encoder, "--languages", "de", "--out", tmp_path / "x", *options
    )
    assert done.exit_code == 0, done.output
    assert "Decoder: new, for this encoder has none; tied to its input embeddings" in done.stderr
    assert f"dlfa train ner --model {tmp_path / 'x'}" in done.stdout
    again = dlfa("adapt", "--resume", tmp_path / "x")
    assert f"{tmp_path / 'x'} had been trained to its end; nothing was left to do. Train a task on it" in again.stdout
    record = json.loads(dlfa("adapt", "--resume", tmp_path / "x", "--json").stdout)
    assert list(record["text"]["languages"]) == ["de"]
    short = ("--max-steps", 1, "--max-length", 32, "--batch-size", 4, "--tuning", "lora", "-k", 1)
    done = dlfa(
        "train", "ner", "--train", data, "--model", encoder, "--adapt", f"de={data / 'panx' / 'train-de.tsv'}",
        "--adapt-option", "steps=2", "--adapt-option", "whole-words=yes",
        "--adapt-option", "max_length=32", "--out", tmp_path / "run", *short,
    )  # fmt: skip
    assert done.exit_code == 0, done.output
    record = json.loads((tmp_path / "run-adapted" / RECORD).read_text("utf-8"))
    assert (record["training"]["whole_words"], list(record["text"]["languages"])) == (True, ["de"])
    assert dlfa("train", "--resume", tmp_path / "run").exit_code == 0


@pytest.mark.parametrize(
    ("typed", "module"),
    [("adapt DATA", "adapt"), ("train-language de --text DATA", "language")],
)
def test_a_training_that_is_stopped_says_how_to_go_on(typed, module, encoder, data, tmp_path, monkeypatch):
    def stop(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(f"dlfa_adapters.learning.{module}.train.learn_masked", stop)
    text = tmp_path / "text.txt"
    text.write_text("".join(f"anna met bob {number}\n" for number in range(40)), "utf-8")
    words = typed.replace("DATA", str(text)).split()
    done = dlfa(*words, "--model", encoder, "--max-length", 32, "--out", tmp_path / "x")
    assert done.exit_code == 130
    assert f"stopped; type dlfa {words[0]} --resume {tmp_path / 'x'} to go on." in done.stderr.replace("\n", " ")


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        ("adapt", "Give text, or --resume and a folder"),
        ("adapt none.txt", "none.txt: expected a file or a folder"),
        ("adapt DATA --learns bottleneck", "learns must be full, freeze:N, lora, lora:RANK or adapter; got 'bott"),
        ("adapt DATA --learns lora:x", "takes a rank from 1 up"),
        ("adapt DATA --steps 0", "steps must be"),
        ("adapt FEW", "few.txt: expected at least 20 different texts in one of the languages, a text a line, got"),
        ("adapt FEW --languages xx", "'xx' is none of ISO 639"),
        ("adapt DE --task ner --languages fr", "train-de.tsv: expected a file in fr, but its name says de"),
        ("adapt --resume none", "There is no training of none to resume"),
        ("train ner --adapt DATA --adapt-option stepps=2", "did you mean 'steps'?"),
        ("train ner --adapt DATA --adapt-option steps=x", "steps must be a whole number"),
        ("train ner --adapt-option steps=2", "--adapt-option is for --adapt DATA"),
        ("train ner --adapt none", "none: expected a file or a folder"),
        ("train ner --adapt DATA --tuning full --adapt-option learns=adapter", "leave --tuning out"),
    ],
)  # fmt: skip
def test_what_is_refused(typed, said, encoder, data, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "few.txt").write_text("anna met\n", "utf-8")
    places = {"DATA": data, "FEW": tmp_path / "few.txt", "DE": data / "panx" / "train-de.tsv"}
    loads = ("--model", encoder) if set(typed.split()) & {"FEW", "DE"} else ()
    done = dlfa(*(places.get(word, word) for word in typed.split()), *loads)
    assert isinstance(done.exception, DLFAError)
    assert said in str(done.exception)
