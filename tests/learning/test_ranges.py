"""Numbers that cannot work are refused before anything is loaded."""

import pytest

from dlfa_adapters.ground.errors import ConfigError, MissingExtraError
from dlfa_adapters.learning.ranges import RANGES
from dlfa_adapters.learning.settings import make_settings


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("epochs", 0), ("batch_size", -2), ("micro_batch_size", 0), ("every", 0), ("patience", -1),
        ("learning_rate", 0), ("learning_rate", -1e-5), ("learning_rate", float("nan")),
        ("head_learning_rate", float("inf")), ("weight_decay", -1), ("warmup", 1.5), ("warmup", float("nan")),
        ("within", -1), ("seed", -1), ("seed", 2**32),
    ],
)  # fmt: skip
def test_a_number_out_of_its_range(name, value):
    with pytest.raises(ConfigError, match=rf"^{name} must be .*, got "):
        make_settings(**{name: value})


def test_ranges_are_of_options_that_there_are():
    assert set(RANGES) <= set(make_settings().as_dict())
    make_settings(learning_rate=1e-30, warmup=1, weight_decay=0, seed=2**32 - 1)


def test_where_curves_go(monkeypatch):
    import transformers.integrations

    with pytest.raises(ConfigError, match=r"report_to must be one of none, .*tensorboard.*; got 'x'"):
        make_settings(report_to="x")
    monkeypatch.setattr(transformers.integrations, "get_available_reporting_integrations", lambda: ["wandb"])
    with pytest.raises(MissingExtraError, match="pip install tensorboard"):
        make_settings(report_to="tensorboard")
    assert make_settings(report_to="wandb").machine.report_to == "wandb"


def test_what_frozen_states_have_no_use_for_is_refused(start, tmp_path):
    message = "an? .* learns on its states, has no use for --patience, --every, --compile; leave them out"
    for classifier in ("linear", "bilstm"):
        with pytest.raises(ConfigError, match=message):
            start("ner", tmp_path / "run", "features", every=2, patience=3, compile=True, classifier=classifier)


def test_frozen_states_are_in_fp32(start, tmp_path):
    with pytest.raises(ConfigError, match="--tuning features computes in fp32; leave --precision out"):
        start("ner", tmp_path / "run", "features", precision="bf16")
