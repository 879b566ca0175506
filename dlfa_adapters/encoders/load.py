"""Loading an encoder by name, as a model of adapters that heads can be added to."""

import re
import textwrap
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from adapters import AutoAdapterModel
from safetensors.torch import load_file
from torch import Tensor, nn
from transformers import AutoConfig, AutoTokenizer
from transformers.modeling_utils import no_init_weights

from dlfa_adapters.encoders.adapted import adapted_to
from dlfa_adapters.encoders.offline import find_offline_encoder, load_found, load_found_tokenizer
from dlfa_adapters.encoders.parts import fingerprint
from dlfa_adapters.encoders.positions import most_positions
from dlfa_adapters.ground.environment import no_answer, only_cached
from dlfa_adapters.ground.errors import ConfigError, RunError, is_a_librarys

OFFLINE = "offline"


@dataclass(frozen=True)
class Encoder:
    """A loaded encoder.

    Attributes:
        name: `offline`, a folder, or a name on the hub.
        origin: One line that says where the weights come from.
        model: An adapter model in eval mode.
        tokenizer: Its fast tokenizer.
    """

    name: str
    origin: str
    model: Any
    tokenizer: Any

    @property
    def most_pieces(self) -> int:
        """The longest row that it takes, special tokens included; for one without positions what its tokenizer says."""
        positions = most_positions(self.model) or getattr(self.model.config, "max_position_embeddings", None)
        return int(min(positions or self.tokenizer.model_max_length, self.tokenizer.model_max_length))

    def describe(self) -> dict[str, Any]:
        """What a run folder records, to find and recognise the encoder later."""
        config = self.model.config
        return {
            "name": self.name,
            "origin": self.origin,
            "model_type": config.model_type,
            "hidden_size": config.hidden_size,
            "num_hidden_layers": config.num_hidden_layers,
            "fingerprint": fingerprint(self.model),
        }


def load_encoder(name: str = OFFLINE) -> Encoder:
    """Load an encoder and its tokenizer.

    Args:
        name: `offline` (multilingual-e5-small from the package index), a folder, or a name on the hub.

    Raises:
        ConfigError: If there is no such model, or the hub cannot be reached.
        RunError: If it is an encoder that was adapted, and not the one that was written.
        MissingExtraError: If `offline` is requested and the extra `demo` is not installed.
    """
    if name == OFFLINE:
        source = find_offline_encoder()
        model, tokenizer = load_found(source)
        return Encoder(name, source.origin, model, tokenizer)
    local = only_cached(name)
    with told_if_not_loaded(name, local):
        tokenizer = load_tokenizer(name)
        model = load_encoder_model(name, local_files_only=local)
    where = "folder" if Path(name).is_dir() else "hub"
    return Encoder(name, f"{name} ({where}{adapted_to(name)})", model, tokenizer)


@contextmanager
def told_if_not_loaded(name: str, local: bool) -> Iterator[None]:
    """Make a sentence of whatever the libraries stumble over while they load an encoder.

    `local` says whether the hub was not asked; see `only_cached`.

    Raises:
        ConfigError: Naming the encoder.
    """
    try:
        yield
    except ConfigError:  # of the tokenizer, told already
        raise
    except Exception as error:  # for a damaged file the libraries raise whatever they stumble over
        if not is_a_librarys(error):
            raise
        first = (str(error).strip() or type(error).__name__).splitlines()[0]
        if family := re.search(r"Unrecognized configuration class .*\.(\w+)Config'> for .* AutoAdapterModel", first):
            raise ConfigError(
                f"The encoder {name!r} is of the family {family[1]}, for which adapters has no class; give one of "
                "BERT's, XLM-RoBERTa's, DistilBERT's or DeBERTa's, or use this one as a plain model in Python, e.g. "
                "with DLFAForTokenClassification.from_encoder."
            ) from error
        if local:
            first = f"it is no folder and not in the cache, and {no_answer()}"
        first = textwrap.shorten(first, 200, placeholder=" …")
        raise ConfigError(
            f"The encoder {name!r} cannot be loaded ({first}); give a folder, a name on a hub that can be reached, or "
            f"{OFFLINE!r} for the one from the package index."
        ) from error


def load_tokenizer(name: str = OFFLINE) -> Any:
    """The tokenizer of an encoder alone.

    Raises:
        ConfigError: See `load_encoder`.
    """
    if name == OFFLINE:
        return load_found_tokenizer(find_offline_encoder())
    local = only_cached(name)
    with told_if_not_loaded(name, local):
        # fix_mistral_regex: Transformers takes every tokenizer in a folder for Mistral's, and would warn of a mistake
        return AutoTokenizer.from_pretrained(name, local_files_only=local, fix_mistral_regex=False)


class FirstTokenPooler(nn.Module):
    """Stands where an encoder without a trained pooler would get a random one: the first token's state as it is."""

    def forward(self, hidden_states: Tensor) -> Tensor:
        """(batch, seq, width) to (batch, width)."""
        return hidden_states[:, 0]


def load_encoder_model(location: str, *, local_files_only: bool = False) -> Any:
    """Load an encoder, from a folder or by a name on the hub, as an adapter model, in eval mode and float32.

    A folder that was saved from a bare BERT without a pooler is loaded without the warning that one was invented;
    everything else goes through `AutoAdapterModel.from_pretrained`. A pooler that the checkpoint lacks, as those of
    masked language models do, is not drawn at random: the encoder would be another one at every load.

    Raises:
        RunError: If the folder's weights do not fit its configuration.
    """
    weights = Path(location) / "model.safetensors"
    config = AutoConfig.from_pretrained(location) if weights.is_file() else None
    state = load_file(weights) if config is not None and config.architectures == ["BertModel"] else {}
    if not state or any("pooler" in name for name in state):
        model, loading = AutoAdapterModel.from_pretrained(
            location, local_files_only=local_files_only, output_loading_info=True
        )
        if any("pooler" in name for name in loading["missing_keys"]):
            linear = isinstance(model.base_model.pooler, nn.Linear)  # ALBERT's gets the first token's state alone
            model.base_model.pooler = nn.Identity() if linear else FirstTokenPooler()
        return model.eval()
    with no_init_weights():
        model = AutoAdapterModel.from_config(config)
    model.base_model.pooler = FirstTokenPooler()
    # adapters lists the word embeddings a second time, as the base of prompt tuning: the same tensor, loaded already
    missing, unexpected = model.base_model.load_state_dict(state, strict=False)
    missing = [name for name in missing if not name.startswith("prompt_tuning.")]
    if missing or unexpected:
        raise RunError(f"{weights} does not fit its config.json: missing {missing}, unexpected {unexpected}.")
    return model.eval()
