"""The page of compositions says what happens."""

import ast
import inspect
from pathlib import Path

import torch
from adapters.composition import MultiTask
from composition_table import build, table

from dlfa_adapters.heads import refusal

PAGE = (Path(__file__).parents[2] / "docs" / "reference" / "compositions.md").read_text("utf-8")


def test_the_table_is_what_happens():
    assert f"\n{table()}" in PAGE, "type: python tests/heads/composition_table.py"


def test_every_reason_is_on_the_page():
    reasons = [
        node.value.value
        for node in ast.walk(ast.parse(inspect.getsource(refusal)))
        if isinstance(node, ast.Return) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
    ]
    assert len(reasons) == 10
    words = " ".join(PAGE.split())
    assert not [reason for reason in reasons if reason not in words]


def test_each_row_of_multi_task_is_its_adapters():
    model = build("`mtl_lora`")
    ids = torch.arange(5, 33).reshape(4, 7)
    tasks = [0, 1, 1, 0]
    model.active_head = "head_a"
    alone = []
    for row, task in enumerate(tasks):
        model.set_active_adapters("ab"[task])
        model.active_head = "head_a"
        alone.append(model(input_ids=ids[row : row + 1]).logits)
    model.set_active_adapters(MultiTask("a", "b"))
    model.active_head = "head_a"
    together = model(input_ids=ids, task_ids=torch.tensor(tasks)).logits
    torch.testing.assert_close(together, torch.cat(alone), atol=1e-5, rtol=0)
