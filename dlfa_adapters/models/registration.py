"""How the plain models reach the Auto classes and pipelines of Transformers."""

import re

import transformers
from transformers import AutoConfig
from transformers.models.auto import modeling_auto

from dlfa_adapters.kinds import kind_named
from dlfa_adapters.models.config import DLFAConfig
from dlfa_adapters.models.lora import CLASSES
from dlfa_adapters.models.pipeline import register_pipeline


def register_auto_classes() -> None:
    """Let `AutoModelFor...from_pretrained(folder)` and `pipeline(..., model=folder)` load our models.

    Runs on `import dlfa_adapters`; a second time changes nothing.
    """
    AutoConfig.register(DLFAConfig.model_type, DLFAConfig, exist_ok=True)
    for name, cls in CLASSES.items():
        auto = kind_named(cls.kind).auto_class
        getattr(transformers, auto).register(DLFAConfig, cls, exist_ok=True)
        # Pipelines look for the class among these names, and log an error for one that was only registered.
        words = re.findall("[A-Z][a-z]+", auto.removeprefix("Auto"))
        getattr(modeling_auto, "_".join([*words, "mapping", "names"]).upper())[DLFAConfig.model_type] = name
    register_pipeline()
