"""What is in the files, what is refused at loading, and names that begin alike."""

import json
import os

import pytest
import torch
from adapters import AutoAdapterModel
from safetensors.torch import load_file, save_file

from dlfa_adapters.ground.errors import ConfigError, RunError
from dlfa_adapters.heads.schema import folder_name

FILE = "model_head.safetensors"
LABELS = {3: torch.tensor([[0, 1, 2, 0, 1, 2, 0], [1, 1, 1, 1, 1, -100, -100]])}
HEAD_TYPES = {
    "tagging": {"num_labels": 3},
    "classification": {"num_labels": 3},
    "multilabel_classification": {"num_labels": 3},
    "multiple_choice": {"num_choices": 2},
    "question_answering": {},
    "dependency_parsing": {"num_labels": 3},
}


def state(model, name):
    return {key: value.clone() for key, value in model.heads[name].state_dict().items()}


def equal(one, other):
    return one.keys() == other.keys() and all(torch.equal(value, other[key]) for key, value in one.items())


@pytest.mark.parametrize("head_type", HEAD_TYPES)
def test_every_inner_head_comes_back(head_type, tiny_model, shake, batch, tmp_path):
    model = tiny_model()
    model.add_dlfa_head("x", (2, 1), head_type, **HEAD_TYPES[head_type], gate="attention", norm="layer", pooling="last")
    shake(model).save_head(str(tmp_path / "head"), "x")
    model.save_pretrained(tmp_path / "model")
    inputs = {"word_starts": torch.tensor([[1, 2, 4, 5, 6, 0, 0], [1, 2, 3, 4, 0, 0, 0]])}
    inputs = inputs if head_type == "dependency_parsing" else {}
    expected = model(**batch, **inputs)
    fresh = tiny_model()
    fresh.load_head(str(tmp_path / "head"))
    for again in (fresh, AutoAdapterModel.from_pretrained(tmp_path / "model")):
        assert again.heads["x"].config == model.heads["x"].config
        output = again(**batch, **inputs)
        for key in expected:  # sums may be taken in another order where weights lie elsewhere in memory
            torch.testing.assert_close(output[key], expected[key], atol=1e-6, rtol=1e-6)


@pytest.mark.parametrize("fusion", ["last", "layer", "scalar_mix", "concat", "dlfa"])
def test_every_fusion_comes_back(fusion, tiny_model, shake, batch, tmp_path):
    model = tiny_model()
    fuse_layer = None if fusion in ("last", "scalar_mix") else 2
    model.add_dlfa_head("x", fuse_layer, "tagging", num_labels=3, fusion=fusion, branches="global", layers=2)
    shake(model).save_head(str(tmp_path), "x")
    fresh = tiny_model()
    fresh.load_head(str(tmp_path), load_as="y")
    assert torch.equal(fresh(**batch).logits, model(**batch).logits)
    assert fresh.heads["y"].config == model.heads["x"].config


def test_label_order_survives_files_that_sort_names(tiny_model, tmp_path):
    model = tiny_model()
    names = {0: "z", 1: "a", 2: "m"}
    model.add_dlfa_head("x", 1, "tagging", id2label=names)
    model.save_head(str(tmp_path / "head"), "x")
    model.save_pretrained(tmp_path / "model")
    fresh = tiny_model()
    fresh.load_head(str(tmp_path / "head"))
    assert fresh.get_labels("x") == ["z", "a", "m"]
    assert list(fresh.config.id2label.items()) == list(names.items())
    assert AutoAdapterModel.from_pretrained(tmp_path / "model").get_labels("x") == ["z", "a", "m"]


def test_names_that_begin_alike(tiny_model, train, batch, tmp_path):
    """Upstream saves ner_de and ner2 along with ner, and on loading renames them x_de and x2."""
    model = tiny_model()
    for name, size in (("ner", 3), ("ner_de", 5), ("ner2", 4)):
        model.add_dlfa_head(name, 2, "tagging", num_labels=size)
        train(model, batch, LABELS[3], 1)
    model.save_head(str(tmp_path), "ner")
    keys = load_file(tmp_path / FILE).keys()
    assert keys == {f"heads.ner.{key}" for key in model.heads["ner"].state_dict()}
    fresh = tiny_model()
    fresh.load_state_dict({k: v for k, v in model.state_dict().items() if "heads" not in k})
    fresh.add_dlfa_head("x_de", 2, "tagging", num_labels=5)
    before = state(fresh, "x_de")
    fresh.load_head(str(tmp_path), load_as="x")
    assert list(fresh.heads) == ["x_de", "x"]
    assert torch.equal(fresh(**batch).logits, model(**batch, head="ner").logits)
    assert equal(before, state(fresh, "x_de"))


