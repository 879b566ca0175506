"""Many encoders that are fine-tuned side by side."""
