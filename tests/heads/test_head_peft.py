"""PEFT on a model of adapters: it wraps the head as a module to save, buffers included."""

import pytest
import torch
from peft import LoraConfig, PeftModel, get_peft_model
from transformers import Trainer, TrainingArguments


@pytest.mark.parametrize("head_type", ["tagging", "question_answering"])
def test_lora_with_the_head_as_module_to_save(head_type, tiny_model, batch, tmp_path):
    def base():
        model = tiny_model()
        model.add_dlfa_head("task", 1, head_type, num_labels={"tagging": 3}.get(head_type))
        return model

    model = get_peft_model(base(), LoraConfig(r=2, target_modules=["query"], modules_to_save=["heads.task"]))
    labels = {
        "tagging": {"labels": torch.tensor([[0, 1, 2, 0, 1, 2, 0], [1, 1, 1, 1, 1, -100, -100]])},
        "question_answering": {"start_positions": torch.tensor([1, 2]), "end_positions": torch.tensor([4, 3])},
    }[head_type]
    trainer = Trainer(model, TrainingArguments(str(tmp_path), report_to="none", use_cpu=True))
    assert list(trainer.label_names) == list(labels)
    optimizer = torch.optim.SGD([p for p in model.parameters() if p.requires_grad], lr=0.1)
    model.train()
    for _ in range(3):
        optimizer.zero_grad()
        model(**batch, **labels).loss.backward()
        optimizer.step()
    model.eval()
    model.save_pretrained(str(tmp_path / "peft"))
    again = PeftModel.from_pretrained(base(), str(tmp_path / "peft")).eval()
    expected, output = model(**batch), again(**batch)
    assert "hidden_states" not in output
    for key in expected:
        torch.testing.assert_close(output[key], expected[key], atol=1e-6, rtol=0)
    buffers = {name: b for name, b in model.named_buffers() if "modules_to_save" in name}
    assert buffers
    assert all(torch.equal(again.get_buffer(name), value) for name, value in buffers.items())
    assert {int(b) for name, b in buffers.items() if "tracked" in name} == {3}
