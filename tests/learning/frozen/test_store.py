"""Hidden states in files: used again if all that they depend on is the same, never if a file is not whole."""

import dataclasses
from contextlib import contextmanager

import pytest
import torch

from dlfa_adapters.encoders import states
from dlfa_adapters.encoders.cache import cached_states, find_room, state_file_names
from dlfa_adapters.encoders.parts import blocks_of
from dlfa_adapters.ground.errors import ConfigError, RunError
from dlfa_adapters.ground.files import in_bytes, parse_bytes
from dlfa_adapters.kinds.loss import Accuracy as accuracy
from dlfa_adapters.learning.frozen import compute_states, train_heads
from dlfa_adapters.learning.frozen.head import HeadSpec
from dlfa_adapters.tasks import NER

LAYERS = (0, 2, 3)


@pytest.fixture
def counted(monkeypatch):
    """How often the encoder has run; each entry is the number of windows."""
    from dlfa_adapters.encoders import compute, states

    runs, states_of = [], states.states_of

    def count(model, windows, *rest):
        runs.append(len(windows))
        return states_of(model, windows, *rest)

    for module in (compute, states):
        monkeypatch.setattr(module, "states_of", count)
    return runs


def store(path, encoder, tagged, layers=LAYERS, windows=None):
    return cached_states(path, encoder.model, windows or tagged.windows, 0, layers)


def test_a_file_holds_the_states_and_is_used_again(tmp_path, encoder, tagged, counted):
    path = tmp_path / "deep" / "train.safetensors"
    first = store(path, encoder, tagged)
    assert sum(counted) == len(tagged.windows)
    again = store(path, encoder, tagged)
    assert sum(counted) == len(tagged.windows)
    assert [entry.name for entry in path.parent.iterdir()] == ["train.safetensors"]
    for found in (first, again):
        assert (found.layers, found.num_layers, found.offsets) == (LAYERS, 3, tagged.states.offsets)
        torch.testing.assert_close(found.tokens, tagged.states.tokens[:, list(LAYERS)], rtol=0, atol=5e-3)
    torch.testing.assert_close(
        first.batch([1, 0], [3, 0])[0], tagged.states.batch([1, 0], [3, 0])[0], rtol=0, atol=5e-3
    )


def test_exact_states_have_a_file_of_their_own(tmp_path, encoder, tagged, counted):
    path, about = tmp_path / "train.safetensors", (encoder.model, tagged.windows, 0, LAYERS)
    half = cached_states(path, *about)
    exact = cached_states(path, *about, exact=True)
    assert sum(counted) == 2 * len(tagged.windows)  # those in 16 bits are no exact ones
    assert (half.tokens.dtype, exact.tokens.dtype) == (torch.float16, torch.float32)
    expected = torch.cat([states.states_of(encoder.model, [window], 0, LAYERS) for window in tagged.windows])
    torch.testing.assert_close(exact.tokens, expected, rtol=1e-5, atol=1e-5)
    assert torch.equal(cached_states(path, *about, exact=True).tokens, exact.tokens)
    assert find_room(*about[:1], {"train": tagged.windows}, LAYERS, tmp_path, exact=True).size == exact.tokens.nbytes


def test_other_pieces_layers_weights_or_settings_are_computed_anew(tmp_path, encoder, tagged, counted, tiny_folder):
    from dlfa_adapters.encoders import load_encoder

    path = tmp_path / "train.safetensors"
    store(path, encoder, tagged)
    changed = [tagged.windows[0]._replace(input_ids=[*tagged.windows[0].input_ids[:-1], 7]), *tagged.windows[1:]]
    other = load_encoder(str(tiny_folder))
    with torch.no_grad():
        other.model.base_model.encoder.layer[1].output.dense.weight[0, 0] += 1
    config = load_encoder(str(tiny_folder))
    config.model.config.layer_norm_eps = 1e-3
    for arguments in (
        (encoder, tagged, LAYERS, changed), (encoder, tagged, (0, 1, 3), None), (other, tagged), (config, tagged),
        (encoder, tagged),
    ):  # fmt: skip
        before = sum(counted)
        store(path, *arguments)
        assert sum(counted) == before + len(tagged.windows)


