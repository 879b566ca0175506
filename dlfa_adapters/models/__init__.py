"""Layer fusion on plain Transformers classes: for PEFT, Trainer, pipelines, and any `AutoModel` encoder."""

from dlfa_adapters.models.auto import AutoModelForDependencyParsing
from dlfa_adapters.models.card import Card
from dlfa_adapters.models.config import DLFAConfig
from dlfa_adapters.models.lora import load_lora, lora_config, peft_modules_to_save, save_lora
from dlfa_adapters.models.merge import merge_lora
from dlfa_adapters.models.parsing import DLFAForDependencyParsing
from dlfa_adapters.models.pipeline import register_auto_classes
from dlfa_adapters.models.task_models import DLFAForSequenceClassification, DLFAForTokenClassification

__all__ = [
    "AutoModelForDependencyParsing",
    "Card",
    "DLFAConfig",
    "DLFAForDependencyParsing",
    "DLFAForSequenceClassification",
    "DLFAForTokenClassification",
    "load_lora",
    "lora_config",
    "merge_lora",
    "peft_modules_to_save",
    "register_auto_classes",
    "save_lora",
]
