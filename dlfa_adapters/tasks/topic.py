"""Topic of a sentence: SIB-200, seven classes, accuracy and macro-F1 (Adelani et al. 2024, arXiv 2309.07445)."""

from dlfa_adapters.tasks.base import Task

TOPIC = Task(
    name="topic",
    kind="classification",
    # In the order of the data set's own labels.txt.
    labels=("science/technology", "travel", "politics", "sports", "health", "entertainment", "geography"),
    metric="accuracy",
)
