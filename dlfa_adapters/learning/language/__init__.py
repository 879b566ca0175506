"""Language adapters by masked language modelling."""