def test_files_that_upstream_wrote_touch_no_other_head(tiny_model, shake, tmp_path):
    """In a file of upstream's, ner_de came along. It is left alone, for stock heads too."""
    model = tiny_model()
    for kind in ("tagging", "dlfa"):
        folder = str(tmp_path / kind)
        if kind == "dlfa":
            model.add_dlfa_head("ner", 2, num_labels=3, overwrite_ok=True)
            model.add_dlfa_head("ner_de", 2, "tagging", num_labels=3, overwrite_ok=True)
        else:
            model.add_tagging_head("ner", 3)
            model.add_tagging_head("ner_de", 3)
        shake(model).save_head(folder, "ner")
        dragged = {k: v.contiguous() for k, v in model.state_dict().items() if "heads.ner" in k}
        save_file(dragged, os.path.join(folder, FILE))
        for name in ("ner", "x"):
            fresh = tiny_model()
            for other in ("ner_de", "x_de"):
                if kind == "dlfa":
                    fresh.add_dlfa_head(other, 2, "tagging", num_labels=3)
                else:
                    fresh.add_tagging_head(other, 3)
            before = {other: state(fresh, other) for other in ("ner_de", "x_de")}
            fresh.load_head(folder, load_as=name)
            assert equal(state(fresh, name), state(model, "ner"))
            assert all(equal(state(fresh, other), before[other]) for other in before)


def test_saving_a_stock_head_does_not_take_ours_along(tiny_model, tmp_path):
    model = tiny_model()
    model.add_tagging_head("ner", 3)
    model.add_dlfa_head("ner_de", 2, "tagging", num_labels=3)
    model.save_head(str(tmp_path), "ner", use_safetensors=True)
    assert load_file(tmp_path / FILE).keys() == {"heads.ner.1.weight", "heads.ner.1.bias"}


def test_what_holds_a_dlfa_head_is_safetensors_and_the_rest_as_upstream(tiny_model, tmp_path):
    model = tiny_model()
    for name in ("a", "b"):
        model.add_adapter(name, config="seq_bn")
        model.add_dlfa_head(name, 1, "tagging", num_labels=3)
    model.add_adapter_fusion(["a", "b"])
    model.save_head(str(tmp_path / "head"), "a")
    model.save_adapter(str(tmp_path / "adapter"), "a")
    model.save_all_adapters(str(tmp_path / "adapters"))
    model.save_all_heads(str(tmp_path / "heads"))
    model.save_adapter_fusion(str(tmp_path / "fusion"), "a,b")
    model.save_all_adapter_fusions(str(tmp_path / "fusions"))
    model.save_adapter_setup(str(tmp_path / "setup"), "a", head_setup="a")
    model.save_pretrained(tmp_path / "model")
    files = [str(path) for path in tmp_path.rglob("*") if path.is_file()]
    assert {os.path.splitext(path)[1] for path in files} == {".json", ".safetensors", ".bin"}
    pickles = {os.path.relpath(path, tmp_path) for path in files if path.endswith(".bin")}
    assert pickles == {"fusion/pytorch_model_adapter_fusion.bin", "fusions/a,b/pytorch_model_adapter_fusion.bin"}
    model.save_adapter_fusion(str(tmp_path / "with"), "a,b", with_head="a")
    assert {path.suffix for path in (tmp_path / "with").iterdir()} == {".json", ".safetensors"}
    fresh = tiny_model()
    fresh.load_adapter_setup(str(tmp_path / "setup"), set_active=True)
    fresh.load_adapter(str(tmp_path / "adapters" / "b"))
    fresh.load_adapter_fusion(str(tmp_path / "fusions" / "a,b"))
    assert set(fresh.heads) == {"a", "b"}
    assert set(fresh.adapters_config.fusions) == {"a,b"}


