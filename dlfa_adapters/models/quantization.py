"""Loading an encoder in 4 bits, to train a LoRA on (QLoRA, Dettmers et al. 2023, arXiv 2305.14314)."""

from importlib.util import find_spec
from typing import Any

import torch

from dlfa_adapters.ground.errors import ConfigError, MissingExtraError


def four_bits() -> dict[str, Any]:
    """Options of `from_pretrained` for 4-bit weights: NF4 with double quantisation, computing in bfloat16.

    These are the paper's choices. Fusion and classifier, where they are part of what is loaded, stay as they are.

    Raises:
        MissingExtraError: If bitsandbytes is not installed.
        ConfigError: If there is no GPU.
    """
    if find_spec("bitsandbytes") is None:
        raise MissingExtraError("load_in_4bit=True needs bitsandbytes; type: pip install bitsandbytes.")
    if not torch.cuda.is_available():
        raise ConfigError("load_in_4bit=True needs a GPU, and torch finds none; leave it out.")
    from transformers import BitsAndBytesConfig

    config = BitsAndBytesConfig(
        load_in_4bit=True,
        bnb_4bit_quant_type="nf4",
        bnb_4bit_use_double_quant=True,
        bnb_4bit_compute_dtype=torch.bfloat16,
        llm_int8_skip_modules=["classifier"],
    )
    return {"quantization_config": config, "dtype": torch.bfloat16, "device_map": {"": torch.cuda.current_device()}}
