"""The order of the gallery: what most come for first, what few do last."""

__all__ = ["Order"]

FIRST = [
    "plot_messy_file.py",
    "plot_rare_events.py",
    "plot_low_false_positives.py",
    "plot_comparing_scorers.py",
    "plot_ranking_within_queries.py",
    "plot_matched_cases.py",
    "plot_kernel.py",
    "plot_sparse_text.py",
    "plot_scorecard.py",
    "plot_ten_shards_merged.py",
    "plot_forgetting_a_customer.py",
    "plot_drifting_stream.py",
    "plot_larger_than_memory.py",
    "plot_model_in_a_database.py",
    "plot_adding_a_learner.py",
]


class Order:
    """Sphinx-gallery's key of an example: those of `FIRST`, then the others by name."""

    def __init__(self, folder):
        self.folder = folder

    def __call__(self, name):
        return (FIRST.index(name) if name in FIRST else len(FIRST), name)

    def __repr__(self):
        return type(self).__name__  # the same in every build, so that pages are not made again
