"""What every other part stands on: errors, files and folders that are complete or not there, other packages."""
