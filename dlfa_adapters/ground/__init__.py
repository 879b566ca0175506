"""What every other part stands on: whole files and folders, and what may be deleted."""
