"""A rare event end to end: train, choose a threshold, calibrate, give an interval, save, score.

Real data that come with scikit-learn: the digit 8, thinned out until it is one row in fifty.
"""

# 1. data: a rare class, and rows held out for the last word
import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

X, y = load_digits(return_X_y=True)
y = (y == 8).astype(int)
rng = np.random.RandomState(0)
keep = (y == 0) | (rng.rand(len(y)) < 0.2)
X, y = X[keep], y[keep]
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.4, stratify=y, random_state=0)
print(f"{len(y)} rows, {y.mean():.1%} positive")

# 2. train: this line was LogisticRegressionCV(class_weight="balanced", scoring="roc_auc")
from aucmax import AUCClassifierCV

model = AUCClassifierCV().fit(X_train, y_train)
print(f"chosen: loss={model.loss_}, standardize={model.standardize_}, alpha={model.alpha_:.2g}")

# 3. the evidence: an interval, and the paired test against logistic regression
from sklearn.linear_model import LogisticRegression

from aucmax import metrics

scores = model.decision_function(X_test)
auc, low, high, _ = metrics.auc_interval(y_test, scores)
print(f"test AUC {auc:.3f} ({low:.3f} to {high:.3f})")
logistic = LogisticRegression(class_weight="balanced", max_iter=5000).fit(X_train, y_train)
difference, _, p = metrics.auc_test(y_test, scores, logistic.decision_function(X_test))
verdict = "tie" if p >= 0.05 else "better" if difference > 0 else "worse"
print(f"against logistic regression: {difference:+.3f}, p = {p:.2g}: {verdict}")

# 4. an operating point: the threshold that is best for F1 on folds of the training rows
from sklearn.model_selection import TunedThresholdClassifierCV

best = model.best_estimator_
decider = TunedThresholdClassifierCV(best, scoring="f1", cv=5, random_state=0)
decider.fit(X_train, y_train)
flagged = decider.predict(X_test) == 1
print(f"threshold {decider.best_threshold_:.3f}: {flagged.sum()} rows flagged, "
      f"{np.mean(y_test[flagged]):.0%} of them right, "
      f"{flagged[y_test == 1].mean():.0%} of the positives found")  # fmt: skip
recall = metrics.recall_at_fpr(y_test, scores, 0.01)
print(f"recall at a false-positive rate of 1 %: {recall:.0%}")

# 5. probabilities, where they are needed
from sklearn.calibration import CalibratedClassifierCV
from sklearn.metrics import brier_score_loss

calibrated = CalibratedClassifierCV(best, cv=5).fit(X_train, y_train)
probability = calibrated.predict_proba(X_test)[:, 1]
print(f"mean probability {probability.mean():.3f}, share of positives {y_test.mean():.3f}, "
      f"Brier score {brier_score_loss(y_test, probability):.4f}")  # fmt: skip

# 6. save, load, score
from aucmax import load, save

save(best, "rare.aucmax")
again = load("rare.aucmax")
assert np.array_equal(again.decision_function(X_test), best.decision_function(X_test))
top = np.argsort(-again.decision_function(X_test))[:5]
print("the five highest scores:", y_test[top])