METHODS = [
    "seq_bn_inv",
    "compacter",
    "lora",
    "ia3",
    "vera",
    "prefix_tuning",
    "prompt_tuning",
    "loreft",
    "mam",
    "unipelt",
]


@pytest.mark.parametrize("method", METHODS)
def test_every_adapter_method_can_be_saved_as_safetensors(method, tiny_model, shake, batch, tmp_path):
    from adapters import CompacterConfig

    model = tiny_model()
    config = CompacterConfig(phm_dim=2, reduction_factor=4) if method == "compacter" else method
    model.add_adapter("a", config=config)
    model.add_dlfa_head("a", 1, "tagging", num_labels=3)
    shake(model).set_active_adapters("a")
    expected = model(**batch).logits
    model.save_adapter(str(tmp_path / "a" / "deep"), "a")
    fresh = tiny_model()
    fresh.load_adapter(str(tmp_path / "a" / "deep"), set_active=True)
    assert torch.equal(fresh(**batch).logits, expected)


def test_pickles_are_still_written_on_request_and_read(tiny_model, shake, tmp_path):
    model = tiny_model()
    model.add_dlfa_head("x", 1, "tagging", num_labels=3)
    shake(model).save_head(str(tmp_path), "x", use_safetensors=False)
    assert sorted(os.listdir(tmp_path)) == ["head_config.json", "pytorch_model_head.bin"]
    fresh = tiny_model()
    fresh.load_head(str(tmp_path))
    assert equal(state(fresh, "x"), state(model, "x"))


@pytest.mark.parametrize("with_head", [True, "tags"])
def test_a_head_not_called_like_the_adapter(with_head, tiny_model, shake, batch, tmp_path):
    model = tiny_model()
    model.add_adapter("lang", config="seq_bn")
    model.add_adapter("task", config="seq_bn")
    model.add_dlfa_head("tags", 1, "tagging", num_labels=3)
    shake(model).set_active_adapters("task")
    expected = model(**batch).logits
    model.save_adapter(str(tmp_path), "task", with_head=with_head)
    for load_as in (None, "other"):
        fresh = tiny_model()
        assert fresh.load_adapter(str(tmp_path), load_as=load_as, set_active=True) == (load_as or "task")
        assert fresh.active_head == "tags"
        assert torch.equal(fresh(**batch).logits, expected)


def test_a_language_adapter_does_not_take_the_tasks_head(tiny_model, tmp_path):
    from adapters import Stack

    model = tiny_model()
    for name in ("lang", "task"):
        model.add_adapter(name, config="seq_bn")
    model.add_dlfa_head("tags", 1, "tagging", num_labels=3)
    model.set_active_adapters(Stack("lang", "task"))
    model.save_all_adapters(str(tmp_path))
    assert "head_config.json" not in os.listdir(tmp_path / "lang")
    assert "head_config.json" in os.listdir(tmp_path / "task")


def test_another_adapters_head_is_not_saved(tiny_model, tmp_path):
    """Heads called like an adapter belong to it, also while they are active above another one."""
    model = tiny_model()
    for name in ("one", "other"):
        model.add_adapter(name, config="seq_bn")
    model.add_dlfa_head("other", 1, "tagging", num_labels=3)
    model.set_active_adapters("one")
    model.active_head = "other"
    model.save_adapter(str(tmp_path), "one")
    assert "head_config.json" not in os.listdir(tmp_path)


def test_weights_of_a_head_without_its_configuration(tiny_model, tmp_path):
    model = tiny_model()
    model.add_adapter("a", config="seq_bn")
    model.save_adapter(str(tmp_path), "a")
    for stray in ("pytorch_model_head.bin", FILE):
        (tmp_path / stray).write_bytes(b"")
        for options in ({}, {"load_as": "b"}):
            fresh = tiny_model()
            with pytest.raises(RunError, match=f"{stray}.* no head_config.json.*type with_head=False"):
                fresh.load_adapter(str(tmp_path), **options)
            assert len(fresh.adapters_config.adapters) == 0
        assert tiny_model().load_adapter(str(tmp_path), load_as="b", with_head=False) == "b"
        (tmp_path / stray).unlink()


