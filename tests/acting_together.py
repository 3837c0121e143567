"""A table in which two columns act together, with gaps, words, and yes and no."""

import numpy as np
import pandas as pd

__all__ = ["patients"]


def patients(seed, n):
    """Return a data frame of n rows, in which age and dose act together, and labels."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({
        "age": rng.normal(50, 10, n).round(2),
        "dose": rng.normal(size=n).round(4),
        "vip": rng.random(n) < 0.3,
        "city": rng.choice(["Bonn", "Kiel", "Ulm"], n).astype(object),
    })  # fmt: skip
    score = (frame.age - 50) / 10 * frame.dose + frame.vip + rng.normal(size=n)
    frame.loc[::9, "dose"] = np.nan
    return frame, np.where(score > 1.0, "sick", "well")
