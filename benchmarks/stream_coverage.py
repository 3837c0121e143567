"""How often the intervals of a stream cover, and how often its test refuses two equal models.

Normal scores of a fixed model, AUC .76, and of two equal models that share half of their variance.
"""

import numpy as np
from scipy.stats import norm

from aucmax.streams.tally import Tally, bins_of

RUNS = 2000
AUC = norm.cdf(1.0 / 2.0**0.5)

if __name__ == "__main__":
    print("rows  positive  half-life  covers   too low  too high  refuses")
    rng = np.random.default_rng(0)
    for n, share in ((400, 0.3), (400, 0.05), (4000, 0.05)):
        for half_life in (np.inf, n / 4):
            low = high = refused = 0
            for _ in range(RUNS):
                y = (rng.random(n) < share).astype(int)
                noise = np.sqrt(0.5) * (rng.normal(size=(2, n)) + rng.normal(size=n))
                tally = Tally(2, half_life)
                tally.add(y, bins_of(noise + y))
                found, test = tally.auc(1), tally.test(1)
                low += found.high < AUC
                high += found.low > AUC
                refused += test is not None and test.p_value < 0.05
            shares = (1 - (low + high) / RUNS, low / RUNS, high / RUNS, refused / RUNS)
            print(f"{n:4} {share:9} {half_life:10} ", *(f"{value:9.3f}" for value in shares))
