"""Members of an ensemble are the models that `train` makes of the same options, one by one."""

import pytest
import torch
from finetuned_data import DEV, NER, OPTIONS, SPECS, prepared, still_folder
from safetensors.torch import load_file
from torch.utils._python_dispatch import TorchDispatchMode

from dlfa_adapters.data.batching import SameLengthSampler
from dlfa_adapters.kinds.tagging.tagger import Tagger
from dlfa_adapters.learning import train
from dlfa_adapters.learning.ensemble import start_ensemble
from dlfa_adapters.learning.ensemble.data import DeviceRows, Questions, in_precision
from dlfa_adapters.learning.ensemble.training import EnsembleOptimizer, train_ensemble
from dlfa_adapters.learning.frozen import HeadSpec
from dlfa_adapters.learning.rate_choice import Pair
from dlfa_adapters.predict.load import load_run

CPU = torch.device("cpu")


@pytest.fixture(scope="module")
def still(tiny_folder, tmp_path_factory):
    return still_folder(tiny_folder, tmp_path_factory.mktemp("still") / "encoder")


@pytest.fixture(scope="module")
def sweep(still, tmp_path_factory):
    return prepared(still, tmp_path_factory.mktemp("out"))


def ensemble_of(sweep, specs):
    return start_ensemble(sweep.encoder.model, specs, sweep.task, sweep.train.rows, 0, CPU)


def trained(sweep, specs, settings=None, **options):
    ensemble = ensemble_of(sweep, specs)
    rows, dev = DeviceRows(sweep.train.rows, 0, CPU), Questions(sweep.dev, 0, CPU)
    targets = {name: Questions(examples, 0, CPU) for name, examples in sweep.targets.items()}
    return train_ensemble(
        ensemble, rows, dev, targets, settings or sweep.settings, keep_weights=True, **options
    ), ensemble


PAIRS = [Pair(3e-2, 1e-2), Pair(3e-3, 1e-2), Pair(1e-2, 3e-3), Pair(1e-2, 1e-2), Pair(3e-3, 3e-3)]


@pytest.fixture(scope="module")
def together(sweep):
    return trained(sweep, SPECS, pairs=PAIRS)[0]


@pytest.fixture(scope="module")
def alone(still, tmp_path_factory):
    """alone(spec): the run that `train` makes at the rates of the spec."""
    runs = {}

    def run(spec):
        pair = PAIRS[SPECS.index(spec)]
        rates = {"learning_rate": pair.encoder, "head_learning_rate": pair.head}
        if spec.name not in runs:
            runs[spec.name] = train(
                "ner", train_data=NER, dev_data=DEV, language="en", model=still, tuning="full",
                out=tmp_path_factory.mktemp("alone") / "run", seed=spec.seed,
                **{**spec.head.keywords(), **OPTIONS, **rates},
            )  # fmt: skip
        return runs[spec.name]

    return run


@pytest.mark.parametrize("spec", SPECS, ids=lambda spec: spec.name)
def test_a_member_is_the_run_alone(spec, together, alone, sweep):
    member, run = together[SPECS.index(spec)], alone(spec)
    assert member.dev_scores == pytest.approx(run.config["training"]["dev_scores"])
    assert run.config["training"]["best"] == f"step {2 * member.epoch}"
    encoder = load_file(run.folder / "encoder" / "model.safetensors")
    head = load_run(run).model.heads["ner"]
    expected = {f"encoder.{name}": weight for name, weight in encoder.items()}
    expected |= {f"fusion.{name}": weight for name, weight in head.fusion.state_dict().items()}
    expected |= {f"classifier.{name}": weight for name, weight in head.inner[-1].state_dict().items()}
    untouched = {name for name in expected if name not in member.state_dict}
    assert all(name.startswith(("encoder.encoder.layer.1.", "encoder.encoder.layer.2.")) for name in untouched)
    assert bool(untouched) == (spec.name == "layer 1")
    pretrained = sweep.encoder.model.base_model.state_dict()
    for name, weight in expected.items():
        if name in untouched:
            assert torch.equal(weight, pretrained[name.removeprefix("encoder.")])
        elif not (spec.head.fusion_options.norm == "batch" and name.endswith(("conv1.bias", "conv2.bias"))):
            # batch norm takes a bias before it away again: its gradient is rounding noise, which Adam blows up
            torch.testing.assert_close(member.state_dict[name], weight, rtol=0, atol=5e-4, msg=name)
    assert not torch.allclose(
        encoder["embeddings.word_embeddings.weight"], pretrained["embeddings.word_embeddings.weight"]
    )