def test_what_is_read_where_there_are_both_formats(tiny_model, shake, tmp_path):
    """Beside a DLFA head the safetensors, otherwise the pickle, as upstream: what was saved last by default."""
    for add in ("add_tagging_head", "add_dlfa_head"):
        model, folder = tiny_model(), str(tmp_path / add)
        model.add_adapter("a", config="seq_bn")
        getattr(model, add)("a", **({"fuse_layer": 1, "head_type": "tagging"} if "dlfa" in add else {}), num_labels=3)
        by_default = add == "add_dlfa_head"
        model.save_adapter(folder, "a", use_safetensors=not by_default)
        shake(model).save_adapter(folder, "a")
        for use in (None, by_default):
            fresh = tiny_model()
            fresh.load_adapter(folder, use_safetensors=use)
            for key, value in model.state_dict().items():
                assert ".a." not in key or torch.equal(fresh.state_dict()[key], value)
        fresh = tiny_model()
        fresh.load_head(folder, use_safetensors=not by_default)
        assert not equal(state(fresh, "a"), state(model, "a"))


@pytest.mark.parametrize("method", ["prefix_tuning", "mam", "unipelt", "seq_bn"])
@pytest.mark.parametrize("safe", [None, True])
def test_nothing_is_said_to_be_missing_that_came(method, safe, tiny_model, tmp_path):
    """Every layer lists the pool of prefixes again; what is under one of its names is not missing."""
    model = tiny_model()
    model.add_adapter("a", config=method)
    model.save_adapter(str(tmp_path), "a", use_safetensors=safe)
    for use in (None, True):
        info = {}
        tiny_model().load_adapter(str(tmp_path), use_safetensors=use, loading_info=info)
        assert info["missing_keys"] == info["unexpected_keys"] == []
    fresh = tiny_model()
    assert fresh.load_language_adapter(str(tmp_path)) == "a"
    weights = model.state_dict()
    assert all(torch.equal(value, weights[name]) for name, value in fresh.state_dict().items() if ".a." in name)


def test_a_missing_prefix_is_missing_once_for_every_name(tiny_model, tmp_path):
    model = tiny_model()
    model.add_adapter("a", config="prefix_tuning")
    model.save_adapter(str(tmp_path), "a", use_safetensors=True)
    weights = load_file(tmp_path / "adapter.safetensors")
    gone, _ = weights.popitem()
    save_file(weights, tmp_path / "adapter.safetensors")
    info = {}
    tiny_model().load_adapter(str(tmp_path), loading_info=info)
    assert gone in info["missing_keys"]


def test_load_adapter_without_head(tiny_model, tmp_path):
    model = tiny_model()
    model.add_adapter("a", config="seq_bn")
    model.add_dlfa_head("a", 1, "tagging", num_labels=3)
    model.save_adapter(str(tmp_path), "a")
    fresh = tiny_model()
    fresh.load_adapter(str(tmp_path), with_head=False)
    assert len(fresh.heads) == 0


@pytest.mark.parametrize("name", ["en/wiki@ukp", "a,b", "a b", "été", "50%"])
def test_any_name_is_one_folder(name, tiny_model, tmp_path):
    model = tiny_model()
    model.add_dlfa_head(name, 1, "tagging", num_labels=3)
    model.save_all_heads(str(tmp_path))
    assert os.listdir(tmp_path) == [folder_name(name)]
    fresh = tiny_model()
    fresh.load_head(str(tmp_path / folder_name(name)))
    assert list(fresh.heads) == [name]


def test_folder_names_are_distinct_and_stay_inside():
    names = ["en/wiki", "en%2Fwiki", "..", ".", "a,b", "a%2Cb", "../x"]
    folders = [folder_name(name) for name in names]
    assert len(set(folders)) == len(names)
    assert all("/" not in folder and folder.strip(".") for folder in folders)


MISFITS = {
    "family": ({"family": "xlm-roberta"}, r"a bert encoder with 4 layers of width 16, but this model is a xlm-roberta"),
    "depth": (
        {"num_hidden_layers": 2},
        r"4 layers of width 16, but this model is a bert encoder with 2 layers of width 16",
    ),
    "width": ({"hidden_size": 32}, r"4 layers of width 16, but this model is a bert encoder with 4 layers of width 32"),
}


