"""The configuration: what it keeps, and what it refuses."""

import json

import pytest
import torch
import transformers

from dlfa_adapters.ground.errors import ConfigError, RunError, UnsupportedModelError
from dlfa_adapters.models import DLFAConfig, DLFAForTokenClassification

OPTIONS = {
    "fusion": "dlfa", "reduction": 2.5, "branches": "local", "gate": "attention", "norm": "layer", "init": "identity",
    "mask_padding": False, "pooling": "mean", "classifier_layers": 3, "classifier_activation": "gelu",
    "classifier_bias": False, "classifier_dropout": 0.3, "task": "mine", "encoder_name": "some/encoder",
}  # fmt: skip


def test_every_option_survives_a_file(encoder_config, tmp_path):
    names = {0: "O", 1: "B-X", 2: "I-X"}
    config = DLFAConfig(encoder_config("distilbert"), (3, 1), **OPTIONS, id2label=names)
    config.save_pretrained(tmp_path)
    again = transformers.AutoConfig.from_pretrained(tmp_path)
    assert type(again) is DLFAConfig
    for options in (config, again):
        assert {name: getattr(options, name) for name in OPTIONS} == OPTIONS
        assert options.fuse_layer == [3, 1]
        assert (options.id2label, options.label2id) == (names, {"O": 0, "B-X": 1, "I-X": 2})
        assert (options.hidden_size, options.num_hidden_layers, options.vocab_size) == (16, 4, 100)
    assert again.encoder_config.to_dict() == config.encoder_config.to_dict()
    stored = json.loads((tmp_path / "config.json").read_text("utf-8"))
    assert (stored["model_type"], stored["dlfa_format"]) == ("dlfa", 1)
    assert stored["encoder_config"]["model_type"] == "distilbert"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"fuse_layer": 5}, r"must lie in 0..4 .*, got 5"),
        ({"fuse_layer": None}, "fuse_layer must be a layer number"),
        ({"fuse_layer": 2, "fusion": "last"}, "'last' takes no fuse_layer, got 2"),
        ({"fuse_layer": 2, "pooling": "cls"}, "pooling must be one of first, last, mean; got 'cls'"),
        ({"fuse_layer": 2, "classifier_layers": 0}, "classifier_layers must be a whole number from 1 up, got 0"),
        ({"fuse_layer": 2, "id2label": {0: "A", 1: "A"}}, "names A more than once"),
        ({"fuse_layer": 2, "id2label": {1: "A", 2: "B"}}, "must map 0, 1, 2... to label names"),
    ],
)
def test_values_that_cannot_work_are_refused(options, message, encoder_config):
    with pytest.raises(ConfigError, match=message):
        DLFAConfig(encoder_config(), **options)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"fusion": "sum"}, "fusion must be one of dlfa, last"),
        ({"norm": "group"}, "norm must be one of batch, layer, none"),
        ({"reduction": 0}, "reduction must lie above 0"),
        ({"classifier_layers": 2, "classifier_activation": "tahn"}, "no activation 'tahn'"),
    ],
)
def test_options_of_the_fusion_are_refused_by_the_model(options, message, encoder_config):
    with pytest.raises(ConfigError, match=message):
        DLFAForTokenClassification(DLFAConfig(encoder_config(), 2, **options))


def test_no_encoder_no_configuration():
    with pytest.raises(ConfigError, match="needs the configuration of an encoder"):
        DLFAConfig()
    with pytest.raises(UnsupportedModelError, match="no encoder of type 'nothing'"):
        DLFAConfig({"model_type": "nothing"}, 2)


def test_the_folder_of_a_bare_encoder_is_no_model(tiny_folder):
    with pytest.raises(ConfigError, match=r"a bare encoder has no DLFA configuration; type .*from_encoder"):
        DLFAForTokenClassification.from_pretrained(tiny_folder)


def test_a_later_format_is_refused(encoder_config):
    with pytest.raises(RunError, match="has format 2, this version of dlfa_adapters reads up to 1; type: pip install"):
        DLFAConfig(encoder_config(), 2, dlfa_format=2)


def test_the_attention_kernel_reaches_the_encoder(tagger, tmp_path):
    tagger().save_pretrained(tmp_path)
    for kernel in ("eager", "sdpa"):
        model = DLFAForTokenClassification.from_pretrained(tmp_path, attn_implementation=kernel)
        assert model.encoder.config._attn_implementation == kernel
    assert tagger().encoder.config._attn_implementation == "sdpa"


def test_new_embeddings_are_saved_with_their_number(tagger, tmp_path):
    model = tagger()
    model.resize_token_embeddings(103)
    model.save_pretrained(tmp_path)
    again = DLFAForTokenClassification.from_pretrained(tmp_path)
    assert again.get_input_embeddings().weight.shape == (103, 16)
    assert again.config.vocab_size == 103


def test_the_default_dropout_does_not_depend_on_who_was_imported(encoder_config):
    """DistilBERT's is called seq_classif_dropout; adapters makes classifier_dropout an alias of it."""
    assert DLFAConfig(encoder_config("distilbert"), 2).classifier_dropout == 0.2
    assert DLFAConfig(encoder_config("mt5"), 2).classifier_dropout == 0.0
    assert DLFAConfig(encoder_config("bert", hidden_dropout_prob=0.4), 2).classifier_dropout == 0.4
    assert DLFAConfig(encoder_config("bert", classifier_dropout=0.6), 2).classifier_dropout == 0.6


NEW_PROCESS = """
import sys, torch
import dlfa_adapters
from transformers import AutoModelForTokenClassification
model = AutoModelForTokenClassification.from_pretrained(sys.argv[1])
inputs = torch.load(sys.argv[1] + "/inputs.pt")
torch.save(model(**inputs).logits.detach(), sys.argv[1] + "/logits.pt")
"""


def test_importing_the_library_is_enough_in_a_new_process(tagger, pieces, sgd, logits, tmp_path, fresh):
    model = tagger()
    sgd(model, pieces)
    model.save_pretrained(tmp_path)
    torch.save({name: pieces[name] for name in ("input_ids", "attention_mask")}, tmp_path / "inputs.pt")
    done = fresh.run(NEW_PROCESS, tmp_path)
    assert done.returncode == 0, done.stderr[-2000:]
    assert torch.equal(torch.load(tmp_path / "logits.pt"), logits(model))
