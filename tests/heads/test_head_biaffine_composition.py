"""The biaffine head in every composition: the same on the bare encoder by hand, and each channel as it is alone."""

import pytest
import torch
from adapters import AdapterSetup, PromptTuningConfig, SeqBnConfig
from adapters.composition import Average, BatchSplit, Fuse, MultiTask, Parallel, Split, Stack
from peft import LoraConfig, PeftModel, get_peft_model

from dlfa_adapters.ground.errors import ConfigError

INPUTS = {
    "word_ids": torch.tensor([[0, 1, 1, 2, 3, 4, 0], [0, 1, 2, 2, 0, 0, 0]]),
    "word_mask": torch.tensor([[True] * 4, [True, True, False, False]]),
    "labels_arcs": torch.tensor([[2, 0, 2, 3], [0, 1, -100, -100]]),
    "labels_rels": torch.tensor([[1, 2, 0, 1], [2, 0, -100, -100]]),
}
WORDS = {name: INPUTS[name] for name in ("word_ids", "word_mask")}
TAGS = {"labels": torch.tensor([[0, 1, 2, 0, 1, 2, 0], [1, 1, 1, 1, 1, -100, -100]])}
COMPOSITIONS = {
    "single": "a",
    "stack": Stack("a", "b"),
    "fuse": Fuse("a", "b"),
    "stack of fuse": Stack("c", Fuse("a", "b")),
    "split": Split("a", "b", splits=[3, 4]),
    "average": Average("a", "b", weights=[0.3, 0.7]),
    "multi task": MultiTask("a", "b"),
}


@pytest.fixture
def model(tiny_model, shake):
    """Adapters a, b and c, heads of parsing a and b, and a head of tagging."""
    model = tiny_model()
    for name in "abc":
        model.add_adapter(name, config=SeqBnConfig(reduction_factor=4))
    model.add_adapter_fusion(["a", "b"])
    for name in "ab":
        model.add_dlfa_head(name, 1, "biaffine", num_labels=3, arc_size=6, rel_size=4)
    model.add_dlfa_head("tags", 2, "tagging", num_labels=3)
    return shake(model)


def rows(batch, i):
    return {key: value[i : i + 1] for key, value in batch.items()}


def activate(model, setup, heads):
    model.active_head = None
    model.set_active_adapters(setup)
    model.active_head = heads


def same(one, other):
    for found, expected in zip(one, other, strict=True):
        torch.testing.assert_close(found, expected, atol=1e-5, rtol=1e-5)


def by_hand(model, name, batch, mask=None, **words):
    states, head = model.bert(**batch, output_hidden_states=True), model.heads[name]
    mask = batch["attention_mask"] if mask is None else mask
    fused = head.fusion(states.hidden_states[1], states.last_hidden_state, attention_mask=mask)
    return head.inner.out(fused, **(words or WORDS))


@pytest.mark.parametrize("name", COMPOSITIONS)
def test_adapters_below_one_head(name, model, batch):
    setup = COMPOSITIONS[name]
    tasks = {"task_ids": torch.tensor([0, 1])} if isinstance(setup, MultiTask) else {}
    activate(model, None, "a")
    plain = model(**batch, **WORDS).logits
    activate(model, setup, "a")
    found = model(**batch, **WORDS, **tasks).logits
    if not tasks:  # which the bare encoder does not take
        same(found, by_hand(model, "a", batch))
    assert not torch.allclose(found[1], plain[1], atol=1e-4)
    activate(model, "c", "b")
    with AdapterSetup(setup, head_setup="a"):
        same(model(**batch, **WORDS, **tasks).logits, found)


@pytest.mark.parametrize("heads", [("a", "b"), ("a", "tags"), ("tags", "b")])
@pytest.mark.parametrize("below", [False, True])
def test_parallel_channels_are_single_runs(below, heads, model, batch):
    """Also beside a head with other labels: every head reads its own."""
    alone = []
    for adapter, head in zip("ab", heads, strict=True):
        activate(model, Stack("c", adapter) if below else adapter, head)
        alone.append(model(**batch, **(TAGS if head == "tags" else INPUTS)))
    block = Parallel("a", "b")
    activate(model, Stack("c", block) if below else block, list(heads))
    given = {**batch, **INPUTS, **(TAGS if "tags" in heads else {})}
    output = model(**given)
    for found, expected in zip(output.head_outputs, alone, strict=True):
        same(_flat(found), _flat(expected))
        torch.testing.assert_close(found.loss, expected.loss)
    torch.testing.assert_close(output.loss, alone[0].loss + alone[1].loss)
    plain = model(**given, return_dict=False)
    assert all(isinstance(each, tuple) and len(each) == 2 for each in plain.head_outputs)
    replicated = {key: torch.cat([value, value]) for key, value in given.items()}
    again = model(**replicated, adapter_input_parallelized=True)
    for found, expected in zip(again.head_outputs, alone, strict=True):
        torch.testing.assert_close(found.loss, expected.loss)


