"""Loading a bare encoder as an adapter model that heads can be added to."""

from pathlib import Path
from typing import Any

from adapters import AutoAdapterModel
from safetensors.torch import load_file
from torch import Tensor, nn
from transformers import AutoConfig
from transformers.modeling_utils import no_init_weights

from dlfa_adapters.ground.errors import RunError


class FirstTokenPooler(nn.Module):
    """Stands where an encoder without a trained pooler would get a random one: the first token's state as it is."""

    def forward(self, hidden_states: Tensor) -> Tensor:
        """(batch, seq, width) to (batch, width)."""
        return hidden_states[:, 0]


def load_encoder_model(location: str, *, local_files_only: bool = False) -> Any:
    """Load an encoder as an adapter model, in eval mode and float32.

    A folder that was saved from a bare BERT without a pooler is loaded without inventing one, and without the warning
    that one was invented; everything else goes through `AutoAdapterModel.from_pretrained`.

    Args:
        location: A folder or a name on the hub.
        local_files_only: Take what is in the cache, and do not ask the hub.

    Raises:
        RunError: If the folder's weights do not fit its configuration.
    """
    weights = Path(location) / "model.safetensors"
    config = AutoConfig.from_pretrained(location) if weights.is_file() else None
    state = load_file(weights) if config is not None and config.architectures == ["BertModel"] else {}
    if not state or any("pooler" in name for name in state):
        return AutoAdapterModel.from_pretrained(location, local_files_only=local_files_only).eval()
    with no_init_weights():
        model = AutoAdapterModel.from_config(config)
    model.base_model.pooler = FirstTokenPooler()
    # adapters lists the word embeddings a second time, as the base of prompt tuning: the same tensor, loaded already
    missing, unexpected = model.base_model.load_state_dict(state, strict=False)
    missing = [name for name in missing if not name.startswith("prompt_tuning.")]
    if missing or unexpected:
        raise RunError(f"{weights} does not fit its config.json: missing {missing}, unexpected {unexpected}.")
    return model.eval()