class Shift(states.Change):
    """Adds a number to what a block gives."""

    def __init__(self, block, by):
        self.block, self.by = block, by

    @property
    def identity(self):
        return f"shift of {self.by} behind block {self.block}"

    @contextmanager
    def applied(self, encoder):
        def add(module, inputs, output):
            return (output[0] + self.by, *output[1:])

        hook = blocks_of(encoder)[self.block - 1].register_forward_hook(add)
        yield
        hook.remove()


def test_states_are_known_by_what_changes_them(tmp_path, encoder, tagged, counted):
    path, windows, layers = tmp_path / "train.safetensors", tagged.windows, (1, 2, 3)
    given = (encoder.model, {"train": windows}, layers)
    plain = compute_states(encoder.model, windows, 0, layers=layers).tokens
    found = {}
    for changes in ((), (Shift(2, 0.5),), (Shift(2, -0.5),), (Shift(2, 0.5),)):
        before = sum(counted)
        cache = find_room(*given, tmp_path, changes=changes)
        found[changes and changes[0].by] = cache.states(*given[:2], 0)["train"].tokens.clone()
        assert sum(counted) == before + len(windows)  # another change is computed anew
        cache.states(*given[:2], 0)
        assert sum(counted) == before + len(windows)  # the same one is not
    assert torch.equal(found[()], plain)
    assert torch.equal(found[0.5][:, 0], plain[:, 0])
    torch.testing.assert_close(found[0.5][:, 1], (plain[:, 1].float() + 0.5).half(), rtol=0, atol=5e-3)
    assert not torch.allclose(found[0.5][:, 2], found[-0.5][:, 2], atol=1e-2)
    streamed = find_room(*given, None, changes=[Shift(2, 0.5)]).states(*given[:2], 0)["train"]
    assert torch.equal(streamed.tokens_of(range(len(windows))), found[0.5].float())
    assert path.is_file()


def test_states_are_known_by_active_adapters(tmp_path, tagged, counted, tiny_folder):
    from dlfa_adapters.encoders import load_encoder

    model, before = load_encoder(str(tiny_folder)).model, 0
    model.add_adapter("en", config="seq_bn")
    for active in (None, "en", "en"):
        model.set_active_adapters(active)
        cached_states(tmp_path / "train.safetensors", model, tagged.windows, 0, LAYERS)
        before += 0 if sum(counted) == before else len(tagged.windows)
        assert sum(counted) == before
    assert before == 2 * len(tagged.windows)


@pytest.mark.parametrize("damage", ["cut", "header", "empty", "a bit", "checksum"])
def test_a_damaged_file_is_computed_anew(tmp_path, encoder, tagged, counted, damage, caplog):
    path = tmp_path / "train.safetensors"
    whole = store(path, encoder, tagged).tokens.clone()
    content = path.read_bytes()
    path.unlink()
    path.write_bytes({"cut": content[:-2], "header": b"\xff" * 8 + content[8:], "empty": b"",
                      "a bit": content[:-9] + bytes([content[-9] ^ 1]) + content[-8:],
                      "checksum": content.replace(b"xxh3_128", b"xxh3_129")}[damage])  # fmt: skip
    again = store(path, encoder, tagged)
    assert sum(counted) == 2 * len(tagged.windows)
    assert torch.equal(again.tokens, whole)
    assert ("is damaged and was deleted; the states are computed anew" in caplog.text) == (damage != "checksum")


def test_what_a_killed_process_has_left_is_not_taken_and_goes(tmp_path, encoder, tagged, counted):
    path = tmp_path / "train.safetensors"

    def stop(done):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        cached_states(path, encoder.model, tagged.windows, 0, LAYERS, stop)
    assert not list(tmp_path.iterdir())
    (tmp_path / ".train.safetensors-999999999.dlfa-draft").write_bytes(b"half")
    (tmp_path / ".train.safetensors-notes").write_bytes(b"a user's")
    store(path, encoder, tagged)
    assert sorted(entry.name for entry in tmp_path.iterdir()) == [".train.safetensors-notes", "train.safetensors"]