def test_members_answer_what_the_run_answers(together, alone, sweep):
    for spec in SPECS[:3]:
        run = load_run(alone(spec))
        for language, examples in sweep.targets.items():
            predicted = Tagger(run.model, run.tokenizer, sweep.task.labels, max_length=32, context=8).predict(
                examples.words
            )
            score = examples.score(predicted)
            member = together[SPECS.index(spec)]
            assert member.watched[language][member.epoch - 1] == pytest.approx(score, abs=1e-3)
            assert len(member.counts[language]) == len(examples.words)
            assert int(member.counts[language][:, 1].sum()) == sum(
                tag.startswith("B") for tags in predicted for tag in tags
            )


def test_each_is_clipped_by_its_own_norm(sweep):
    ensemble = ensemble_of(sweep, SPECS[:2])
    [batch] = DeviceRows(sweep.train.rows, 0, CPU).batches([[0, 3]])
    optimizer = EnsembleOptimizer(ensemble, sweep.settings, sweep.settings.steps.total(8))
    loud = torch.tensor([1.0, 1000.0])
    (ensemble.losses(batch) * loud).sum().backward()
    quiet = {
        n: p.grad[m.index(0)].clone() for n, (m, p) in ensemble.parameters().items() if 0 in m and p.grad is not None
    }
    norm = torch.sqrt(sum(grad.square().sum() for grad in quiet.values()))
    norms = optimizer._norms()
    assert norms[0] == pytest.approx(float(norm), rel=1e-5)
    assert norms[1] > 50 * norms[0]
    seen = {}
    optimizer._optimizer.step = lambda: seen.update(norms=optimizer._norms())
    optimizer._schedule.step = lambda: None
    optimizer.step(torch.zeros(2))
    torch.testing.assert_close(seen["norms"], torch.full((2,), 0.5), rtol=1e-4, atol=0)


def test_the_row_of_padding_learns_nothing(sweep):
    ensemble = ensemble_of(sweep, SPECS[:2])
    [batch] = DeviceRows(sweep.train.rows, 0, CPU).batches([[0, 3]])
    ids = batch.ids.clone()
    ids[:, 2] = 0  # a piece of the text that has the id of padding
    optimizer = EnsembleOptimizer(ensemble, sweep.settings, sweep.settings.steps.total(8))
    before = ensemble.encoder.leaves["words"].detach().clone()
    for _ in range(2):  # the first step has rate 0
        losses = ensemble.losses(batch._replace(ids=ids))
        losses.sum().backward()
        optimizer.step(losses.detach())
    after, row = ensemble.encoder.leaves["words"].detach(), ensemble.encoder.vocabulary.row(0)
    shrunk = ensemble.encoder.vocabulary.shrunk[0]
    assert shrunk < 1
    torch.testing.assert_close(after[:, row], before[:, row] * shrunk)
    assert not torch.allclose(after[:, row + 1 :], before[:, row + 1 :] * shrunk)


def test_heads_of_one_architecture_need_not_be_neighbours(sweep):
    """Those are computed together, and their logits come back in the order of the members."""
    specs = [
        SPECS[1],
        SPECS[0],
        HeadSpec.of(name="D_1", fuse_layer=(1,)),
        SPECS[3],
        HeadSpec.of(name="D_3", fuse_layer=(3,)),
    ]
    [batch] = DeviceRows(sweep.train.rows, 0, CPU).batches([[0, 3]])
    ensemble = ensemble_of(sweep, specs)
    assert len(ensemble.heads.groups) == 3
    found = ensemble.logits(batch, training=False)
    for member, spec in enumerate(specs):
        torch.testing.assert_close(found[member], ensemble_of(sweep, [spec]).logits(batch, training=False)[0])


