"""``aucmax cv``, and text and missing values in `train` and `cv`."""

import json
import re

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sklearn.datasets import dump_svmlight_file
from sklearn.impute import SimpleImputer
from sklearn.model_selection import RepeatedStratifiedKFold, StratifiedKFold
from sklearn.preprocessing import OneHotEncoder, normalize

from aucmax import AUCClassifier, AUCClassifierCV, datasets, load, metrics
from aucmax.estimators.selection import best_cell
from aucmax.report import search


def made(n=240, seed=0):
    rng = np.random.default_rng(seed)
    y = (rng.random(n) < 0.3).astype(int)
    X = rng.normal(size=(n, 3)) * [1, 5, 1] + np.outer(y, [1, 3, 0])
    return X, y


def write(path, X, y, names="abc"):
    rows = [",".join([*names, "label"])]
    rows += [
        f"{','.join(map(repr, row.tolist()))},{('no', 'yes')[t]}"
        for row, t in zip(X, y, strict=True)
    ]
    path.write_text("\n".join(rows) + "\n")
    return path


@pytest.fixture
def data(tmp_path):
    return write(tmp_path / "rows.csv", *made())


# ---- tuning


def test_cv_is_the_tuned_classifier_on_the_same_folds(data, good):
    model = data.parent / "m.aucmax"
    grid = ("--alphas", "1,0.01,0.1", "--standardize", "0,1", "--seed", 4, "--folds", 3)
    report = json.loads(good("cv", data, *grid, "-o", model, "--json"))
    X, y = made()
    tuned = AUCClassifierCV(
        alphas=[1, 0.01, 0.1],
        standardize=(0, 1),
        cv=RepeatedStratifiedKFold(n_splits=3, n_repeats=4, random_state=4),
    ).fit(X, y)
    assert (report["folds"], report["rounds"]) == (12, 4)  # few rows: four rounds
    assert report["loss"] == tuned.loss_
    for name in ("alpha", "standardize", "l1_ratio"):
        assert report[name] == getattr(tuned, f"{name}_")
    assert report["auc"] == pytest.approx(tuned.best_score_)
    assert report["auc_interval"] == pytest.approx(tuned.best_interval_._asdict())
    assert report["settings_tried"] == 18
    assert len(report["grid"]) == 6
    for line in report["grid"]:
        a = tuned.losses.index(line["loss"])
        b = tuned.standardize.index(line["standardize"])
        assert line["alphas"] == [0.01, 0.1, 1]
        assert np.array(line["scores"]) == pytest.approx(tuned.auc_path_[:, a, b, 0], abs=1e-9)
        assert line["mean"] == pytest.approx(np.mean(line["scores"], axis=0))
        assert line["std"] == pytest.approx(np.std(line["scores"], axis=0, ddof=1))
    saved = load(model)
    assert isinstance(saved, AUCClassifier)
    assert saved.get_params()["alpha"] == tuned.alpha_
    assert np.allclose(saved.coef_, tuned.coef_)
    assert saved.feature_names_in_.tolist() == ["a", "b", "c"]


def test_the_losses_are_those_of_the_class_unless_others_are_asked_for(data, good):
    grid = ("--alphas", "0.1,1", "--standardize", "1", "--rounds", 1, "--json")
    report = json.loads(good("cv", data, *grid))
    assert [line["loss"] for line in report["grid"]] == list(AUCClassifierCV().losses)
    assert "hinge" not in [line["loss"] for line in report["grid"]]
    report = json.loads(good("cv", data, *grid, "--losses", "hinge"))
    assert (report["loss"], report["solver"]) == ("hinge", "cutting_plane")


@pytest.mark.usefixtures("undrawn")
def test_the_square_loss_with_each_within(data, good, bad):
    line = ("--alphas", "0.1,1", "--standardize", "1", "--rounds", 1)
    grid = ("cv", data, *line, "--within", "0.1,pooled")
    report = json.loads(good(*grid, "--losses", "squared_hinge,square", "--json"))
    lines = [(line["loss"], line["within"]) for line in report["grid"]]
    assert lines == [("squared_hinge", 0.5), ("square", 0.1), ("square", "pooled")]
    assert (report["loss"], report["within"]) in lines
    out = good(*grid, "--losses", "square", "--html", data.parent / "within.html")
    assert "square, within 0.1, standardize 1 " in out
    assert "square, within pooled" in out
    assert "got 'all'" in bad("cv", data, "--within", "0.1,all")


