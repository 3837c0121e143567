"""
Sparse text
===========

A team wants to find the pages that concern it among a thousand, best first. The pages here
are real, and on every machine with SciPy: introductions from SciPy's manual, each from the
docstring of a function or class. The team maintains interpolation, about one page in twenty. The
model is trained on labels for one half of the manual, and ranks the other half.
"""

# %%
# The pages
# ---------
# Only the prose before the first table of parameters is used, because it does not give away the
# module.

import inspect
import re
from importlib import import_module

import numpy as np

parts = ["fft", "integrate", "interpolate", "linalg", "ndimage", "optimize"]
parts += ["signal", "sparse", "spatial", "special", "stats"]
pages = {}
for part in parts:
    module = import_module(f"scipy.{part}")
    for name in module.__all__:
        thing = getattr(module, name)
        text = inspect.getdoc(thing) if callable(thing) else None
        if text:
            prose = re.split(r"\n(?=\w[\w ]*\n---)", text)[0]
            pages.setdefault(prose, f"{part}.{name}")  # some have two names

texts, names = np.array(list(pages)), np.array(list(pages.values()))
ours = np.char.startswith(names, "interpolate.").astype(int)
print(f"{len(texts)} pages, {ours.sum()} of them on interpolation")

# %%
# Words and pairs of words
# ------------------------
# Each is a feature, so there are many times more features than pages. The matrix stays
# sparse: the cost of a fit is proportional to the number of non-zero entries.

from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.model_selection import train_test_split

rows = np.arange(len(texts))
train, test = train_test_split(
    rows, test_size=0.5, stratify=ours, random_state=0
)
vectorizer = TfidfVectorizer(ngram_range=(1, 2), sublinear_tf=True)
X_train = vectorizer.fit_transform(texts[train])
X_test = vectorizer.transform(texts[test])
words = vectorizer.get_feature_names_out()
n, d = X_train.shape
print(f"{n} pages, {d:,} features, {X_train.nnz:,} entries that are not zero")

# %%
# Train and look at the top
# -------------------------
# The first pages of the ranking, and the first ones that are not on interpolation, which would be
# the false alarms.

from aucmax import AUCClassifierCV, metrics

model = AUCClassifierCV().fit(X_train, ours[train])
scores = model.decision_function(X_test)
order = np.argsort(-scores)
auc, low, high, _ = metrics.auc_interval(ours[test], scores)
print(f"{model.loss_} loss, by {model.solver_}")
print(f"AUC {auc:.3f} ({low:.3f} to {high:.3f})")
ranked, right = names[test][order], ours[test][order] == 1
print("first:       ", ", ".join(ranked[:5]))
print("false alarms:", ", ".join(ranked[~right][:5]))
print("last found:  ", ", ".join(ranked[right][-3:]))

# %%
# How many pages must the team read to see almost all of its own?

from matplotlib import pyplot as plt

from aucmax.plots import EffectsDisplay, GainsDisplay

GainsDisplay.from_predictions(ours[test], scores, name="pages")
plt.show()

# %%
# The words that matter
# ---------------------
# The effect of each word or pair on the score, the largest first; with so many features there
# are no intervals. Look at them before you trust a model: some may reflect the style of the
# authors, not the subject.

named = {"feature_names": words, "most": 15}
EffectsDisplay.from_estimator(model, X_train, ours[train], **named)
plt.show()

# %%
# A readable model
# ----------------
# An l1 penalty keeps few words. The stronger it is, the fewer words remain; the AUC shows the
# cost.

from aucmax import AUCClassifier

for alpha in (0.03, 0.01, 0.003):
    short = AUCClassifier(alpha=alpha, l1_ratio=1.0).fit(X_train, ours[train])
    kept = np.flatnonzero(short.coef_[0])
    auc = metrics.roc_auc(ours[test], short.decision_function(X_test))
    longest = kept[np.argsort(-abs(short.coef_[0, kept]))][:6]
    print(f"{len(kept):3} words, AUC {auc:.3f}: {', '.join(words[longest])} …")
