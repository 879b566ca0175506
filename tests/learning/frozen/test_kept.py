"""Which epoch is kept, and going on after an epoch as if nothing had happened."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from dlfa_adapters.kinds.loss import Accuracy as accuracy
from dlfa_adapters.learning.frozen import HeadSpec, TrainedHead, train_heads
from dlfa_adapters.learning.frozen.head import Epoch, Rate
from dlfa_adapters.tasks import NER

EPOCHS = st.lists(st.tuples(st.integers(0, 8).map(float), st.integers(0, 3).map(float)), min_size=1, max_size=9)


def after(epochs, within):
    head = TrainedHead(HeadSpec.of(name="x"))
    for number, (score, loss) in enumerate(epochs, 1):
        make = lambda n=number, s=score, loss=loss: Epoch(n, s, {}, loss=loss)  # noqa: E731
        head.after_epoch(number, score, within, make, loss)
    assert (head.dev_scores, head.dev_losses) == tuple(map(list, zip(*epochs, strict=True)))
    return head


@settings(max_examples=200, deadline=None)
@given(EPOCHS, st.sampled_from([1.0, 2.0, 20.0]))
def test_the_first_epoch_within_so_many_points_of_the_best(epochs, within):
    head, scores = after(epochs, within), [score for score, _ in epochs]
    expected = next(i for i, score in enumerate(scores, 1) if score >= max(scores) - within)
    assert (head.epoch, head.dev_score) == (expected, scores[expected - 1])


@settings(max_examples=200, deadline=None)
@given(EPOCHS)
def test_among_epochs_of_the_best_score_the_one_of_the_lowest_loss(epochs):
    head = after(epochs, 0.0)
    best = max(epochs, key=lambda epoch: (epoch[0], -epoch[1]))
    assert (head.epoch, head.quality) == (epochs.index(best) + 1, (best[0], -best[1]))
    assert len(head.epochs) == 1  # no weights are held that can no longer be kept


def test_rates_are_compared_by_the_best_epoch_also_where_an_earlier_one_is_kept():
    head = after([(50.0, 0.9), (60.0, 0.7), (60.0, 0.5), (55.0, 0.1)], within=10.0)
    assert (head.epoch, head.dev_score, head.quality) == (1, 50.0, (60.0, -0.5))


def test_without_dev_data_the_last_epoch_is_kept(tagged):
    [head] = train_heads([HeadSpec.of(name="last", fusion="last")], tagged, None, NER.labels, accuracy, epochs=3)
    assert (head.epoch, head.dev_scores) == (3, [])


SPECS = [
    HeadSpec.of(name="D_2", fuse_layer=(2,), gate="attention"),
    HeadSpec.of(name="D_1", fuse_layer=(1,), gate="attention", seed=1),
    HeadSpec.of(name="mix", fusion="scalar_mix"),
    HeadSpec.of(name="D_1 batch", fuse_layer=(1,), gate="product", norm="batch"),
]
OPTIONS = {"epochs": 4, "rates": [Rate(1e-2), Rate(1e-3), Rate(1e-2, 0.1), Rate(1e-3)], "batch_size": 3, "within": 30.0}


class KilledError(Exception):
    pass


@pytest.mark.parametrize("step", [1, 4, 7, 12], ids=lambda step: f"step {step}")
def test_a_training_that_was_cut_short_goes_on_to_the_same_bits(step, tagged, tmp_path):
    data = (SPECS, tagged, tagged, NER.labels, accuracy)
    whole = train_heads(*data, **OPTIONS, watch={"de": tagged})
    path, steps = tmp_path / "epoch.safetensors", []

    def kill(done, total):
        steps.append(total)
        if len(steps) == step:
            raise KilledError

    with pytest.raises(KilledError):
        train_heads(*data, **OPTIONS, watch={"de": tagged}, checkpoint=path, on_progress=kill)
    assert path.is_file() == (step > 3)  # three steps are an epoch
    steps = []
    again = train_heads(
        *data, **OPTIONS, watch={"de": tagged}, checkpoint=path, on_progress=lambda *step: steps.append(step)
    )
    assert steps == [(1, 12)] * 12  # those that were done are reported too
    for one, two in zip(whole, again, strict=True):
        assert (one.epoch, one.dev_scores, one.watched) == (two.epoch, two.dev_scores, two.watched)
        assert (one.rate, one.dev_losses, one.quality) == (two.rate, two.dev_losses, two.quality)
        assert torch.equal(one.counts["de"], two.counts["de"])
        for name, value in one.state_dict.items():
            assert torch.equal(value, two.state_dict[name]), name


def test_weights_and_running_statistics_of_the_last_epoch_are_those_of_a_training_that_ran_through(tagged, tmp_path):
    data, path, steps = (SPECS, tagged, None, NER.labels, accuracy), tmp_path / "epoch.safetensors", []
    whole = train_heads(*data, **OPTIONS)

    def kill(done, total):
        steps.append(total)
        if len(steps) == 7:
            raise KilledError

    with pytest.raises(KilledError):
        train_heads(*data, **OPTIONS, checkpoint=path, on_progress=kill)
    again = train_heads(*data, **OPTIONS, checkpoint=path)
    assert any("running_mean" in name for head in whole for name in head.state_dict)
    for one, two in zip(whole, again, strict=True):
        for name, value in one.state_dict.items():
            assert torch.equal(value, two.state_dict[name]), (one.spec.name, name)


@pytest.mark.parametrize("harm", ["cut", "a bit of the weights", "a bit of the scores", "empty", "missing"])
def test_a_damaged_checkpoint_is_dropped_and_said_and_the_one_before_is_used(harm, tagged, tmp_path, caplog):
    data = (SPECS, tagged, tagged, NER.labels, accuracy)
    whole = train_heads(*data, **OPTIONS)
    path, steps = tmp_path / "epoch.safetensors", []

    def kill(done, total):
        steps.append(total)
        if len(steps) == 11:  # three epochs of three steps are done
            raise KilledError

    with pytest.raises(KilledError):
        train_heads(*data, **OPTIONS, checkpoint=path, on_progress=kill)
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["epoch.before.safetensors", "epoch.safetensors"]
    content = path.read_bytes()
    at = content.index(b"dev") + 9 if "scores" in harm else len(content) - 9
    flipped = content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :]
    path.write_bytes({"cut": content[: len(content) // 2], "empty": b""}.get(harm, flipped))
    if harm == "missing":  # killed between the two renames
        path.unlink()
    there = []
    again = train_heads(*data, **OPTIONS, checkpoint=path, on_progress=lambda *_: there.append(path.is_file()))
    assert there.index(True) == 9  # the third epoch is trained again, and then its file is there
    for one, two in zip(whole, again, strict=True):
        assert one.dev_scores == two.dev_scores
        for name, value in one.state_dict.items():
            assert torch.equal(value, two.state_dict[name]), name
    assert (f"{path} is damaged" in caplog.text) == (harm != "missing")
    assert ("It was deleted; the epoch before it counts." in caplog.text) == (harm != "missing")


def test_both_damaged_is_the_first_epoch_again(tagged, tmp_path, caplog):
    data, path = (SPECS, tagged, tagged, NER.labels, accuracy), tmp_path / "epoch.safetensors"
    whole = train_heads(*data, **OPTIONS, checkpoint=path)
    for file in tmp_path.iterdir():
        file.write_bytes(b"0" * 100)
    again = train_heads(*data, **OPTIONS, checkpoint=path)
    assert [head.dev_scores for head in whole] == [head.dev_scores for head in again]
    assert "the training begins with its first epoch" in caplog.text


@pytest.mark.parametrize(
    "other",
    [
        {"heads": 1},
        {"rates": [Rate(1e-2)] * 4},
        {"rates": [Rate(2e-2), Rate(2e-3), Rate(2e-2, 0.1), Rate(2e-3)]},  # in the order of the first
        {"epochs": 3},
    ],
)
def test_the_checkpoint_of_another_training_is_not_gone_on_from(other, tagged, tmp_path):
    path = tmp_path / "epoch.safetensors"
    data = (tagged, tagged, NER.labels, accuracy)
    train_heads(SPECS, *data, **OPTIONS, checkpoint=path)
    heads = other.pop("heads", len(SPECS))
    options = {**OPTIONS, **other}
    options["rates"] = options["rates"][:heads]
    alone = train_heads(SPECS[:heads], *data, **options)
    again = train_heads(SPECS[:heads], *data, **options, checkpoint=path)
    for one, two in zip(alone, again, strict=True):
        assert one.dev_scores == two.dev_scores
        assert torch.equal(one.state_dict["classifier.weight"], two.state_dict["classifier.weight"])
