"""A batch of 8 gives the same step as 2 x 4, 4 x 2 and two ranks of 4, with sentences of unequal lengths.

The fusion's norm is `layer` here: batch statistics are those of a micro-batch, with any head of any library.
"""

import socket

import datasets
import pytest
import torch
from transformers import Trainer, TrainingArguments

from dlfa_adapters.kinds import kind_of_head
from dlfa_adapters.kinds.loss import share_of_batch

datasets.disable_progress_bars()
LENGTHS = (2, 9, 3, 1, 7, 4, 1, 8)
HEAD_TYPES = ["tagging", "classification", "regression", "multilabel_classification", "multiple_choice"]


def sentences(head_type):
    generator = torch.Generator().manual_seed(0)
    items = []
    for i, length in enumerate(LENGTHS):
        shape = (2, length) if head_type == "multiple_choice" else (length,)
        labels = {
            "tagging": torch.randint(0, 3, (length,), generator=generator).tolist(),
            "classification": -100 if i == 2 else i % 3,
            "regression": i / 4,
            "multilabel_classification": [float(i % 2), 1.0, 0.0],
            "multiple_choice": i % 2,
        }[head_type]
        if head_type == "tagging" and i == 1:
            labels[3:6] = [-100] * 3  # pieces that carry no label
        items.append({"input_ids": torch.randint(5, 95, shape, generator=generator).tolist(), "labels": labels})
    return datasets.Dataset.from_list(items)


def collate(items):
    width = max(torch.as_tensor(item["input_ids"]).shape[-1] for item in items)

    def pad(values, value):
        return torch.stack([torch.nn.functional.pad(v, (0, width - v.shape[-1]), value=value) for v in values])

    ids = [torch.as_tensor(item["input_ids"]) for item in items]
    labels = [torch.as_tensor(item["labels"]) for item in items]
    by_piece = labels[0].dim() == 1 and labels[0].dtype == torch.long
    return {
        "input_ids": pad(ids, 0),
        "attention_mask": pad([torch.ones_like(i) for i in ids], 0),
        "labels": pad(labels, -100) if by_piece else torch.stack(labels),
    }


def step(model, folder, head_type, batch_size, accumulation, **options):
    """One step of SGD; how far the head's weights have moved."""
    before = {name: p.detach().clone() for name, p in model.named_parameters() if name.startswith("heads")}
    arguments = TrainingArguments(
        str(folder),
        per_device_train_batch_size=batch_size,
        gradient_accumulation_steps=accumulation,
        max_steps=1,
        learning_rate=1.0,
        max_grad_norm=0.0,
        optim="sgd",
        weight_decay=0.0,
        lr_scheduler_type="constant",
        save_strategy="no",
        report_to="none",
        use_cpu=True,
        disable_tqdm=True,
        logging_strategy="no",
        **options,
    )
    Trainer(model, arguments, collate, train_dataset=sentences(head_type)).train()
    return {name: p.detach() - before[name] for name, p in model.named_parameters() if name in before}


def build(tiny_model, head_type, seed=0):
    model = tiny_model(seed=seed, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0)
    size = {"multiple_choice": {"num_choices": 2}, "regression": {"num_labels": 1}}.get(head_type, {"num_labels": 3})
    kind = "classification" if head_type == "regression" else head_type
    model.add_dlfa_head("head", 2, kind, **size, norm="layer")
    return model


@pytest.mark.parametrize("head_type", HEAD_TYPES)
def test_accumulation_gives_the_step_of_the_big_batch(head_type, tiny_model, tmp_path):
    whole = step(build(tiny_model, head_type), tmp_path, head_type, 8, 1)
    assert max(move.abs().max() for move in whole.values()) > 1e-3
    for batch_size, accumulation in ((4, 2), (2, 4), (1, 8)):
        parts = step(build(tiny_model, head_type), tmp_path, head_type, batch_size, accumulation)
        for name, move in whole.items():
            torch.testing.assert_close(parts[name], move, atol=1e-6, rtol=1e-4, msg=f"{batch_size} {name}")