def _flat(output):
    return output.logits if isinstance(output.logits, tuple) else (output.logits,)


@pytest.mark.parametrize("heads", [("a", "b"), ("b", "tags")])
def test_batch_split_cuts_words_and_labels(heads, model, batch):
    given, alone = {**batch, **INPUTS, **(TAGS if "tags" in heads else {})}, []
    for i, (adapter, head) in enumerate(zip("ab", heads, strict=True)):
        activate(model, adapter, head)
        alone.append(model(**rows(given, i)))
    sizes = {"batch_sizes": [1, 1]}
    activate(model, BatchSplit("a", "b", **sizes), BatchSplit(*heads, **sizes))
    output = model(**given)
    for found, expected in zip(output.head_outputs, alone, strict=True):
        same(_flat(found), _flat(expected))
        torch.testing.assert_close(found.loss, expected.loss)
    torch.testing.assert_close(output.loss, sum(each.loss for each in alone))
    activate(model, BatchSplit("a", "b", **sizes), "a")  # one head above both adapters
    together = model(**batch, **WORDS).logits
    for i, adapter in enumerate("ab"):
        activate(model, adapter, "a")
        same([each[i : i + 1] for each in together], model(**rows({**batch, **WORDS}, i)).logits)


def test_loss_is_a_share_of_the_batch(model, batch):
    """Of 6 heads in two micro-batches, 4 and 2: the shares add up to the mean over all."""
    activate(model, "a", "a")
    assert model.accepts_loss_kwargs
    given = {**batch, **INPUTS}
    parts = [model(**rows(given, i), num_items_in_batch=6).loss for i in range(2)]
    torch.testing.assert_close(sum(parts), model(**given).loss)
    torch.testing.assert_close(model(**given, num_items_in_batch=torch.tensor(12)).loss, model(**given).loss / 2)


def test_what_adapters_computes_wrongly_is_refused(model, tiny_model):
    other = tiny_model()
    for name in "ab":
        other.add_adapter(name, config="seq_bn_inv")
        other.add_dlfa_head(name, 1, "biaffine", num_labels=3)
    with pytest.raises(ConfigError, match="only the first adapter's invertible layers are applied; activate"):
        other.set_active_adapters(Parallel("a", "b"))
    model.active_head = BatchSplit("a", "b", batch_sizes=[1, 2])
    with pytest.raises(ConfigError, match="in all 3, but the batch has 2 sentences"):
        model(input_ids=torch.ones(2, 5, dtype=torch.long))


@pytest.mark.parametrize("combine", ["prefix", "prefix_after_bos"])
def test_a_prompt_is_no_part_of_a_word(combine, tiny_model, shake, batch):
    model = tiny_model()
    model.add_adapter("p", config=PromptTuningConfig(prompt_length=3, combine=combine))
    model.add_dlfa_head("a", 1, "biaffine", num_labels=3)
    shake(model).set_active_adapters("p")
    mask = torch.cat([torch.ones(2, 3, dtype=torch.long), batch["attention_mask"]], 1)
    shifted = {**WORDS, "word_ids": torch.cat([torch.zeros(2, 3, dtype=torch.long), WORDS["word_ids"]], 1)}
    same(model(**batch, **WORDS).logits, by_hand(model, "a", batch, mask, **shifted))


def test_peft_saves_the_head_as_a_whole(tiny_model, batch, tmp_path):
    def base():
        model = tiny_model()
        model.add_dlfa_head("parse", 1, "biaffine", num_labels=3)
        return model

    model = get_peft_model(base(), LoraConfig(r=2, target_modules=["query"], modules_to_save=["heads.parse"]))
    optimizer = torch.optim.SGD([p for p in model.parameters() if p.requires_grad], lr=0.1)
    model.train()
    for _ in range(3):
        optimizer.zero_grad()
        model(**batch, **INPUTS).loss.backward()
        optimizer.step()
    model.eval().save_pretrained(str(tmp_path))
    again = PeftModel.from_pretrained(base(), str(tmp_path)).eval()
    same(again(**batch, **WORDS).logits, model(**batch, **WORDS).logits)
    assert model(**batch, **WORDS).logits[1].abs().max() > 1e-3
