"""Auxiliary tasks beside a task: each head learns from its own steps, all of them share the encoder."""

from collections import Counter
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
from safetensors.torch import load_file
from scipy.stats import chisquare

import dlfa_adapters.encoders.cache as cache_module
import dlfa_adapters.learning.trainer as trainer_module
from dlfa_adapters import load_run
from dlfa_adapters.data.batching import SameLengthSampler
from dlfa_adapters.data.mixture import Mixture
from dlfa_adapters.encoders import load_encoder
from dlfa_adapters.ground.errors import ConfigError, DataError
from dlfa_adapters.learning import resume_training
from dlfa_adapters.learning.checks import check_options
from dlfa_adapters.learning.several_tasks import SeveralTasks
from dlfa_adapters.tasks import get_task
from tests.learning.killed import Killed, killed_at


@pytest.fixture(scope="module")
def files(items, tmp_path_factory):
    """Files of names, parts of speech, pairs and moods, in English."""
    folder = tmp_path_factory.mktemp("tasks")
    for task in ("ner", "pos"):
        text = "\n".join("".join(f"{w}\t{t}\n" for w, t in zip(*s, strict=True)) for s in items[task])
        (folder / f"{task}-train-en.tsv").write_text(text, "utf-8")
    pairs = "".join(f"{a}\t{b}\t{i % 2}\n" for i, (a, b, _) in enumerate(items["xnli"]))
    (folder / "pawsx-train-en.tsv").write_text(pairs, "utf-8")
    return {path.name.split("-")[0]: str(path) for path in folder.iterdir()}


@pytest.fixture
def together(start, files, tmp_path):
    """together("full", ...): names beside parts of speech and pairs."""

    def run(tuning, name="run", **options):
        data = {"train_data": files["ner"], "dev_data": files["ner"], "language": None}
        aux = f"pos={files['pos']},pawsx={files['pawsx']}"
        return start("ner", tmp_path / name, tuning, **{"aux": aux, **data, **options})

    return run


@pytest.mark.parametrize("options", [{"tuning": "full"}, {"tuning": "lora"}, {"tuning": "full", "fusion": "last"}])
def test_a_gradient_touches_its_own_head_and_what_is_shared(options, together, monkeypatch):
    seen = []
    loss = trainer_module.check_loss

    def note(model, inputs, value, step):
        seen.append((inputs["head"], None))
        loss(model, inputs, value, step)

    def gradients(model, step, learning):
        moved = {n for n, p in model.named_parameters() if p.grad is not None and float(p.grad.abs().max()) > 0}
        seen[-1] = (seen[-1][0], moved)

    monkeypatch.setattr(trainer_module, "check_loss", note)
    monkeypatch.setattr(trainer_module, "check_gradients", gradients)
    _, plan = together(**options, epochs=6, dev_data="none", weight_decay=0.0)
    assert {task for task, _ in seen} == {"ner", "pos", "pawsx"}
    for task, moved in seen:
        heads = {name.split("heads.")[1].split(".")[0] for name in moved if "heads." in name}
        assert heads == {task}
        assert any("heads." not in name for name in moved)  # the encoder, or its LoRA
    assert len(seen) == plan.steps


def test_each_head_has_its_own_fusion_at_its_own_layer(together):
    run, plan = together("full", epochs=1)
    heads = plan.model.heads
    for name, head in heads.items():
        assert list(head.config["fuse_layer"]) == [get_task(name).default_fuse_layer(3)]
    _, given = together("full", "given", epochs=1, fuse_layer=1)
    assert {tuple(head.config["fuse_layer"]) for head in given.model.heads.values()} == {(1,)}
    assert len({id(head.fusion) for head in heads.values()}) == 3
    assert plan.model.active_head == "ner"
    assert run.config["training"]["aux_heads"] == {"pos": "aux/pos", "pawsx": "aux/pawsx"}


def rows_of(count):
    return [SimpleNamespace(input_ids=[0] * (1 + i % 9)) for i in range(count)]