@pytest.mark.parametrize("scoring", ["partial_auc", "f1"])
@pytest.mark.usefixtures("undrawn")
def test_another_score_to_choose_by(data, good, scoring):
    asked = ["--scoring", scoring, *(["--max-fpr", 0.2] if scoring == "partial_auc" else [])]
    line = ("--alphas", "0.1,1", "--standardize", "1", "--losses", "square")
    grid = ("cv", data, *line, *asked, "--rounds", 1)
    report = json.loads(good(*grid, "--json"))
    cv = StratifiedKFold(5, shuffle=True, random_state=0)
    settings = {"scoring": scoring, "max_fpr": 0.2 if scoring == "partial_auc" else None}
    tuned = AUCClassifierCV(
        alphas=[0.1, 1], standardize=(1,), losses=["square"], cv=cv, **settings
    ).fit(*made())  # fmt: skip
    assert settings.items() <= report.items()
    assert report["score"] == pytest.approx(tuned.best_score_)
    assert report["auc"] == pytest.approx(tuned.best_interval_.auc)
    assert (report["within"], report["alpha"]) == (tuned.within_, tuned.alpha_)
    assert len(report["grid"]) == len(tuned.losses_)
    html = data.parent / "scored.html"
    out = good(*grid, "--html", html)
    words = {"f1": "f1", "partial_auc": "AUC at FPR ≤ 0.2"}[scoring]
    assert re.search(f"held-out {words} +{report['score']:.4f} ± ", out)
    assert f"by the mean held-out {words}" in " ".join(out.split())
    assert f"Held-out {words} over alpha" in html.read_text(encoding="utf-8")


def test_no_two_lines_of_the_figure_look_alike(data, good, monkeypatch):
    drawn = []
    whole = search.tuning_figure

    def seen(lines, *rest):
        drawn.extend(line.stroke for line in lines.values())
        return whole(lines, *rest)

    monkeypatch.setattr(search, "tuning_figure", seen)
    grid = ("--alphas", "0.1,1", "--rounds", 1)
    good("cv", data, "--scoring", "partial_auc", "--max-fpr", 0.2, *grid)
    # the square and the logistic loss with four τ and the squared hinge, each with two standardize
    assert len(drawn) == len(set(drawn)) == 18


def test_a_score_that_cannot_be_had(data, bad):
    assert "time has only one order" in bad("cv", data, "--time", "a", "--rounds", 2)
    assert "needs max_fpr" in bad("cv", data, "--scoring", "partial_auc")
    assert "--max-fpr 0.1 is for" in bad("cv", data, "--max-fpr", 0.1)
    assert "scoring must be one of 'auc'" in bad("cv", data, "--scoring", "rocauc")
    assert "cannot score this model" in bad("cv", data, "--scoring", "neg_log_loss")


@pytest.mark.usefixtures("undrawn")
def test_one_setting_was_not_chosen(data, good):
    one = ("cv", data, "--losses", "square", "--standardize", "1", "--alphas", "0.1")
    out = good(*one, "--html", data.parent / "one.html")
    assert "5 folds, random, stratified; 1 setting, " in out
    assert "biased upwards" not in out
    text = (data.parent / "one.html").read_text(encoding="utf-8")
    assert "Only one setting was tried" in text
    assert "biased upwards" not in text


def test_among_equals_the_strongest_penalty_is_shown(tmp_path, good):
    """Classes that any of these penalties separates: all AUCs are 1."""
    y = np.arange(60) % 2
    X = np.column_stack([y + np.linspace(0, 0.1, 60), np.linspace(0, 0.1, 60), np.ones(60)])
    path = write(tmp_path / "easy.csv", X, y)
    grid = ("cv", path, "--losses", "square", "--standardize", "0,1", "--alphas", "0.3,0.1,0.2")
    report = json.loads(good(*grid, "--json"))
    assert report["auc"] == 1.0
    assert [line["best"] for line in report["grid"]] == [2, 2]
    assert report["alpha"] == 0.3
    out = good(*grid)
    assert len(re.findall(r"^square, standardize [01] +3\.0e-01 +1\.0000", out, re.MULTILINE)) == 2


