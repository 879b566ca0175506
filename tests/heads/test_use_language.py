"""`use_language`: only the adapter at the bottom of the stack changes, and it must be one for this encoder."""

import json

import pytest
import torch
from adapters import Stack
from safetensors.torch import load_file, save_file

from dlfa_adapters.encoders.parts import fingerprint
from dlfa_adapters.ground.errors import ConfigError
from dlfa_adapters.ground.files import sha256_of
from dlfa_adapters.heads.language import RECORD


def randomise(model, part, seed):
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if part in name:
                parameter.add_(0.3 * torch.randn(parameter.shape, generator=generator))


@pytest.fixture
def saved(tiny_model, tmp_path):
    """saved("de", seed=2): a folder with a language adapter, and with what `train_language` writes beside it."""

    def save(language, seed=2, config="seq_bn_inv", record=True, folder=None, encoder_seed=0, **changes):
        model = tiny_model(seed=encoder_seed, **changes)
        model.add_adapter(language, config=config)
        randomise(model, f"adapters.{language}.", seed)
        folder = tmp_path / (folder or language)
        model.save_adapter(str(folder), language, use_safetensors=True)
        encoder = {
            "name": "tiny", "num_hidden_layers": model.config.num_hidden_layers, "fingerprint": fingerprint(model)
        }  # fmt: skip
        if record:
            files = {path.name: sha256_of(path) for path in folder.iterdir()}
            (folder / RECORD).write_text(json.dumps({"language": language, "encoder": encoder, "files": files}))
        return folder

    return save


@pytest.fixture
def stacked(tiny_model, saved):
    """A tagger over the language adapter `en`."""
    model = tiny_model()
    model.add_dlfa_head("ner", fuse_layer=2)
    model.load_language_adapter(saved("en", seed=1))
    model.add_adapter("ner", config="seq_bn")
    model.set_active_adapters(Stack("en", "ner"))
    randomise(model, "adapters.ner.", 7)
    randomise(model, "heads.", 8)
    return model.eval()


def rest_of(model, *names):
    """Everything but the adapters of some languages, to the bit."""
    state = model.state_dict()
    return {key: t.clone() for key, t in state.items() if not any(f"adapters.{name}." in key for name in names)}


def test_only_the_language_changes(stacked, saved, batch):
    before, logits, config = rest_of(stacked), stacked(**batch).logits, dict(stacked.heads["ner"].config)
    labels, layers = dict(stacked.config.id2label), stacked.heads["ner"].indices
    assert stacked.language_adapter == "en"
    assert stacked.use_language(saved("de")) == "de"
    assert str(stacked.active_adapters) == "Stack[de, ner]"
    assert stacked.active_head == "ner"
    assert stacked.language_adapter == "de"
    after = rest_of(stacked, "de")
    assert before.keys() == after.keys()
    assert all(tensor.equal(after[key]) for key, tensor in before.items())
    assert (stacked.config.id2label, stacked.heads["ner"].indices) == (labels, layers)
    assert stacked.heads["ner"].config == config
    german = stacked(**batch).logits
    assert (german - logits).abs().max() > 1e-2
    assert stacked.use_language("en") == "en"
    assert stacked(**batch).logits.equal(logits)
    assert stacked.use_language("de") == "de"
    assert stacked(**batch).logits.equal(german)


def test_logits_are_those_of_a_stack_that_was_made_with_the_other_language(stacked, saved, batch):
    folder = saved("de")
    stacked.use_language(folder)
    swapped = stacked(**batch).logits
    stacked.load_adapter(str(folder), load_as="again", with_head=False)
    stacked.set_active_adapters(Stack("again", "ner"))
    assert stacked(**batch).logits.equal(swapped)
    stacked.set_active_adapters(Stack("ner"))
    assert not torch.allclose(stacked(**batch).logits, swapped, atol=1e-2)


def test_what_else_is_active_stays(stacked, saved):
    """A head with another name, layers that are skipped, the mode; and the new adapter does not learn."""
    stacked.add_dlfa_head("pos", fuse_layer=3)
    stacked.set_active_adapters(Stack("en", "ner"), skip_layers=[0])
    stacked.active_head = "pos"
    stacked.train()
    stacked.use_language(saved("de"))
    assert stacked.active_head == "pos"
    assert stacked.config.id2label[0] == "ADJ"
    assert stacked.adapters_config.skip_layers == [0]
    assert all(module.training for module in stacked.get_adapter("de")[0].values())
    assert not [name for name, p in stacked.named_parameters() if "adapters.de." in name and p.requires_grad]
    assert [name for name, p in stacked.named_parameters() if "adapters.ner." in name and p.requires_grad]


def test_a_name_that_is_taken_gets_a_number(stacked, saved, batch):
    english = stacked(**batch).logits
    assert stacked.use_language(saved("en", seed=5, folder="en2")) == "en_2"
    assert not torch.allclose(stacked(**batch).logits, english, atol=1e-2)
    assert stacked.use_language(saved("en", seed=6, folder="en3")) == "en_3"
    assert stacked.use_language("en") == "en"
    assert stacked(**batch).logits.equal(english)