@pytest.mark.parametrize("case", MISFITS)
@pytest.mark.parametrize("way", ["load_head", "load_adapter"])
def test_another_encoder_is_refused(case, way, tiny_model, tmp_path):
    changes, message = MISFITS[case]
    model = tiny_model()
    model.add_adapter("x", config="seq_bn")
    model.add_dlfa_head("x", 2, "tagging", num_labels=3)
    model.save_adapter(str(tmp_path), "x")
    other = tiny_model(**changes)
    with pytest.raises(
        RunError, match=r"Head 'x' belongs to .*" + message + ".*; load it into AutoAdapterModel.from"
    ) as error:
        getattr(other, way)(str(tmp_path))
    assert "\n" not in str(error.value)
    assert len(other.heads) == 0
    assert len(other.adapters_config.adapters) == 0


@pytest.mark.parametrize("way", ["load_head", "load_adapter"])
def test_another_number_of_labels_is_refused(way, tiny_model, tmp_path):
    model = tiny_model()
    model.add_adapter("x", config="seq_bn")
    model.add_dlfa_head("x", 2, "tagging", num_labels=3)
    model.save_adapter(str(tmp_path), "x")
    other = tiny_model()
    other.add_dlfa_head("x", 2, "tagging", num_labels=5)
    before = state(other, "x")
    with pytest.raises(RunError, match=r"saved head has 3 labels, the head 'x' of this model 5; type load_as="):
        getattr(other, way)(str(tmp_path))
    assert equal(before, state(other, "x"))
    getattr(other, way)(str(tmp_path), load_as="y")
    assert other.heads["y"].config["num_labels"] == 3


def test_other_label_names_must_be_as_many(tiny_model, tmp_path):
    model = tiny_model()
    model.add_dlfa_head("x", 2, "tagging", num_labels=3)
    model.save_head(str(tmp_path), "x")
    with pytest.raises(RunError, match="saved head has 3 labels, but id2label names 2; type 3 names"):
        tiny_model().load_head(str(tmp_path), id2label={0: "a", 1: "b"})


def test_a_bad_new_name_is_refused(tiny_model, tmp_path):
    model = tiny_model()
    model.add_dlfa_head("x", 2, "tagging", num_labels=3)
    model.save_head(str(tmp_path), "x")
    with pytest.raises(ConfigError, match="cannot contain a dot"):
        tiny_model().load_head(str(tmp_path), load_as="a.b")


def test_heads_of_every_released_format_still_load(tiny_model, request):
    """`saved/format-N` was written by the first version with format N, and stays as it is."""
    folder = request.path.parent / "saved" / "format-1"
    model = tiny_model()
    model.load_head(str(folder))
    head = model.heads["ner"]
    assert model.get_labels() == ["O", "B-PER", "I-PER"]
    assert (head.config["fuse_layer"], head.config["gate"], head.config["pooling"]) == ([3, 2], "attention", "last")
    weights = {f"heads.ner.{key}": value for key, value in head.state_dict().items()}
    assert equal(weights, load_file(folder / FILE))


def test_a_newer_format_is_refused(tiny_model, tmp_path):
    model = tiny_model()
    model.add_dlfa_head("x", 2, "tagging", num_labels=3)
    model.save_head(str(tmp_path), "x")
    config = json.loads((tmp_path / "head_config.json").read_text())
    config["config"]["format"] = 2
    (tmp_path / "head_config.json").write_text(json.dumps(config))
    with pytest.raises(
        RunError, match=r"has format 2, this version .* reads up to 1; type: pip install -U dlfa-adapters"
    ):
        tiny_model().load_head(str(tmp_path))


def _cut(path):
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def _drop(path):
    weights = load_file(path)
    save_file({k: v for k, v in weights.items() if not k.endswith("running_mean")}, path)


DAMAGE = {
    "no configuration": (
        lambda d: (d / "head_config.json").unlink(),
        r"no saved head in .*head_config.json is missing",
    ),
    "no weights": (lambda d: (d / FILE).unlink(), r"has no weights \(model_head.safetensors is missing\)"),
    "half a configuration": (lambda d: _cut(d / "head_config.json"), "is not a whole JSON file"),
    "half the weights": (lambda d: _cut(d / FILE), "cannot be read"),
    "weights missing": (lambda d: _drop(d / FILE), r"lacks weights: heads\.x\.fusion.*running_mean"),
}