def test_the_best_of_the_chosen_line_is_the_choice(data, good):
    """The class leans to usual alphas, so the choice need not be the highest mean."""
    for seed in range(6):
        report = json.loads(good("cv", data, "--losses", "square", "--seed", seed, "--json"))
        chosen = [
            line
            for line in report["grid"]
            if all(line[name] == report[name] for name in ("loss", "standardize", "l1_ratio"))
        ]
        ((alpha, mean),) = [(c["alphas"][c["best"]], c["mean"][c["best"]]) for c in chosen]
        assert (alpha, mean) == (report["alpha"], pytest.approx(report["auc"]))
        assert report["leaning"]
        for line in report["grid"]:
            if line not in chosen:
                assert best_cell(np.array(line["scores"], dtype=float)) == (line["best"],)


def test_the_saved_model_scores_evaluates_and_shows(data, good):
    model = data.parent / "m.aucmax"
    good("cv", data, "--losses", "square", "-o", model)
    assert good("score", model, data).count("\n") == 241
    report = json.loads(good("evaluate", model, data, "--json"))
    X, y = made()
    assert report["scorers"][0]["auc"] == pytest.approx(
        metrics.roc_auc(y, load(model).decision_function(pd.DataFrame(X, columns=list("abc"))))
    )
    assert "a" in good("show", model)


def test_the_screen_fits_and_shows_the_numbers(data, good, monkeypatch):
    cv = ("cv", data, "--rounds", 1)
    out = good(*cv, "--l1-ratios", "0,1", "--losses", "square")
    assert all(len(line) <= 80 for line in out.splitlines())
    for gamma in ("0.5", "1"):
        assert f"standardize {gamma}, l1 " in out
    report = json.loads(good(*cv, "--l1-ratios", "0,1", "--losses", "square", "--json"))
    assert f"{report['auc']:.4f}" in out
    assert f"{report['alpha']:.3g}" in out
    around = report["auc_interval"]
    assert f"(95 % interval {around['low']:.4f} to {around['high']:.4f})" in out
    assert "biased upwards" in " ".join(out.split())
    every = good(*cv)
    for loss in ("square", "squared_hinge", "logistic"):
        assert f"{loss}, standardize 0.5 " in every
    monkeypatch.setenv("COLUMNS", "50")
    assert all(len(line) <= 80 for line in good(*cv).splitlines())


def test_a_combination_without_solver_is_told(data, run):
    code, out, err = run("cv", data, "--l1-ratios", "0,0.5", "--losses", "square,hinge")
    assert code == 0
    assert err.startswith("warning: no solver takes --losses hinge with --l1-ratios 0.5")
    assert err.count("\n") == 1
    assert "nan" not in out


def test_the_page_has_the_auc_over_alpha(data, good):
    page = data.parent / "cv.html"
    report = json.loads(good("cv", data, "--html", page, "--json"))
    text = page.read_text(encoding="utf-8")
    assert text.count("<figure") == 3
    tried = [line for line in report["grid"] if line["best"] is not None]
    assert len({line["loss"] for line in tried}) == 3
    for line in report["grid"]:
        assert f"{line['loss']}, standardize {line['standardize']:g}" in text
        if line in tried:
            assert f"best {line['mean'][line['best']]:.4f}" in text
    assert len(tried) == len(report["grid"]) or "not tried" in text
    assert f">{report['auc']:.4f}<" in text
    assert "biased upwards" in text
    assert "aucmax cv" in text


