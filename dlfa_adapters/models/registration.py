"""How the plain models reach the Auto classes and pipelines of Transformers."""

from transformers import AutoConfig, AutoModelForSequenceClassification, AutoModelForTokenClassification
from transformers.models.auto import modeling_auto

from dlfa_adapters.models.config import DLFAConfig
from dlfa_adapters.models.pipeline import register_pipeline
from dlfa_adapters.models.sequence_classification import DLFAForSequenceClassification
from dlfa_adapters.models.token_classification import DLFAForTokenClassification


def register_auto_classes() -> None:
    """Let `AutoModelFor...from_pretrained(folder)` and `pipeline(..., model=folder)` load our models.

    Runs on `import dlfa_adapters`; a second time changes nothing.
    """
    AutoConfig.register(DLFAConfig.model_type, DLFAConfig, exist_ok=True)
    AutoModelForTokenClassification.register(DLFAConfig, DLFAForTokenClassification, exist_ok=True)
    AutoModelForSequenceClassification.register(DLFAConfig, DLFAForSequenceClassification, exist_ok=True)
    # Pipelines look for the class among these names, and log an error for one that was only registered.
    for names, cls in (
        (modeling_auto.MODEL_FOR_TOKEN_CLASSIFICATION_MAPPING_NAMES, DLFAForTokenClassification),
        (modeling_auto.MODEL_FOR_SEQUENCE_CLASSIFICATION_MAPPING_NAMES, DLFAForSequenceClassification),
    ):
        names[DLFAConfig.model_type] = cls.__name__
    register_pipeline()