def test_states_too_large_for_half_precision_are_kept_in_bfloat16(tmp_path, encoder, tagged, tiny_folder):
    from dlfa_adapters.encoders import load_encoder

    large = load_encoder(str(tiny_folder)).model
    with torch.no_grad():
        large.base_model.encoder.layer[-1].output.LayerNorm.weight.mul_(1e5)
    states = cached_states(tmp_path / "x.safetensors", large, tagged.windows, 0, LAYERS)
    assert states.tokens.dtype == torch.bfloat16
    assert states.tokens.isfinite().all()
    assert states.tokens.abs().max() > 65504
    with torch.no_grad():
        large.base_model.encoder.layer[-1].output.LayerNorm.weight.fill_(float("nan"))
    with pytest.raises(RunError, match="not finite"):
        compute_states(large, tagged.windows, 0)


def test_beyond_the_budget_the_encoder_runs_in_every_epoch_and_the_heads_are_the_same(
    tmp_path, encoder, tagged, counted
):
    windows = {"train": tagged.windows}
    size = 2 * 16 * len(LAYERS) * tagged.states.offsets[-1]
    kept, streamed = (find_room(encoder.model, windows, LAYERS, tmp_path, budget) for budget in (size, size - 1))
    assert kept.size == size
    assert (kept.folder, streamed.folder) == (tmp_path, None)
    assert str(tmp_path) in str(kept)
    assert "once in every epoch" in str(streamed)
    specs = [HeadSpec.of(name="D_2", fuse_layer=(2,), gate="attention"), HeadSpec.of(name="last", fusion="last")]
    found, runs = [], []
    for cache in (kept, streamed):
        before = sum(counted)
        data = dataclasses.replace(tagged, states=cache.states(encoder.model, windows, 0)["train"])
        found.append(train_heads(specs, data, None, NER.labels, accuracy, epochs=3, learning_rate=1e-3, batch_size=4))
        runs.append(sum(counted) - before)
    assert runs == [len(tagged.windows), 3 * len(tagged.windows)]
    for one, other in zip(*found, strict=True):
        for name, value in one.state_dict.items():
            if not name.endswith(("conv1.bias", "conv2.bias", "running_mean")):  # see test_side_by_side
                torch.testing.assert_close(other.state_dict[name], value, rtol=0, atol=5e-3, msg=name)


def test_a_full_disk_is_no_place_for_states(tmp_path, encoder, tagged, monkeypatch):
    from dlfa_adapters.encoders import cache as module

    monkeypatch.setattr(module, "free_disk", lambda folder: 2**31)
    assert find_room(encoder.model, {"train": tagged.windows}, LAYERS, tmp_path).folder is None
    size = 2 * 16 * len(LAYERS) * tagged.states.offsets[-1]
    for there, folder in ((size, tmp_path), (size - 1, None)):  # earlier states, which are replaced, make room
        (tmp_path / "train.safetensors").write_bytes(bytes(there))
        assert find_room(encoder.model, {"train": tagged.windows}, LAYERS, tmp_path).folder == folder
    monkeypatch.setattr(module, "free_disk", lambda folder: 2**32)
    assert find_room(encoder.model, {"train": tagged.windows}, LAYERS, tmp_path).folder == tmp_path


def test_sizes_and_file_names():
    assert [parse_bytes(text) for text in ("20GB", "1.5 kB", "7", "3MiB")] == [20 * 10**9, 1500, 7, 3 * 2**20]
    assert [in_bytes(size) for size in (900, 7_800, 4 * 10**6, 1024 * 10**7)] == ["900 B", "8 kB", "4.0 MB", "10.2 GB"]
    with pytest.raises(ConfigError, match=r"20GB or 500MB, got 'much'"):
        parse_bytes("much")
    assert state_file_names(dict.fromkeys(["target-de", "target-../x", "target-/x", "TARGET-de"])) == [
        "target-de", "target--x", "target--x.2", "TARGET-de.3",
    ]  # fmt: skip