def examples(name, count, mixture=None):
    return SimpleNamespace(
        task=SimpleNamespace(name=name), rows=rows_of(count), collator=lambda pad: lambda rows: {"rows": rows},
        mixture=mixture, epoch_rows=mixture.epoch_rows if mixture else count,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("temperature", "shares"),
    [(1.0, [0.4, 0.5, 0.1]), (2.0, [20 / 52.3607, 22.3607 / 52.3607, 10 / 52.3607]), (1e9, [1 / 3] * 3)],
)
def test_tasks_are_drawn_as_asked_a_step_at_a_time(temperature, shares):
    main, aux = examples("ner", 400), {"pos": examples("pos", 500), "pawsx": examples("pawsx", 100)}
    several = SeveralTasks(main, aux, batch_size=8, temperature=temperature, seed=0)
    assert list(several.mixture.shares.values()) == pytest.approx(shares, abs=1e-6)
    assert several.epoch_rows == 8 * round(50 / shares[0])  # the main task once, on average
    sampler = SameLengthSampler([len(row.input_ids) for row in several.rows], 8, 0, mixture=several.mixture)
    seen = Counter()
    for epoch in range(20):
        sampler.set_epoch(epoch)
        for batch in sampler.batches():
            [task] = {several.rows[i].task for i in batch}
            assert len(batch) == 8
            assert several.collator(0)([several.rows[i] for i in batch])["head"] == task
            seen[task] += 1
    counts = [seen[task] for task in ("ner", "pos", "pawsx")]
    assert chisquare(counts, [sum(counts) * share for share in shares]).pvalue > 0.01


@pytest.mark.parametrize("temperature", [1e-3, 0.25])
def test_a_temperature_that_leaves_the_main_task_no_steps_is_refused(temperature):
    tasks = {"main": examples("ner", 6), "aux": {"xnli": examples("xnli", 174)}}
    with pytest.raises(
        ConfigError, match=f"--aux-temperature {temperature:g} draws ner in less than one step of 10,000"
    ):
        SeveralTasks(**tasks, batch_size=8, temperature=temperature, seed=0)
    assert SeveralTasks(**tasks, batch_size=8, temperature=1.0, seed=0).epoch_rows == 8 * 30