@pytest.mark.parametrize("case", DAMAGE)
def test_a_damaged_folder_is_refused_and_leaves_the_model_as_it_was(case, tiny_model, batch, tmp_path):
    damage, message = DAMAGE[case]
    model = tiny_model()
    model.add_dlfa_head("x", 2, "tagging", num_labels=3)
    model.save_head(str(tmp_path), "x")
    damage(tmp_path)
    other = tiny_model()
    with pytest.raises(RunError, match=message) as error:
        other.load_head(str(tmp_path))
    assert "\n" not in str(error.value)
    assert len(other.heads) == 0
    assert "x" not in other.config.prediction_heads
    other.add_dlfa_head("x", 1, "tagging", num_labels=3)
    other.add_dlfa_head("active", 1, "tagging", num_labels=3)
    before, config = state(other, "x"), other.heads["x"].config
    with pytest.raises(RunError, match=message):
        other.load_head(str(tmp_path))
    assert equal(before, state(other, "x"))
    assert other.config.prediction_heads["x"] is config
    assert other.active_head == "active"


def test_saving_a_head_that_is_not_there(tiny_model, tmp_path):
    with pytest.raises(RunError, match="has no head 'x' to save; it has none"):
        tiny_model().save_head(str(tmp_path), "x")


def test_training_goes_on_after_save_pretrained_with_prefix_tuning(tiny_model, train, batch, tmp_path):
    """Upstream unlinks the pool of prefixes to save, and leaves it so."""
    model = tiny_model()
    model.add_adapter("a", config="prefix_tuning")
    model.add_dlfa_head("a", 1, "tagging", num_labels=3)
    model.train_adapter("a")
    model.save_pretrained(tmp_path)
    model.train_adapter("a")
    train(model, batch, LABELS[3])


def test_average_head(tiny_model, shake):
    model = tiny_model()
    for name in ("a", "b"):
        model.add_dlfa_head(name, 1, "tagging", num_labels=3)
        shake(model, seed=len(name + "x") + ord(name))
    model.average_head("mean", ["a", "b"])
    for key, value in state(model, "mean").items():
        expected = (state(model, "a")[key] + state(model, "b")[key]) / 2
        torch.testing.assert_close(value, expected.to(value.dtype))


def test_weights_that_make_a_variance_negative_are_refused(tiny_model, shake):
    model = tiny_model()
    for name in ("a", "b"):
        model.add_dlfa_head(name, 1, "tagging", num_labels=3)
    for key, value in model.heads["b"].state_dict().items():
        if key.endswith("running_var"):
            value.fill_(9.0)
    for weights in ([3, -2], [1, -1]):
        with pytest.raises(ConfigError, match=r"running variance .* negative.*type weights from 0 up|add up to 0"):
            model.average_head("mean", ["a", "b"], weights=weights)
    assert list(model.heads) == ["a", "b"]
    for weights in ([3, 1], [-3, -1]):  # their sum divides them
        model.average_head("mean", ["a", "b"], weights=weights, overwrite_ok=True)
        variances = [v for key, v in model.heads["mean"].state_dict().items() if key.endswith("running_var")]
        assert variances
        assert all(torch.allclose(v, torch.full_like(v, 3.0)) for v in variances)
    for name in ("c", "d"):
        model.add_dlfa_head(name, 1, "tagging", num_labels=3, norm="layer")
    model.average_head("further", ["c", "d"], weights=[3, -2])


def test_heads_from_two_folders_of_one_encoder_can_be_averaged(tiny_model, shake, tmp_path):
    for name in ("a", "b"):
        model = tiny_model()
        model.config.name_or_path = f"/somewhere/{name}"
        model.add_dlfa_head(name, 1, "tagging", num_labels=3)
        shake(model, seed=ord(name)).save_head(str(tmp_path / name), name)
    model = tiny_model()
    for name in ("a", "b"):
        model.load_head(str(tmp_path / name))
    model.average_head("mean", ["a", "b"])
    expected = (state(model, "a")["inner.1.weight"] + state(model, "b")["inner.1.weight"]) / 2
    torch.testing.assert_close(state(model, "mean")["inner.1.weight"], expected)
    assert [model.heads[name].config["encoder"]["name"] for name in "ab"] == ["/somewhere/a", "/somewhere/b"]
    model.add_dlfa_head("other", 2, "tagging", num_labels=3)
    with pytest.raises(ValueError, match="different configurations"):
        model.average_head("no", ["a", "other"])
