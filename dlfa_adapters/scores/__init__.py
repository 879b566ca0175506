"""From predictions to scores: metrics, intervals, groups, comparisons."""
