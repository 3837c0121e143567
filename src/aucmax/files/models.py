"""Save and load models without running code.

The file is a header with a digest (`aucmax.basics.container`) around a skops archive. Loading
accepts what skops trusts of NumPy, SciPy and scikit-learn, and a fixed list of this package's
classes: never a type because the file names it.
"""

import copy
import json
from os import PathLike
from typing import Any

import sklearn
from sklearn.base import BaseEstimator
from sklearn.model_selection import (
    GroupKFold,
    GroupShuffleSplit,
    KFold,
    LeaveOneGroupOut,
    LeavePGroupsOut,
    RepeatedKFold,
    RepeatedStratifiedKFold,
    ShuffleSplit,
    StratifiedGroupKFold,
    StratifiedKFold,
    StratifiedShuffleSplit,
    TimeSeriesSplit,
)

from aucmax.additive import Binning, Scorecard, SplineFeatures
from aucmax.additive.binning import Bins
from aucmax.basics.container import pack, unpack
from aucmax.basics.errors import ModelFileError
from aucmax.basics.needs import needs
from aucmax.estimators import (
    AUCClassifier,
    AUCClassifierCV,
    HingeClassifier,
    MulticlassAUCClassifier,
)
from aucmax.estimators.encoder import TableEncoder
from aucmax.estimators.probabilities import Isotonic, Sigmoid
from aucmax.metrics import AUCInterval
from aucmax.objective.penalties import PENALTIES
from aucmax.solvers import ACCURACY_SOLVERS, SOLVERS
from aucmax.statistics.diagonal import DiagonalMoments
from aucmax.statistics.frequent_directions import FrequentDirections
from aucmax.statistics.moments import ClassMoments

__all__ = ["load", "save"]

_KIND = "model"


def _name(kind: type) -> str:
    return f"{kind.__module__}.{kind.__qualname__}"


_MOMENTS = (ClassMoments, DiagonalMoments, FrequentDirections)
_MODELS = (AUCClassifier, AUCClassifierCV, HingeClassifier, MulticlassAUCClassifier)
_SOLVERS = (*SOLVERS.values(), *ACCURACY_SOLVERS.values())
_TABLES = (TableEncoder, Binning, Bins, Scorecard, SplineFeatures)
_OURS = (
    *_MODELS,
    *_TABLES,
    AUCInterval,
    Isotonic,
    Sigmoid,
    *_MOMENTS,
    *_SOLVERS,
    *PENALTIES.values(),
)
# scikit-learn's own splitters, which hold numbers: a tuned model keeps its ``cv``.
_SPLITTERS = (
    GroupKFold,
    GroupShuffleSplit,
    KFold,
    LeaveOneGroupOut,
    LeavePGroupsOut,
    RepeatedKFold,
    RepeatedStratifiedKFold,
    ShuffleSplit,
    StratifiedGroupKFold,
    StratifiedKFold,
    StratifiedShuffleSplit,
    TimeSeriesSplit,
)
# A dtype, which SimpleImputer holds, is read off an empty array: no code either.
_TRUSTED = sorted([*map(_name, (*_OURS, *_SPLITTERS)), "numpy.dtype"])


def save(model: Any, path: str | PathLike[str]) -> None:
    """Write a fitted model to a file.

    Parameters
    ----------
    model : estimator
        One of this package's, or a scikit-learn pipeline around one. Callbacks are dropped.
    path : path
        Replaced only once the new file is complete.

    Raises
    ------
    ValueError
        If it is not a fitted estimator, or holds a type or numbers that `load` would not accept.
    FileNotFoundError
        If the folder does not exist.
    """
    if not isinstance(model, BaseEstimator):
        raise ValueError(f"save takes a fitted estimator; got {type(model).__name__}.")
    try:
        _check(model)
    except ValueError as error:
        raise ValueError(f"the model cannot be saved: {error}") from None
    try:
        body = _dumps(model)
    except TypeError as error:
        raise ValueError(
            f"the model holds an object that a model file cannot carry ({error}); give its "
            "settings as numbers, text, lists, mappings or arrays."
        ) from None
    unknown = _unknown_types(body)
    if unknown:
        raise ValueError(
            f"the model holds {unknown[0]}, which a model file cannot carry; save models made of "
            "aucmax's and scikit-learn's estimators only, or of a search its best_estimator_."
        )
    from aucmax import __version__

    head = {"aucmax": __version__, "sklearn": sklearn.__version__, "type": _name(type(model))}
    pack(path, _KIND, json.dumps(head).encode() + b"\n" + body)


def _skops() -> Any:
    """Import it only here: that takes a third of a second."""
    return needs("skops.io", "a model file")


def _dumps(model: Any) -> bytes:
    return _skops().dumps(copy.deepcopy(model))


def _loads(body: bytes) -> Any:
    return _skops().loads(body, trusted=_TRUSTED)


def _unknown_types(body: bytes) -> list[str]:
    """Return the types in an archive that a model may not have."""
    found = _skops().get_untrusted_types(data=body)
    return sorted(set(found) - set(_TRUSTED))


def _check(part: Any) -> None:
    """Raise ValueError unless every part of this package holds what a fit could have left."""
    if hasattr(part, "_check_state"):
        part._check_state()
    if isinstance(part, dict):
        inner: Any = part.values()
    elif isinstance(part, BaseEstimator):
        inner = vars(part).values()
    else:
        inner = part if isinstance(part, (list, tuple)) else ()
    for one in inner:
        _check(one)


def load(path: str | PathLike[str]) -> Any:
    """Read a model that `save` wrote; no code in the file is run.

    Parameters
    ----------
    path : path
        The file.

    Returns
    -------
    estimator
        As it was saved, without its callback.

    Raises
    ------
    ModelFileError
        If the file is not a model file, is cut short or damaged, comes from a newer version, or
        holds a type that is not on the list or numbers that no fit leaves.
    """
    _skops()
    head, _, body = unpack(path, _KIND).partition(b"\n")
    try:
        json.loads(head)
        unknown = _unknown_types(body)
    except Exception as error:
        raise _unreadable(path, error) from error
    if unknown:
        raise ModelFileError(
            f"{path}: holds {unknown[0]}, which is not among the types a model may have; nothing "
            "was loaded."
        )
    try:
        model = _loads(body)
        if not isinstance(model, BaseEstimator):
            raise ValueError(f"it holds a {type(model).__name__}, not an estimator")
        _check(model)
    except Exception as error:
        raise _unreadable(path, error) from error
    return model


def _unreadable(path: str | PathLike[str], error: Exception) -> ModelFileError:
    what = " ".join(str(error).split()).rstrip(".") or type(error).__name__
    return ModelFileError(f"{path}: not a readable model file ({what}).")