def test_rows_of_unit_norm_are_scaled_when_scored_too(data, good, tmp_path):
    model = tmp_path / "m.aucmax"
    grid = ("--losses", "square", "--alphas", "0.01,0.1", "--rounds", 1, "--scale", "unit-norm")
    good("cv", data, *grid, "-o", model)
    X, y = made()
    saved = load(model)
    linear = AUCClassifier(saved[-1].alpha, standardize=saved[-1].standardize)
    linear.fit(normalize(X), y)
    scores = [float(line.split(",")[1]) for line in good("score", model, data).split()[1:]]
    assert scores == pytest.approx(linear.decision_function(normalize(X)))
    dump_svmlight_file(X, y, str(tmp_path / "rows.svm"), zero_based=False)
    good("cv", tmp_path / "rows.svm", *grid, "-o", model)
    again = [
        float(line.split(",")[1])
        for line in good("score", model, tmp_path / "rows.svm").split()[1:]
    ]
    assert again == pytest.approx(scores)
    assert "--logistic" not in good("evaluate", model, data.parent / "rows.svm")
    report = json.loads(
        good(
            "evaluate", model, tmp_path / "rows.svm", "--logistic", tmp_path / "rows.svm", "--json"
        )
    )
    assert len(report["scorers"]) == 2


def test_folds_are_as_many_as_rows_of_the_rarer_class(run, tmp_path):
    table = tmp_path / "rare.csv"
    for rare, folds in ((3, 3), (1, None)):
        lines = [f"{i % 7},{i // 3},{int(i < rare)}" for i in range(30)]
        table.write_text("\n".join(["a,b,y", *lines]))
        code, out, err = run("cv", table, "--alphas", "0.1", "--losses", "square", "--json")
        if folds is None:
            assert code == 2
            assert "rare.csv: the rarer class has 1 row, fewer than the 5 folds" in err
        else:
            assert json.loads(out)["folds"] == 4 * folds


def test_bad_input(data, bad, tmp_path):
    assert "is the file of both --output and DATA" in bad("cv", data, "-o", data)
    assert "--alphas takes numbers separated by commas" in bad("cv", data, "--alphas", "1,x")
    assert "alphas" in bad("cv", data, "--alphas", "-1")
    assert "each of --losses must be one of" in bad("cv", data, "--losses", "huge")
    assert "--losses must be a non-empty" in bad("cv", data, "--losses", ",")
    assert "standardize" in bad("cv", data, "--standardize", "2")
    assert "no solver takes any" in bad("cv", data, "--losses", "hinge", "--l1-ratios", "0.5")
    assert "fewer than the 200 folds; use --folds" in bad("cv", data, "--folds", 200)
    assert "--folds" in bad("cv", data, "--folds", 1)
    for few, instead in ((3, "has 3 rows, .*; use --folds 3"), (1, "1 row, .* needs two")):
        rare = tmp_path / "rare.csv"
        rare.write_text("a,y\n" + "".join(f"{i},{int(i < few)}\n" for i in range(20)))
        assert re.search(instead, bad("cv", rare, "--folds", 5))
    assert "there is no folder" in bad("cv", data, "-o", tmp_path / "no" / "m")
    assert "no such file" in bad("cv", tmp_path / "none.csv")
    assert "--weight is for files; diabetes is a data set known by name" in bad(
        "cv", "diabetes", "--weight", "w"
    )


def test_help_has_an_example(good):
    assert "aucmax cv visits.csv --target booked" in good("cv", "--help")


# ---- text and missing values


def mixed(n=300, seed=0):
    """A table with text, missing values, and the word None among numbers."""
    rng = np.random.default_rng(seed)
    y = (rng.random(n) < 0.3).astype(int)
    x = rng.normal(size=(n, 2)) + np.outer(y, [1.0, 0.5])
    colour = np.where(rng.random(n) < 0.2 + 0.6 * y, "red", "blue, dark").astype(object)
    return pd.DataFrame(
        {
            "x": np.where(rng.random(n) < 0.1, np.nan, x[:, 0]),
            "z": x[:, 1],
            "colour": np.where(rng.random(n) < 0.1, None, colour),
            "code": np.array(["01", "02", "3a"])[rng.integers(0, 3, n)],
            "label": np.array(["no", "yes"])[y],
        }
    )


@pytest.fixture
def table(tmp_path):
    """Training and test rows as CSV, with "None" for one missing number, and "?" for a word."""
    for name, seed in (("train", 0), ("test", 1)):
        frame = mixed(seed=seed)
        text = frame.to_csv(index=False).replace("\n,", "\nNone,", 1)
        (tmp_path / f"{name}.csv").write_text(text.replace(",,01", ",?,01", 1))
    return tmp_path


