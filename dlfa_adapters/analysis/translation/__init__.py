"""Token translation: what a masked language model writes once its states were moved towards another language."""