def test_clipping_changes_the_result(sweep, together):

    [free] = trained(sweep, SPECS[:1], sweep.settings.changed(max_grad_norm=0.0), pairs=PAIRS[:1])[0]
    moved = free.state_dict["classifier.weight"] - together[0].state_dict["classifier.weight"]
    assert moved.abs().max() > 1e-3


def test_one_that_diverges_takes_nobody_along(sweep, together):
    ensemble = ensemble_of(sweep, SPECS[:3])
    with torch.no_grad():
        ensemble.encoder.leaves["up.weight"][1, 0, 0, 0] = torch.inf
    rows, dev = DeviceRows(sweep.train.rows, 0, CPU), Questions(sweep.dev, 0, CPU)
    found = train_ensemble(ensemble, rows, dev, {}, sweep.settings, pairs=PAIRS[:3], keep_weights=True)
    assert [member.diverged for member in found] == [0, 1, 0]
    for i in (0, 2):
        assert found[i].dev_scores == together[i].dev_scores
        torch.testing.assert_close(
            found[i].state_dict["classifier.weight"], together[i].state_dict["classifier.weight"], rtol=0, atol=1e-5
        )


@pytest.mark.parametrize("pooling", ["first", "last", "mean"])
def test_words_are_read_where_the_examples_say(pooling, sweep):
    from dlfa_adapters.learning.dataset import examples_of
    from dlfa_adapters.learning.settings import make_settings

    words, tags = map(list, zip(*DEV, strict=True))
    settings = make_settings(pooling=pooling, max_length=32, context=8)
    examples = examples_of(sweep.task, words, tags, sweep.encoder.tokenizer, settings)
    table = torch.randn(3, 100, len(sweep.task.labels), generator=torch.Generator().manual_seed(1))
    answers = Questions(examples, 0, CPU).ask(3, lambda batch: table[:, batch.ids.flatten()], "fp32")
    for member in range(3):
        expected = examples.predictions(table[member, examples.collator(0)(examples.rows)["input_ids"]])
        assert [sweep.task.labels[i] for i in answers[member].tolist()] == [tag for tags in expected for tag in tags]


def test_max_steps_end_within_an_epoch(sweep):

    settings = sweep.settings.changed(max_steps=3)
    assert (steps := settings.steps.total(8)) == 3
    assert [len(batches) for batches in SameLengthSampler([5] * 8, 4, 0).epochs(steps)] == [2, 1]


class _NoWaiting(TorchDispatchMode):
    """Refuses what makes the host wait for a GPU: reading a value, and sizes that depend on values."""

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        name = func.overloadpacket.__name__
        assert name not in ("_local_scalar_dense", "item", "nonzero", "masked_select", "is_nonzero", "equal"), name
        return func(*args, **(kwargs or {}))


def test_a_step_asks_the_device_for_nothing(sweep):
    ensemble = ensemble_of(sweep, SPECS)
    optimizer = EnsembleOptimizer(ensemble, sweep.settings, sweep.settings.steps.total(8))
    with pytest.raises(AssertionError, match="_local_scalar_dense"), _NoWaiting():
        torch.ones(()).item()
    with _NoWaiting():
        for batch in DeviceRows(sweep.train.rows, 0, CPU).batches([[0, 3], [1, 2]]):
            losses = ensemble.losses(batch)
            losses.sum().backward()
            optimizer.step(losses.detach())


def test_bfloat16_stays_near(sweep):
    ensemble = ensemble_of(sweep, SPECS)
    [batch] = DeviceRows(sweep.train.rows, 0, CPU).batches([range(8)])
    with torch.no_grad():
        exact = ensemble.logits(batch, training=False)
        with in_precision(CPU, "bf16"):
            near = ensemble.logits(batch, training=False)
    assert near.dtype == torch.float32
    assert 0 < float((near - exact).norm() / exact.norm()) < 0.02
    with in_precision(CPU, "bf16"):
        ensemble.losses(batch).sum().backward()
    assert all(p.grad is None or p.grad.dtype == torch.float32 for _, p in ensemble.parameters().values())