def test_a_task_in_several_languages_is_drawn_as_asked_within_its_steps():
    """English and German names at 3 to 1, beside parts of speech; and which language comes says nothing of the task."""
    languages = {"en": range(120), "de": range(120, 200)}
    main = examples("ner", 200, Mixture(languages, {"en": 0.75, "de": 0.25}, 120, seed=0))
    several = SeveralTasks(main, {"pos": examples("pos", 100)}, batch_size=8, temperature=1.0, seed=0)
    assert several.mixture.shares == {"ner": pytest.approx(2 / 3), "pos": pytest.approx(1 / 3)}
    assert several.epoch_rows == 8 * round(15 * 3 / 2)  # as many names as there are English ones, on average
    sampler = SameLengthSampler([len(row.input_ids) for row in several.rows], 8, 0, mixture=several.mixture)
    seen, names = Counter(), []
    for epoch in range(60):
        sampler.set_epoch(epoch)
        names += [row for row in several.mixture.epoch(epoch) if row < 200]
        for batch in sampler.batches():
            assert len({several.rows[i].task for i in batch}) == 1
            seen.update("pos" if i >= 200 else "en" if i < 120 else "de" for i in batch)
    count, steps = sum(seen.values()), sum(seen.values()) // 8
    assert (
        chisquare([seen["en"], seen["de"]], [(seen["en"] + seen["de"]) * share for share in (0.75, 0.25)]).pvalue > 0.01
    )
    assert chisquare([steps - seen["pos"] // 8, seen["pos"] // 8], [steps * 2 / 3, steps / 3]).pvalue > 0.01
    assert count == 60 * several.epoch_rows
    english = [row for row in names if row < 120]
    for start in range(0, len(english), 120):  # every row before one comes again
        part = english[start : start + 120]
        assert len(set(part)) == len(part)


@pytest.fixture
def both(start, items, files, tmp_path):
    """both("full", ...): English and German names beside English parts of speech in a folder."""
    for task, language in (("ner", "en"), ("ner", "de"), ("pos", "en")):
        for split in ("train", "dev"):
            path = tmp_path / task / f"{split}-{language}.tsv"
            path.parent.mkdir(exist_ok=True)
            path.write_text(Path(files[task]).read_text("utf-8"), "utf-8")

    def run(tuning, name="run", **options):
        data = {"train_data": tmp_path / "ner", "dev_data": tmp_path / "ner", "language": "en,de"}
        return start("ner", tmp_path / name, tuning, **{"aux": f"pos={tmp_path / 'pos'}", **data, **options})

    return run


@pytest.mark.parametrize("tuning", ["full", "features"])
def test_several_sources_beside_a_task_in_one_of_them(tuning, both, tmp_path):
    run, plan = both(tuning, epochs=2, source_weights="en=1,de=3")
    data = run.config["data"]
    assert [(name, of["share"]) for name, of in data["train"]["sources"].items()] == [("en", 0.25), ("de", 0.75)]
    assert data["pos"]["language"] == "en"
    tasks = "Tasks: ner 66.7 %, pos 33.3 % of the steps; on average an epoch has as many of ner as alone"
    assert (tasks in plan.lines()) == (tuning == "full")  # heads on frozen states learn one after the other
    assert data["pos"].get("share") == (pytest.approx(1 / 3, abs=1e-6) if tuning == "full" else None)
    assert run.config["metrics"]["dev"].keys() == {"en", "de"}
    assert run.config["training"]["aux_heads"] == {"pos": "aux/pos"}
    assert plan.steps == {"full": 2 * 3, "features": 2 * 2}[tuning]  # two steps of names an epoch
    by_file = {language: tmp_path / "ner" / f"train-{language}.tsv" for language in ("en", "de")}
    given = {"train_data": by_file, "language": None, "aux": {"pos": tmp_path / "pos" / "train-en.tsv"}}
    other, _ = both(tuning, "other", epochs=2, source_weights="en=1,de=3", **given)
    weights = [{n: f for n, f in each.config["files"].items() if n.endswith(".safetensors")} for each in (run, other)]
    assert weights[0] == weights[1]


@pytest.mark.parametrize("tuning", ["full", "lora", "several sources"])
def test_it_goes_on_exactly_where_it_was_cut(tuning, together, both, tmp_path):
    options = {"epochs": 3, "every": 3, "aux_temperature": 2.0}
    run = both if tuning == "several sources" else together
    tuning = "full" if tuning == "several sources" else tuning
    through, _ = run(tuning, "through", **options)
    with pytest.raises(Killed):
        run(tuning, "cut", **options, progress=killed_at(8))
    cut = resume_training(tmp_path / "cut")
    tensors = [{n: f for n, f in run.config["files"].items() if n.endswith(".safetensors")} for run in (through, cut)]
    assert tensors[0] == tensors[1]
    assert any(name.startswith("aux/pos/") for name in tensors[0])
    assert cut.config["training"]["dev_scores"] == through.config["training"]["dev_scores"]


def test_the_run_is_the_main_tasks_and_the_other_heads_lie_beside(together, tiny_folder):
    run, plan = together("full", epochs=2)
    assert len(load_run(run.folder).predict([["Anna", "met", "Bob"]])[0]) == 3
    model = load_encoder(str(run.folder / "encoder")).model
    name = model.load_head(str(run.folder / "aux" / "pos"), load_as="pos")
    trained = plan.model.heads["pos"].state_dict()
    assert name
    assert all(value.equal(trained[key].cpu()) for key, value in model.heads["pos"].state_dict().items())
    assert run.config["data"]["pos"]["items"] == 8
    shares = [run.config["data"][name]["share"] for name in ("train", "pos", "pawsx")]
    assert shares == [pytest.approx(1 / 3, abs=1e-6)] * 3
    assert (
        "Tasks: ner 33.3 %, pos 33.3 %, pawsx 33.3 % of the steps; on average an epoch has as many of ner as alone"
        in plan.lines()
    )


def test_blocks_that_do_not_change_run_in_every_epoch(together):
    """Rows of pairs have types of pieces, rows of words have none: states of both are not kept in one place."""
    options = {"epochs": 2, "fuse_layer": 1}
    left, _ = together("freeze:1", "left", **options)
    through, _ = together("freeze:1", "through", states="through", **options)
    for place in ("head", "aux/pos", "aux/pawsx"):
        [one], [other] = ([load_file(f) for f in (run.folder / place).glob("*.safetensors")] for run in (left, through))
        assert all(tensor.equal(other[name]) for name, tensor in one.items())


def test_on_frozen_states_tasks_do_not_touch_each_other(together, start, files, tmp_path):
    run, plan = together("features", epochs=3, head_learning_rate=1e-2)
    alone, _ = together("features", "alone", epochs=3, head_learning_rate=1e-2, aux=None)
    pos, _ = start(
        "pos", tmp_path / "pos", "features", train_data=files["pos"], dev_data="none", language=None, epochs=3,
        head_learning_rate=1e-2,
    )  # fmt: skip

    def weights(folder):
        [file] = folder.glob("*.safetensors")
        return load_file(file)

    for mine, other in (
        (run.folder / "head", alone.folder / "head"),
        (run.folder / "aux" / "pos", pos.folder / "head"),
    ):
        ours, theirs = weights(mine), weights(other)
        assert ours.keys() == theirs.keys()
        assert all(torch.equal(ours[key], theirs[key]) for key in ours)
    assert plan.encoder.model.active_head == "ner"


def test_on_frozen_states_the_encoder_reads_each_row_once(together, monkeypatch):
    """Those of all tasks in one go; the heads then learn from what is kept."""
    read, compute = Counter(), cache_module.compute_states

    def counted(model, windows, *arguments, **options):
        read.update(tuple(window.input_ids) for window in windows)
        return compute(model, windows, *arguments, **options)

    def anew(*arguments):
        raise AssertionError("the encoder would run in every epoch")

    monkeypatch.setattr(cache_module, "compute_states", counted)
    monkeypatch.setattr(cache_module, "StreamedStates", anew)
    seen = []
    together("features", epochs=3, dev_data="none", progress=lambda *stage: seen.append(stage))
    assert sum(read.values()) == 3 * 8
    done = Counter()
    for stage, count, total in seen:
        done[stage] += count
        assert done[stage] <= total
    assert {"Training", "Training (pos)", "Training (pawsx)"} <= done.keys()
    assert done["Computing hidden states, once"] == 3 * 8


def test_heads_on_frozen_states_go_on_where_they_were_cut(together, tmp_path):
    """In the midst of the second auxiliary task."""
    through, _ = together("features", "through", epochs=3)
    with pytest.raises(Killed):
        together("features", "cut", epochs=3, progress=killed_at(3, "Training (pawsx)"))
    cut = resume_training(tmp_path / "cut")
    tensors = [{n: f for n, f in run.config["files"].items() if n.endswith(".safetensors")} for run in (through, cut)]
    assert tensors[0] == tensors[1]
    assert sorted(path.name for path in tmp_path.iterdir() if "cut" in path.name) == ["cut"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"aux": "ner=FILE"}, "names ner, which stands for something else in a run"),
        ({"aux": "pos"}, "must be data by task, such as pos=FILE,pawsx=FILE; got 'pos'"),
        ({"aux": "pos=FILE,pos=FILE"}, "names pos twice"),
        ({"aux": "pos=none.tsv"}, "none.tsv: expected a file or a folder, but there is none"),
        ({"aux": "parse=FILE"}, "is for tags and labels, and parse has trees"),
        ({"aux": "pos=FILE", "tuning": "peft-lora"}, "several heads, which PEFT's is not; type --tuning lora"),
        ({"aux": "pos=samples:pos", "language": "de,sw"}, "samples:pos has train data for en, but not for de"),
        ({"aux": "pos=FILE", "states": "cached"}, "--states cached is for one task; leave it or --aux out"),
        ({"aux": "pos=FILE", "center": "FILE"}, "--center is for one task; leave it or --aux out"),
        ({"aux_temperature": 2.0}, "--aux-temperature is for --aux"),
        ({"aux": "pos=FILE", "aux_temperature": 0.0}, "aux_temperature must be a number above 0"),
        ({"aux": "pos=FILE", "tuning": "features", "classifier": "bilstm"}, "has no use for --aux"),
        ({"aux": "pos=FILE", "tuning": "features", "aux_temperature": 2.0}, "has no use for --aux-temperature"),
    ],
)
def test_what_is_refused_before_anything_is_loaded(options, message, files):
    options = {n: o.replace("FILE", files["pos"]) if isinstance(o, str) else o for n, o in options.items()}
    with pytest.raises((ConfigError, DataError), match=message):
        check_options("ner", **{"train_data": files["ner"], **options})


def test_labels_of_another_task_are_refused_with_what_to_type(together, files):
    with pytest.raises(ConfigError, match="for a task with the labels of the data type another name in --aux, my-pos"):
        together("full", aux={"pos": files["ner"]})


def test_data_in_a_target_language_are_refused(together, files, tmp_path):
    german = tmp_path / "pos-train-de.tsv"
    german.write_text("Anna\tPROPN\n", "utf-8")
    with pytest.raises(DataError, match="expected data of pos in the source language en, but got de"):
        together("full", aux={"pos": german})
