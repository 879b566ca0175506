"""What linear classifiers read off a frozen encoder for a task: off its layers, and off each attention head."""
