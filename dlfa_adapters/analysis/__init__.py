"""What encoders and runs are like inside: one file, one command and one plot for each question."""
