"""Every option is honoured by a way of training, or refused by it by name; none is recorded and not used."""

import pytest

from dlfa_adapters.ground.errors import ConfigError
from dlfa_adapters.learning import loops
from dlfa_adapters.learning.checks import check_options
from dlfa_adapters.learning.loops import Loop, check_swept, spelled
from dlfa_adapters.learning.settings import Settings, make_settings, resolve
from dlfa_adapters.tuning import get_tuning

LOOPS = {name: loop for name, loop in vars(loops).items() if isinstance(loop, Loop)}
OTHER = {  # a value of each option that is not its default
    "fusion": "last", "fuse_layer": 2, "reduction": 2, "branches": "local", "gate": "attention", "norm": "layer",
    "init": "identity", "mask_padding": False, "pooling": "mean", "classifier": "bilstm", "lstm_hidden": 8,
    "lstm_dropout": 0.5, "max_length": 64, "context": 8, "first_sentences": 2,
    "parallel": "p.tsv", "target_text": "t.txt", "center": "m.safetensors", "epochs": 2, "max_steps": 7, "min_steps": 9,
    "learning_rate": 0.5, "head_learning_rate": 0.5, "head_learning_rates": (0.1, 0.2), "learning_rates": (0.1, 0.2),
    "batch_size": 16, "weight_decay": 0.5, "warmup": 0.5, "max_grad_norm": 2.0,
    "patience": 3, "within": 1.0, "every": 5, "seed": 1, "micro_batch_size": 8, "precision": "fp32",
    "gradient_checkpointing": True, "compile": True, "report_to": "wandb", "states": "cached", "leave_out": (1, 2),
    "source_weights": "en=3,de=1", "source_temperature": 5.0,
    "aux": "pos=p.tsv", "aux_temperature": 5.0,
    "arc_size": 7, "rel_size": 7, "mlp_dropout": 0.5, "upos_size": 7, "upos": "gold",
}  # fmt: skip
OF_DLFA = {"reduction", "branches", "gate", "norm", "init", "mask_padding"}


def test_there_is_a_value_for_every_option():
    assert OTHER.keys() == Settings.known().keys()
    assert all(value != Settings.known()[name].default for name, value in OTHER.items())


@pytest.mark.parametrize("name", OTHER)
@pytest.mark.parametrize("loop", LOOPS)
def test_an_option_is_honoured_or_refused_by_name(loop, name):
    settings = Settings().changed(**{name: OTHER[name]})
    if name in LOOPS[loop].honours or name in OF_DLFA:
        LOOPS[loop].check(settings)
        return
    with pytest.raises(ConfigError, match=rf" has no use for {spelled(name)}; leave it out\.$"):
        LOOPS[loop].check(settings)


@pytest.mark.parametrize("loop", LOOPS)
def test_the_defaults_of_every_tuning_can_be_given_again(loop):
    """As `--resume` gives them; what is filled in counts as left out."""
    assert set(LOOPS[loop].honours) <= Settings.known().keys()
    LOOPS[loop].check(make_settings())
    full = resolve(make_settings(epochs=3), get_tuning("full"))
    if loop == "TRAINER":
        LOOPS[loop].check(make_settings(**full.as_dict()))


@pytest.mark.parametrize("classifier", ["linear", "bilstm"])
def test_resolved_options_of_frozen_states_can_be_given_again(classifier):
    tuning = get_tuning("features")
    settings = make_settings(**resolve(make_settings(classifier=classifier), tuning).as_dict())
    loops.check_honoured(settings, tuning)


def test_several_are_named_together():
    with pytest.raises(ConfigError, match="no use for --micro-batch, --warmup, --patience; leave them out"):
        loops.LINEAR_ON_STATES.check(make_settings(patience=1, warmup=0.5, micro_batch_size=8))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"fusion": "concat"}, "type --with concat instead of --fusion"),
        ({"fuse_layer": 3}, "name them with --layers instead of --fuse-layer"),
        ({"max_grad_norm": 2.0}, "A sweep of a frozen encoder has no use for --max-grad-norm; leave it out"),
    ],
)
def test_a_sweep_says_what_to_type(options, message):
    with pytest.raises(ConfigError, match=message):
        check_options("ner", tuning="features", check=check_swept, **options)


def test_what_linear_heads_on_states_honour_reaches_them(start, tmp_path):
    """Weight decay is no word in a file: a strong one makes other weights."""
    import torch
    from safetensors.torch import load_file

    states = []
    for number, decay in enumerate((0.0, 50.0)):
        start("ner", tmp_path / str(number), "features", weight_decay=decay, epochs=1, head_learning_rate=1e-2)
        states.append(load_file(next((tmp_path / str(number)).rglob("*.safetensors"))))
    assert any(not torch.equal(states[0][name], states[1][name]) for name in states[0])
