"""What a run keeps of adapters: all of it comes back, or it is refused in one sentence."""

import pytest
import torch
from safetensors.torch import load_file, save_file

from dlfa_adapters.ground.errors import RunError
from dlfa_adapters.tuning.saving import load_trained, save_trained


def _cut(file):
    file.write_bytes(file.read_bytes()[:100])


def _fewer(file):
    weights = load_file(file)
    weights.popitem()
    save_file(weights, file)


def _wider(file):
    weights = load_file(file)
    name = next(name for name in weights if "lora_A" in name)
    save_file({**weights, name: torch.zeros(8, 17)}, file)


DAMAGE = {
    "gone": (lambda file: file.unlink(), "cannot be loaded"),
    "cut": (_cut, "cannot be loaded"),
    "fewer": (_fewer, r"lacks weights .*lora_"),
    "wider": (_wider, "cannot be loaded"),
}


@pytest.mark.parametrize("case", [None, *DAMAGE])
def test_a_lora_comes_back_whole_or_not_at_all(case, tiny_model, batch, tmp_path):
    model = tiny_model()
    model.add_adapter("ner", config="lora")
    model.add_dlfa_head("ner", 2)
    model.set_active_adapters("ner")
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if ".loras." in name:
                parameter.add_(0.1)
    record = save_trained(model, model, None, "ner", "adapters", tmp_path)
    if case is None:
        again = load_trained(tiny_model(), "ner", record, tmp_path)
        torch.testing.assert_close(again(**batch).logits, model(**batch).logits, atol=1e-6, rtol=1e-6)
        return
    damage, message = DAMAGE[case]
    damage(tmp_path / "adapters" / "ner" / "adapter.safetensors")
    with pytest.raises(RunError, match=f"The adapter in .*{message}.*copy or train the run again") as error:
        load_trained(tiny_model(), "ner", record, tmp_path)
    assert "\n" not in str(error.value)