def by_hand(train, test):
    """The same, by scikit-learn's transformers one by one."""

    def text(frame):
        words = frame[["colour", "code"]].astype(object)
        return words.where(words.notna(), np.nan).to_numpy()

    numbers = SimpleImputer(strategy="median", add_indicator=True).fit(train[["x", "z"]])
    encoder = OneHotEncoder(handle_unknown="ignore").fit(text(train))

    def ready(frame):
        codes = encoder.transform(text(frame)).toarray()
        return np.hstack([numbers.transform(frame[["x", "z"]]), codes])

    model = AUCClassifier(0.01).fit(ready(train), train["label"])
    return model.decision_function(ready(test))


def scores(text):
    return [float(line.split(",")[1]) for line in text.split()[1:]]


def test_text_and_missing_values_go_through_sklearns_transformers(table, good):
    model = table / "m.aucmax"
    train = ("train", table / "train.csv", "-o", model, "--alpha", 0.01)
    out = good(*train, "--impute", "--one-hot")
    assert re.search(r"features +9 +\(from 4 columns\)", out)
    assert "train.csv: 300 rows, 9 features, " in out.splitlines()[0]
    wanted = by_hand(mixed(seed=0), mixed(seed=1))
    assert scores(good("score", model, table / "test.csv")) == pytest.approx(wanted)
    report = json.loads(good("evaluate", model, table / "test.csv", "--logistic",
                             table / "train.csv", "--json"))  # fmt: skip
    auc = metrics.roc_auc(mixed(seed=1)["label"], wanted)
    assert report["scorers"][0]["auc"] == pytest.approx(auc)
    shown = good("show", model)
    names = ("x", "z", "missingindicator_x", "colour_red", "colour_blue, dark", "colour_nan")
    for name in (*names, "code_01", "code_3a"):
        assert name in shown
    assert "effect" in shown


def test_columns_are_found_by_name_and_new_words_count_as_none(table, good, bad):
    model = table / "m.aucmax"
    good("train", table / "train.csv", "-o", model, "--impute", "--one-hot", "--alpha", 0.01)
    whole = scores(good("score", model, table / "test.csv"))
    frame = mixed(seed=1).sample(frac=1, axis=1, random_state=0)
    frame.assign(target=1, y=2).to_csv(table / "turned.csv", index=False)
    assert scores(good("score", model, table / "turned.csv")) == pytest.approx(whole)
    # only codes that look like numbers: still text, as in training
    few = mixed(seed=1).query("code == '01'").head(3).drop(columns="label")
    few.to_csv(table / "few.csv", index=False)
    known = np.flatnonzero(mixed(seed=1)["code"] == "01")[:3]
    few_scores = scores(good("score", model, table / "few.csv"))
    assert few_scores == pytest.approx(np.array(whole)[known])
    # a column without any value, and a word that training never had
    few.assign(x=np.nan, colour="green").to_csv(table / "new.csv", index=False)
    assert np.isfinite(scores(good("score", model, table / "new.csv"))).all()
    few.assign(z="much").to_csv(table / "wrong.csv", index=False)
    message = bad("score", model, table / "wrong.csv")
    assert "wrong.csv, line 2: column 'z' holds 'much', which is not a number" in message
    few.drop(columns="z").to_csv(table / "less.csv", index=False)
    assert "columns the model needs are missing: z" in bad("score", model, table / "less.csv")


def test_python_scores_a_data_frame_with_the_saved_pipeline(table, good):
    model = table / "m.aucmax"
    good("train", table / "train.csv", "-o", model, "--impute", "--one-hot", "--alpha", 0.01)
    test = mixed(seed=1)
    assert load(model).decision_function(test[["code", "colour", "z", "x"]]) == pytest.approx(
        by_hand(mixed(seed=0), test)
    )


def test_parquet_and_dictionaries(table, good):
    frame = mixed()
    frame["colour"] = frame["colour"].astype("category")
    pq.write_table(pa.Table.from_pandas(frame), table / "train.parquet")
    model = table / "m.aucmax"
    both = ("--impute", "--one-hot", "--alpha", 0.01)
    good("train", table / "train.parquet", "-o", model, *both)
    wanted = by_hand(mixed(seed=0), mixed(seed=1))
    assert scores(good("score", model, table / "test.csv")) == pytest.approx(wanted)