def test_an_adapter_with_fewer_layers(stacked, saved, batch):
    from adapters import AdapterConfig

    config = AdapterConfig.load("seq_bn_inv", leave_out=[3], reduction_factor=4)
    stacked.use_language(saved("de", config=config))
    assert torch.isfinite(stacked(**batch).logits).all()
    assert sorted(layer for layer in stacked.get_adapter("de") if layer >= 0) == [0, 1, 2]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"hidden_size": 32},
            "is for a bert encoder of width 32 and depth 4, this model is bert of width 16 and depth 4",
        ),
        ({"num_hidden_layers": 3}, "of width 16 and depth 3, this model is bert of width 16 and depth 4; train a lang"),
        ({"family": "distilbert"}, "is for a distilbert encoder of width 16"),
        (
            {"encoder_seed": 1},
            r"trained on 'tiny' with fingerprint \w{16}, this encoder has \w{16}: the same architecture",
        ),
        ({"num_hidden_layers": 3, "record": False}, "another depth or form than this bert with 4 blocks"),
        ({"num_hidden_layers": 5, "record": False}, "another depth or form than this bert with 4 blocks"),
    ],
)
def test_adapters_of_other_encoders_are_refused(changes, message, stacked, saved, batch):
    folder = saved("de", **changes)
    before, logits = rest_of(stacked), stacked(**batch).logits
    with pytest.raises(ConfigError, match=message):
        stacked.use_language(folder)
    assert before.keys() == stacked.state_dict().keys()
    assert list(stacked.adapters_config.adapters) == ["en", "ner"]
    assert stacked(**batch).logits.equal(logits)


def test_other_weights_are_taken_when_told(stacked, saved):
    assert stacked.use_language(f"unchecked:{saved('de', encoder_seed=1)}") == "de"
    with pytest.raises(ConfigError, match="of width 16 and depth 3"):  # what does not fit stays refused
        stacked.use_language(f"unchecked:{saved('fr', num_hidden_layers=3)}")


def test_damaged_folders(stacked, saved, tmp_path):
    damaged_record = "no whole description|language.json was changed or is damaged"
    for name, message in ((RECORD, damaged_record), ("adapter_config.json", "no whole description")):
        folder = saved("de", folder=f"cut-{name}")
        text = (folder / name).read_text()
        for damaged in (text[: len(text) // 2], "[]", "{}"):
            (folder / name).write_text(damaged)
            with pytest.raises(ConfigError, match=message):
                stacked.use_language(folder)
    folder = saved("de", folder="short", record=False)
    weights = folder / "adapter.safetensors"
    weights.write_bytes(weights.read_bytes()[:-100])
    with pytest.raises(ConfigError, match="cannot be loaded"):
        stacked.use_language(folder)
    folder = saved("de", folder="fewer", record=False)
    tensors = load_file(folder / "adapter.safetensors")
    tensors.popitem()
    save_file(tensors, folder / "adapter.safetensors")
    with pytest.raises(ConfigError, match="1 weights do not match"):
        stacked.use_language(folder)
    folder = saved("de", folder="other-kind", record=False)
    config = json.loads((folder / "adapter_config.json").read_text())
    (folder / "adapter_config.json").write_text(json.dumps({**config, "config": {"architecture": "adapter"}}))
    with pytest.raises(ConfigError, match=r"cannot be loaded \(KeyError: 'adapter'\)"):
        stacked.use_language(folder)
    with pytest.raises(ConfigError, match=r"'nowhere/xx' cannot be loaded .*give a folder"):
        stacked.use_language("nowhere/xx")
    assert list(stacked.adapters_config.adapters) == ["en", "ner"]


def test_files_are_those_that_were_written(stacked, saved):
    """Flipped bits would load, and change the logits."""
    folder = saved("de")
    weights, record = folder / "adapter.safetensors", folder / RECORD
    content, told = weights.read_bytes(), json.loads(record.read_text())
    for way in (str(folder), f"unchecked:{folder}"):
        weights.write_bytes(content[:-1] + bytes([content[-1] ^ 64]))
        with pytest.raises(ConfigError, match=r"adapter.safetensors is missing or not the file that was written"):
            stacked.use_language(way)
        weights.unlink()
        with pytest.raises(ConfigError, match=r"adapter.safetensors is missing or not the file that was written"):
            stacked.use_language(way)
        weights.write_bytes(content)
        for name in told["files"]:
            fewer = {key: told["files"][key] for key in told["files"] if key != name}
            record.write_text(json.dumps({**told, "files": fewer}))
            with pytest.raises(ConfigError, match=f"language.json has no checksum of {name}"):
                stacked.use_language(way)
        record.write_text(json.dumps(told))
    (folder / "README.md").write_text("A user's.")
    assert stacked.use_language(folder) == "de"


@pytest.mark.parametrize("path", ["language", "encoder", "files", "encoder.name", "encoder.fingerprint"])
@pytest.mark.parametrize("value", [None, 5, "", [], {"x": 1}])
def test_a_record_that_was_edited_is_one_sentence(path, value, stacked, saved):
    folder = saved("de")
    whole = json.loads((folder / RECORD).read_text())
    *above, last = path.split(".")
    (whole[above[0]] if above else whole)[last] = value
    (folder / RECORD).write_text(json.dumps(whole))
    with pytest.raises(
        ConfigError, match=r"language.json was changed or is damaged \(.*; copy the adapter again"
    ) as got:
        stacked.use_language(folder)
    assert "\n" not in str(got.value)


def test_where_there_is_no_language_to_change(stacked, tiny_model, saved):
    with pytest.raises(ConfigError, match="'ner' stands over the language adapter already"):
        stacked.use_language("ner")
    for setup in (Stack("ner"), None):
        stacked.set_active_adapters(setup)
        assert stacked.language_adapter is None
        with pytest.raises(ConfigError, match=r"but active is (Stack\[ner\]|None); type"):
            stacked.use_language("en")
