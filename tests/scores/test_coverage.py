"""How often intervals hold the true value, and how often a difference is found where none is, on parallel test sets."""

from benchmarks.coverage import Case, simulate

CASE = Case(correlation=0.6, languages=14, items=150, variants=6, resamples=200, sets=150)


def test_means_over_parallel_languages():
    """With 14 languages at a correlation of 0.6, which intervals of languages one by one hold in 6 of 10 cases."""
    together, apart = simulate(CASE, together=True, seed=1), simulate(CASE, together=False, seed=1)
    assert 0.90 <= together.coverage <= 0.99
    assert 0.01 <= together.false_difference <= 0.09
    assert apart.coverage < 0.75
    assert apart.false_difference > 0.12


def test_several_differences_at_once():
    """Six heads that do not differ from the baseline: one of them seems to far too often, unless all are looked at."""
    found = simulate(CASE, together=True, seed=2)
    assert found.any_false > 0.12
    assert found.any_false_adjusted <= 0.09
    assert found.simultaneous_coverage >= 0.91


def test_languages_of_their_own():
    """Without correlation both ways are right."""
    for together in (True, False):
        found = simulate(Case(**{**vars(CASE), "correlation": 0.0}), together=together, seed=3)
        assert 0.90 <= found.coverage <= 0.99
        assert 0.01 <= found.false_difference <= 0.10