def test_cv_takes_them_too(table, good):
    model = table / "m.aucmax"
    report = json.loads(
        good("cv", table / "train.csv", "--impute", "--one-hot", "--scale", "unit-norm",
             "--losses", "square", "-o", model, "--json")
    )  # fmt: skip
    assert (report["features"], report["columns"]) == (9, 4)
    assert [name for name, _ in load(model).steps] == ["columns", "unit_norm", "model"]
    assert np.isfinite(scores(good("score", model, table / "test.csv"))).all()
    assert "colour_red" in good("show", model)


@pytest.mark.usefixtures("undrawn")
def test_a_page_and_its_terminal_count_the_same_features(table, good):
    train, page, model = table / "train.csv", table / "a.html", table / "m.aucmax"
    read = ("--impute", "--one-hot")
    one = ("--losses", "square", "--standardize", 0, "--alphas", 0.1, "--folds", 2)
    for command in (
        ("train", train, *read, "-o", model, "--alpha", 0.01),
        ("cv", train, *read, *one, "-o", model, "--html", page),
        ("compare", train, *read, "--solvers", "exact", "--splits", 1, "--html", page),
        ("evaluate", model, table / "test.csv", "--html", page),
        ("show", model),
    ):
        out = good(*command)
        written = page.read_text(encoding="utf-8") if "--html" in command else ""
        found = re.findall(r"\b(\d+) features?\b|features +(\d+)", f"{out} {written}")
        assert {"".join(counts) for counts in found} == {"9"}, command  # not 4, the columns


def test_one_without_the_other(table, good, bad):
    model = table / "m.aucmax"
    train = ("train", table / "train.csv", "-o", model, "--alpha", 0.01, "--no-prepare")
    message = bad(*train)
    assert "has a missing value" in message
    assert "--impute --one-hot" in message
    assert "has a missing value" in bad(*train, "--one-hot")
    message = bad(*train, "--impute")
    assert "is not a number" in message
    assert "--one-hot" in message
    assert not model.exists()
    numbers = ("--drop", "colour", "--drop", "code")
    good(*train, "--impute", *numbers)
    assert len(scores(good("score", model, table / "test.csv"))) == 300
    mixed().dropna().to_csv(table / "full.csv", index=False)
    full = ("train", table / "full.csv", "-o", model, "--one-hot", "--alpha", 0.01)
    good(*full, "--no-prepare")
    assert "has a missing value" in bad("score", model, table / "test.csv")
    text = ("train", table / "a.svm", "-o", model, "--no-prepare")
    assert "--impute does not apply" in bad(*text, "--impute")
    assert "--one-hot does not apply" in bad(*text, "--one-hot")


def table_of(path, columns):
    pd.DataFrame(columns).to_csv(path, index=False)
    return path


def test_numbers_and_ids_do_not_become_categories(tmp_path, good, bad, run):
    rng = np.random.default_rng(0)
    x = rng.normal(size=60)
    y = (x + rng.normal(size=60) > 0).astype(int)
    typo = x.round(3).astype(str).astype(object)
    typo[33] = "1O.5"
    path = table_of(tmp_path / "typo.csv", {"x": x, "t": typo, "y": y})
    save = ("-o", tmp_path / "m.aucmax")
    fixed = (*save, "--alpha", 0.01)
    for command in (("train", path, *save), ("cv", path), ("compare", path)):
        message = bad(*command, "--one-hot", "--no-prepare")
        assert "typo.csv, line 35: column 't' holds '1O.5', which is not a number" in message
        assert "--category t" in message
    path = table_of(tmp_path / "ids.csv", {"x": x, "id": [f"u{i}" for i in range(60)], "y": y})
    for command in (("train", path, *save), ("cv", path), ("compare", path)):
        message = bad(*command, "--one-hot", "--no-prepare")
        assert "ids.csv: column 'id' has 60 different values in 60 rows, such as 'u0'" in message
        assert message.splitlines()[-1].endswith("--no-prepare --drop id")
    # meant so, and kept in the model: numbers too
    assert re.search(r"features +61 ", good("train", path, *fixed, "--category", "id"))
    assert len(scores(good("score", tmp_path / "m.aucmax", path))) == 60
    codes = {"x": x, "code": rng.integers(0, 4, 60), "y": y}
    path = table_of(tmp_path / "codes.csv", codes)
    assert re.search(r"features +5 ", good("train", path, *fixed, "--category", "code"))
    assert "code_3" in good("show", tmp_path / "m.aucmax")
    assert len(scores(good("score", tmp_path / "m.aucmax", path))) == 60
    # few values, however few rows, are no ids
    path = table_of(
        tmp_path / "few.csv", {"c": [f"u{i}" for i in range(20)], "y": np.arange(20) % 2}
    )
    good("train", path, *fixed, "--one-hot")


