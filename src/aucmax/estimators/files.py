"""Save and load models without running code.

The file is a header with a digest (`aucmax.basics.container`) around a skops archive. Loading
accepts the types of NumPy, SciPy and scikit-learn that skops trusts, and a fixed list of this
package's classes, but never a type because the file names it.
"""

import copy
import io
import json
import zipfile
from os import PathLike
from typing import Any

import numpy as np
import sklearn
from numpy.random import Generator, RandomState
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.pipeline import Pipeline

from aucmax.basics.archive import check_archive
from aucmax.basics.checks import is_whole
from aucmax.basics.container import pack, readable, unpack
from aucmax.basics.errors import ModelFileError
from aucmax.basics.needs import needs
from aucmax.basics.version import package_version
from aucmax.columns.steps import step_of, types_in_files
from aucmax.data.columns import KINDS
from aucmax.data.digests import RowDigests
from aucmax.estimators import (
    AdditiveAUCClassifier,
    AUCClassifier,
    AUCClassifierCV,
    AUCRanker,
    HingeClassifier,
    MulticlassAUCClassifier,
)
from aucmax.estimators.probabilities import Isotonic, Sigmoid
from aucmax.estimators.scorecard import Scorecard
from aucmax.estimators.strata import FittedStrata
from aucmax.metrics import AUCInterval
from aucmax.objective.penalties import PENALTIES
from aucmax.solvers import ACCURACY_SOLVERS, SOLVERS
from aucmax.statistics.diagonal import DiagonalMoments
from aucmax.statistics.frequent_directions import FrequentDirections
from aucmax.statistics.moments import ClassMoments
from aucmax.statistics.strata import KnownStrata

__all__ = ["load", "save"]

_KIND = "model"


# attributes of scikit-learn's steps with a value per feature, or features along the last axis
_BY_FEATURE = (
    *("mean_", "var_", "scale_", "center_", "min_", "data_min_", "data_max_", "data_range_"),
    *("max_abs_", "statistics_", "categories_", "lambdas_", "quantiles_", "n_bins_"),
    *("bin_edges_", "variances_", "components_", "idf_"),
)


def _name(cls: type) -> str:
    return f"{cls.__module__}.{cls.__qualname__}"


_MOMENTS = (ClassMoments, DiagonalMoments, FrequentDirections)
_SOLVERS = (*SOLVERS.values(), *ACCURACY_SOLVERS.values())
# attributes that every fitted model must have; those of steps are in their entries
_RESULTS: dict[type, tuple[str, ...]] = {
    AUCClassifier: ("coef_", "intercept_", "classes_", "n_features_in_", "solver_"),
    AdditiveAUCClassifier: ("classes_", "n_features_in_", "best_estimator_"),
    AUCClassifierCV: ("coef_", "intercept_", "classes_", "n_features_in_", "best_estimator_"),
    AUCRanker: ("coef_", "intercept_", "n_features_in_", "solver_"),
    HingeClassifier: ("coef_", "intercept_", "classes_", "n_features_in_", "solver_"),
    MulticlassAUCClassifier: ("coef_", "intercept_", "classes_", "n_features_in_"),
    Scorecard: ("binning_", "points_", "other_points_", "classes_"),
}
_OURS = (
    *_RESULTS,
    *types_in_files(),
    *KINDS,
    AUCInterval,
    RowDigests,
    FittedStrata,
    KnownStrata,
    Isotonic,
    Sigmoid,
    *_MOMENTS,
    *_SOLVERS,
    *PENALTIES.values(),
)
# scikit-learn's own splitters, which hold numbers: a tuned model keeps its ``cv``.
_SPLITTERS = [
    f"sklearn.model_selection._split.{name}"
    for name in (
        *("GroupKFold", "GroupShuffleSplit", "KFold", "LeaveOneGroupOut", "LeavePGroupsOut"),
        *("RepeatedKFold", "RepeatedStratifiedKFold", "ShuffleSplit", "StratifiedGroupKFold"),
        *("StratifiedKFold", "StratifiedShuffleSplit", "TimeSeriesSplit"),
    )
]
# A dtype, which SimpleImputer holds, is read from an empty array: no code either.
_TRUSTED = sorted([*map(_name, _OURS), *_SPLITTERS, "numpy.dtype"])


