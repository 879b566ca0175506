"""Domain adaptation: masked language modelling on unlabelled text, before an encoder learns a task (XMULTI)."""