def test_dates_can_be_categories_but_not_text(tmp_path, good, bad):
    days = {"d": ["2024-01-31", "2024-02-01"] * 10, "y": [0, 1] * 10}
    path = table_of(tmp_path / "a.csv", days)
    model = tmp_path / "m.aucmax"
    train = ("train", path, "-o", model, "--alpha", 0.01)
    message = bad(*train, "--one-hot", "--no-prepare")
    assert "holds dates, such as 2024-01-31, not numbers; take dates as numbers" in message
    assert message.splitlines()[-1].endswith("--one-hot --no-prepare --dates")
    assert "d_2024-02-01" in (good(*train, "--category", "d"), good("show", model))[1]


@pytest.mark.parametrize("command", ["train", "cv", "compare"])
def test_values_too_large_are_named_as_in_the_file(tmp_path, bad, command):
    h = np.array([1e199, -2e200, 3e199, 1e10] * 10)
    path = table_of(tmp_path / "huge.csv", {"a": np.arange(40), "h": h, "y": [0, 1, 1, 0] * 10})
    more = ("-o", tmp_path / "m.aucmax") if command == "train" else ()
    message = bad(command, path, *more)
    assert "huge.csv: column 'h' has values as large as 2.0e+200, whose powers" in message
    rows = np.column_stack([np.arange(40), h])
    dump_svmlight_file(rows, np.arange(40) % 2, str(tmp_path / "huge.svm"), zero_based=False)
    assert "huge.svm: feature 2 has values" in bad(command, tmp_path / "huge.svm", *more)


def test_compare_takes_text_and_missing_values(table, good):
    """The rows are those that the same transformers give by hand."""
    both = ("--impute", "--one-hot", "--splits", 2, "--solvers", "exact", "--alpha", 0.01)
    report = json.loads(good("compare", table / "train.csv", *both, "--json"))
    assert report["features"] == 9
    read = datasets.read(table / "train.csv", text=True, missing=True)
    imputer = SimpleImputer(strategy="median", add_indicator=True)
    numbers = imputer.fit_transform(read.data[:, :2])
    codes = OneHotEncoder(sparse_output=False).fit_transform(read.data[:, 2:])
    rows = pd.DataFrame(np.hstack([numbers, codes]), columns=list("abcdefghi"))
    rows.assign(y=read.target).to_csv(table / "plain.csv", index=False)
    plain = json.loads(good("compare", table / "plain.csv", *both[2:], "--json"))
    assert report["solvers"][0]["aucs"] == pytest.approx(plain["solvers"][0]["aucs"], abs=1e-9)
    unit = json.loads(good("compare", table / "train.csv", *both, "--scale", "unit-norm", "--json"))
    plain = json.loads(
        good("compare", table / "plain.csv", *both[2:], "--scale", "unit-norm", "--json")
    )
    assert unit["solvers"][0]["aucs"] == pytest.approx(plain["solvers"][0]["aucs"], abs=1e-9)