def save(model: Any, path: str | PathLike[str]) -> None:
    """Write a fitted model to a file.

    Parameters
    ----------
    model : estimator
        An estimator of this package, or a scikit-learn pipeline around one. Callbacks are dropped.
    path : path
        An existing file is replaced only when the new one is complete.

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
        check_model(model)
    except ValueError as error:
        raise ValueError(f"the model cannot be saved: {error}") from None
    try:
        body = _skops().dumps(copy.deepcopy(model))
    except TypeError as error:
        raise ValueError(
            f"the model holds an object that a model file cannot store ({error}); give its "
            "settings as numbers, text, lists, mappings or arrays."
        ) from None
    unknown = _unknown_types(body)
    if unknown:
        raise ValueError(
            f"the model holds {unknown[0]}, which a model file cannot store; save only models made "
            "of aucmax's and scikit-learn's estimators, or the best_estimator_ of a search."
        )
    head = {"aucmax": package_version(), "sklearn": sklearn.__version__, "type": _name(type(model))}
    pack(path, _KIND, json.dumps(head).encode() + b"\n" + body)


def _skops() -> Any:
    """Import and return skops.io, which takes a third of a second."""
    return needs("skops.io", "a model file")


def _unknown_types(body: bytes) -> list[str]:
    """Return the types in an archive that a model may not have."""
    untrusted = _skops().get_untrusted_types(data=body)
    return sorted(set(untrusted) - set(_TRUSTED))


def check_model(part: Any, checked: set[int] | None = None) -> None:
    """Raise ValueError if a part of a model is in a state that no fit produces."""
    checked = set() if checked is None else checked
    if id(part) in checked:
        return
    checked.add(id(part))
    if isinstance(part, BaseEstimator):
        missing = next((name for name in part._get_param_names() if not hasattr(part, name)), None)
        if missing is not None:
            raise ValueError(f"its {type(part).__name__} has no {missing}")
        _check_complete(part)
    if hasattr(part, "check_state"):
        part.check_state()
    if isinstance(part, BaseEstimator):
        _check_step(part)
    if isinstance(part, (RandomState, Generator)):
        _check_random(part)
    if sparse.issparse(part) and hasattr(part, "check_format"):
        part.check_format(full_check=True)
    if isinstance(part, dict):
        inner: Any = part.values()
    elif isinstance(part, (list, tuple)):
        inner = part
    elif isinstance(part, np.ndarray):
        inner = part.tolist() if part.dtype == object else ()
    else:
        inner = vars(part).values() if hasattr(part, "__dict__") and not callable(part) else ()
    for value in inner:
        check_model(value, checked)


def _check_complete(fitted: BaseEstimator) -> None:
    """Raise ValueError if an estimator lacks a part although scikit-learn considers it fitted."""
    results = {name for name in vars(fitted) if name.endswith("_") and not name.startswith("__")}
    for name in _RESULTS.get(type(fitted), step_of(fitted).results):
        if results and name not in results:
            raise ValueError(f"its {type(fitted).__name__} has no {name}")


def _check_step(step: BaseEstimator) -> None:
    """Raise ValueError if the attributes of a step of scikit-learn do not match its features."""
    if hasattr(step, "_parameter_constraints"):
        step._validate_params()
    if isinstance(step, Pipeline):
        step._validate_steps()
    if not hasattr(step, "n_features_in_") or isinstance(step, Pipeline):
        return
    d, names = step.n_features_in_, getattr(step, "feature_names_in_", None)
    if not is_whole(d):
        raise ValueError(f"its {type(step).__name__} has {d!r} features")
    if names is not None and (not isinstance(names, np.ndarray) or names.shape != (d,)):
        raise ValueError(f"its {type(step).__name__} does not have names for {d} features")
    if not type(step).__module__.startswith("sklearn.") or not hasattr(step, "transform"):
        return
    for name in _BY_FEATURE:
        values = vars(step).get(name)
        if values is None:
            continue
        numbers = getattr(values, "dtype", np.dtype(object)).kind in "biufO"
        length = np.shape(values)[-1] if isinstance(values, np.ndarray) else len(values)
        if length != d or not numbers:
            raise ValueError(f"its {type(step).__name__} does not have {d} values in {name}")


def _check_random(random: RandomState | Generator) -> None:
    """Raise ValueError if the generator would read numbers outside its state."""
    generator = random._bit_generator if isinstance(random, RandomState) else random.bit_generator
    state = generator.state["state"]
    if "pos" in state and not 0 <= state["pos"] <= len(state["key"]):
        raise ValueError(f"its random numbers continue from position {state['pos']}")


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
        If the file is not a model file, is truncated or damaged, comes from a newer version, or
        holds a type that is not on the list, or numbers that no fit produces.
    """
    _skops()
    with readable(path, "model file"):
        head, _, body = unpack(path, _KIND).partition(b"\n")
        if not isinstance(json.loads(head), dict):
            raise ValueError("its first line has no names")
        check_archive(body)
        _check_references(body)
        unknown = _unknown_types(body)
        if unknown:
            raise ModelFileError(
                f"{path}: holds {unknown[0]}, which is not among the types a model may have; "
                "nothing was loaded."
            )
        model = _skops().loads(body, trusted=_TRUSTED)
        if not isinstance(model, BaseEstimator):
            raise ValueError(f"it holds a {type(model).__name__}, not an estimator")
        check_model(model)
    return model


def _check_references(body: bytes) -> None:
    """Raise ValueError if parts refer to other parts, as a few could expand to very many.

    skops writes each part in full wherever it is used, but also reads short references.
    """
    with zipfile.ZipFile(io.BytesIO(body)) as archive:
        _size(json.loads(archive.read("schema.json")), {})


def _size(part: Any, sizes: dict[Any, int]) -> int:
    """Return the number of values in a part; ``sizes`` has those of the parts so far, by id."""
    inner = part.values() if isinstance(part, dict) else part if isinstance(part, list) else ()
    size = 1 + sum(_size(value, sizes) for value in inner)
    named = isinstance(part, dict) and "__id__" in part
    if named and sizes.setdefault(part["__id__"], size) != size:
        raise ValueError("it has a part that is not written in full wherever it is used")
    return size
