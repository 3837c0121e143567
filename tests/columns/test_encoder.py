"""TableEncoder: the columns of a table as numbers, from whatever frame they come."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp
from sklearn.impute import SimpleImputer
from sklearn.preprocessing import OneHotEncoder

from aucmax import load, save
from aucmax.columns.encoder import TableEncoder
from aucmax.data.columns import Date, Words
from aucmax.estimators import AUCClassifier

COLUMNS = {
    "x": [1.0, None, 3.0, 5.0] * 5,
    "colour": ["red", "blue", None, "red"] * 5,
    "z": [float(i) for i in range(20)],
}
FRAMES = {
    "arrow": pa.table(COLUMNS),
    "polars": pl.DataFrame(COLUMNS),
    "pandas": pd.DataFrame(COLUMNS),
    "objects": pd.DataFrame({k: np.array(v, object) for k, v in COLUMNS.items()}),
}


@pytest.fixture
def encoder():
    return TableEncoder(missing=True).fit(FRAMES["arrow"])


def test_it_is_scikit_learns_imputer_and_encoder(encoder):
    numbers = np.array([COLUMNS["x"], COLUMNS["z"]], dtype=float).T
    imputed = SimpleImputer(strategy="median", add_indicator=True).fit_transform(numbers)
    words = pd.DataFrame(COLUMNS)[["colour"]].astype(object).fillna(np.nan).to_numpy()
    codes = OneHotEncoder().fit_transform(words).toarray()
    found = encoder.transform(FRAMES["arrow"])
    np.testing.assert_array_equal(found, np.hstack([imputed, codes]))
    names = ["x", "z", "missingindicator_x", "colour_blue", "colour_red", "colour_nan"]
    assert encoder.get_feature_names_out().tolist() == names


@pytest.mark.parametrize("kind", FRAMES)
def test_every_frame_gives_the_same(encoder, kind):
    wanted = encoder.transform(FRAMES["arrow"])
    np.testing.assert_array_equal(encoder.transform(FRAMES[kind]), wanted)
    again = TableEncoder(missing=True).fit_transform(FRAMES[kind])
    np.testing.assert_array_equal(again, wanted)


def test_columns_go_by_name(encoder):
    frame = pd.DataFrame(COLUMNS)
    turned = frame.assign(more=1)[["more", "z", "colour", "x"]]
    np.testing.assert_array_equal(encoder.transform(turned), encoder.transform(frame))
    with pytest.raises(ValueError, match="columns are missing: z"):
        encoder.transform(frame.drop(columns="z"))
    unseen = encoder.transform(frame.assign(colour="green"))
    assert not unseen[:, -3:].any()


def test_it_is_saved_with_a_model(tmp_path, encoder):
    from sklearn.pipeline import make_pipeline

    y = np.arange(20) % 2
    frame = FRAMES["pandas"].copy()
    frame.attrs["columns"] = columns = (Words("colour"), Date("z", form="%d/%m/%Y"))
    model = make_pipeline(TableEncoder(missing=True), AUCClassifier()).fit(frame, y)
    save(model, tmp_path / "m")
    again = load(tmp_path / "m")
    assert again[0].columns_ == columns
    np.testing.assert_array_equal(
        again.decision_function(FRAMES["polars"]), model.decision_function(FRAMES["arrow"])
    )


@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("text", [["colour", "word"], ["word"], []])
def test_what_is_saved_is_what_was_learnt_not_scikit_learns_steps(text, missing):
    # so many words that the result is sparse
    rows = pd.DataFrame(COLUMNS).assign(word=[f"word {i}" for i in range(20)])
    frame = rows[[*text, *["x"] * missing, "z"]]
    encoder = TableEncoder(missing).fit(frame)
    saved = pickle.dumps(encoder)
    assert b"ColumnTransformer" not in saved
    again = pickle.loads(saved)
    found, wanted = again.transform(frame), encoder.transform(frame)
    assert sp.issparse(found) == sp.issparse(wanted) == ("word" in text)
    np.testing.assert_array_equal(sp.csr_array(found).toarray(), sp.csr_array(wanted).toarray())
    assert again.get_feature_names_out().tolist() == encoder.get_feature_names_out().tolist()