def test_hints_fit_the_command_that_runs(table, good, bad):
    """A model's columns can neither be dropped nor encoded by score and evaluate."""
    model = table / "m.aucmax"
    frame = mixed().dropna()
    frame[["x", "z", "label"]].to_csv(table / "full.csv", index=False)
    good("train", table / "full.csv", "-o", model, "--alpha", 0.01)
    for value, words in (("much", "the model was trained on numbers here"), ("", "fill it in")):
        rows = frame[["x", "z", "label"]].astype(object).head(30)
        rows.iloc[4, 1] = value
        rows.to_csv(table / "odd.csv", index=False)
        for command in (
            ("score", model, table / "odd.csv"),
            ("evaluate", model, table / "odd.csv"),
            ("evaluate", model, table / "full.csv", "--logistic", table / "odd.csv"),
        ):
            message = bad(*command)
            assert "odd.csv, line 6: column 'z' h" in message
            assert words in message
            assert "--drop" not in message
            assert "--one-hot" not in message


def test_what_neither_takes(tmp_path, bad):
    train = ("-o", tmp_path / "m", "--impute", "--one-hot", "--no-prepare")
    (tmp_path / "a.csv").write_text("a,b,label\n1,,x\n2,,y\n")
    message = bad("train", tmp_path / "a.csv", *train)
    assert "column 'b' is empty in every row" in message
    (tmp_path / "a.csv").write_text("a,b,label\n1,?,x\n2,NA,y\n")
    assert "column 'b' is empty in every row" in bad("train", tmp_path / "a.csv", *train)
    (tmp_path / "a.csv").write_text("a,b,label\n1,2,x\n2,-inf,y\n")
    assert "line 3: column 'b' holds -inf, which is not finite" in bad(
        "train", tmp_path / "a.csv", *train
    )
    (tmp_path / "a.csv").write_text("a,b,label\n1,2020-01-01,x\n2,2020-01-02,y\n")
    assert "holds dates, such as 2020-01-01" in bad("train", tmp_path / "a.csv", *train)
    (tmp_path / "a.csv").write_text("a,b,label\n1,2,x\n2,3,\n")
    assert "the label is missing" in bad("train", tmp_path / "a.csv", *train)


def test_the_reader_gives_the_raw_table(table):
    read = datasets.read(table / "train.csv", text=True, missing=True)
    frame = mixed()
    assert [c.name for c in read.columns if c.is_text] == ["colour", "code"]
    assert read.data.dtype == object
    assert np.array_equal(pd.isna(read.data), frame.drop(columns="label").isna().to_numpy())
    assert read.data[:, 3].tolist() == frame["code"].tolist()
    assert np.allclose(read.data[:, 1].astype(float), frame["z"])
    numbers = datasets.read(table / "train.csv", drop=["colour", "code"], missing=True)
    assert numbers.data.dtype == np.float64
    assert not any(column.is_text for column in numbers.columns)
    assert np.isnan(numbers.data[:, 0]).sum() == frame["x"].isna().sum()
    with pytest.raises(ValueError, match="not one string"):
        datasets.read(table / "train.csv", text="colour")


def test_columns_that_look_like_labels_do_not_matter_to_a_model(tmp_path):
    (tmp_path / "a.csv").write_text("a,label,target\n1,2,3\n")
    read = datasets.read(tmp_path / "a.csv", labels="none", columns=["a"])
    assert read.data.tolist() == [[1]]
    with pytest.raises(ValueError, match="could each be the label column"):
        datasets.read(tmp_path / "a.csv", columns=["a"])


def test_data_sets_say_how_rare_their_classes_are(good, monkeypatch, tmp_path):
    monkeypatch.setenv("AUCMAX_DATA", str(tmp_path))
    monkeypatch.setenv("AUCMAX_CACHE", str(tmp_path / "cache"))
    for name in datasets.names():
        entry = datasets.about(name)
        for split in entry.splits:
            counts = entry.class_counts(split)
            if not counts:  # of some sets of the papers none are known
                continue
            assert sum(counts.values()) == entry.n_samples(split)
            assert list(counts) == sorted(counts)
    assert datasets.about("a9a").class_counts() == {-1: 37155, 1: 11687}
    rows = {row["name"]: row for row in json.loads(good("datasets", "--json"))}
    assert rows["sector"]["classes"] == 105
    assert rows["a9a"]["smallest_share"] == pytest.approx(11687 / 48842)
    out = good("datasets")
    assert re.search(r"sector +9,619 +55,197 +105 +0\.281 %", out)
    assert all(len(line) <= 80 for line in out.splitlines())