def test_stock_heads_beside_a_dlfa_head_are_scaled_by_trainer_again(tiny_model, tmp_path):
    """Upstream they take 4 times the step with 4 micro-batches; a mean of means is all that they can have."""
    moves = []
    for batch_size, accumulation in ((8, 1), (2, 4)):
        model = tiny_model(hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0)
        model.add_dlfa_head("other", 1, "tagging", num_labels=3)
        model.add_tagging_head("head", num_labels=3)
        assert not model.accepts_loss_kwargs
        named = {"label_names": ["labels"]}  # which Trainer does not find with a stock head
        moves.append(step(model, tmp_path, "tagging", batch_size, accumulation, **named)["heads.head.1.bias"].norm())
    assert moves[1] / moves[0] == pytest.approx(1, abs=0.5)


def test_which_heads_honour_the_number_of_items(tiny_model):
    model = tiny_model()
    model.add_tagging_head("stock", num_labels=3)
    assert not hasattr(model, "accepts_loss_kwargs")  # as upstream, where Trainer goes by the signature
    for head_type, honours in (("tagging", True), ("question_answering", False), ("dependency_parsing", False)):
        size = {} if head_type == "question_answering" else {"num_labels": 3}
        model.add_dlfa_head(head_type, 1, head_type, **size)
        assert model.accepts_loss_kwargs is honours
    model.active_head = ["tagging", "stock"]
    assert not model.accepts_loss_kwargs


def test_a_share_by_hand():
    """Means 2 and 5 over 3 and 1 items: the whole has mean (2 * 3 + 5) / 4."""
    shares = [share_of_batch(torch.tensor(mean), torch.tensor(n), 4) for mean, n in ((2.0, 3), (5.0, 1))]
    assert sum(shares).item() == pytest.approx(2.75)
    assert share_of_batch(torch.tensor(2.0), torch.tensor(3), torch.tensor([4])).item() == pytest.approx(1.5)
    assert share_of_batch(torch.tensor(2.0), torch.tensor(3), None).item() == 2.0
    assert share_of_batch(torch.tensor(float("nan")), torch.tensor(0), None).item() == 0.0


def test_items_are_those_of_the_stock_loss():
    labels = torch.tensor([[0, 1, -100], [2, 2, 2]])

    def items_in(head_type, *given):
        return kind_of_head(head_type).items_in_loss(head_type, *given)

    assert items_in("tagging", 3, labels, torch.tensor([[1, 1, 1], [1, 1, 0]])) == 4
    assert items_in("tagging", 3, labels, None) == 5
    assert items_in("classification", 3, labels[:, 0], None) == 2
    assert items_in("classification", 1, torch.tensor([-100.0, 1.0]), None) == 2
    assert items_in("multilabel_classification", 3, torch.zeros(2, 3), None) == 6


def test_a_micro_batch_without_any_label_counts_nothing(tiny_model, batch):
    """A stock head's mean over nothing is not a number, and so would be the whole step."""
    model = build(tiny_model, "tagging").train()
    loss = model(**batch, labels=torch.full((2, 7), -100), num_items_in_batch=torch.tensor(5)).loss
    assert loss.item() == 0.0
    loss.backward()
    assert all(bool((p.grad == 0).all()) for p in model.heads.parameters() if p.grad is not None)


TWO_RANKS = """
import os, sys, torch
sys.path.insert(0, sys.argv[1])
import test_head_accumulation as here
from adapters import AutoAdapterModel
child = os.fork()
os.environ["RANK"] = os.environ["LOCAL_RANK"] = "0" if child else "1"
model = AutoAdapterModel.from_pretrained(sys.argv[2])
moves = here.step(model, sys.argv[2] + "/run", "tagging", 4, 1, ddp_backend="gloo")
if torch.distributed.get_rank() == 0:
    torch.save(moves, sys.argv[2] + "/moves.pt")
torch.distributed.destroy_process_group()
if child:
    sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


def test_two_ranks_give_the_step_of_the_big_batch(tiny_model, tmp_path, request, fresh):
    model = build(tiny_model, "tagging")
    model.save_pretrained(tmp_path)
    whole = step(model, tmp_path / "whole", "tagging", 8, 1)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    environment = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port, "WORLD_SIZE": "2", "OMP_NUM_THREADS": "1"}
    ranks = fresh.run(TWO_RANKS, request.path.parent, tmp_path, env=environment)
    assert ranks.returncode == 0, ranks.stderr[-3000:]
    moves = torch.load(tmp_path / "moves.pt")
    for name, move in whole.items():
        torch.testing.assert_close(moves[name], move, atol=1e-6, rtol=1e-4, msg=name)
