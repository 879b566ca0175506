"""A sweep in which every model is fine-tuned."""
