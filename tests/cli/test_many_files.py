"""Commands on folders, patterns and addresses."""

import io
import json

import numpy as np
import pandas as pd
import pytest

from aucmax import datasets


@pytest.fixture
def pay(tmp_path, monkeypatch):
    """Payments in folders by country, and all of them in one file, in the working folder."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    rows = pd.DataFrame(rng.normal(size=(1200, 3)), columns=["amount", "age", "speed"])
    rows["country"] = np.repeat(["DE", "FR", "PT"], 400)
    risk = rows.amount + (rows.country == "FR") + rng.normal(size=1200)
    rows["y"] = (risk > 1.5).astype(int)
    for country, some in rows.groupby("country"):
        folder = tmp_path / "pay" / f"country={country}"
        folder.mkdir(parents=True)
        some.drop(columns="country").to_parquet(folder / "part-0.parquet")
    # the columns in the order of the folders' files
    whole = rows[["amount", "age", "speed", "y", "country"]]
    whole.to_parquet(tmp_path / "one.parquet")
    whole.to_csv(tmp_path / "one.csv", index=False)
    return tmp_path


def auc(run, *arguments):
    code, out, err = run(*arguments, "--json")
    assert code == 0, err
    return json.loads(out)["training_auc"]


@pytest.mark.parametrize("name", ["pay", "pay/", "pay/*/*.parquet"])
def test_train_and_score_take_what_names_files(pay, run, name):
    alone = auc(run, "train", "one.parquet", "--alpha", "0.1", "-o", "one.aucmax")
    assert auc(run, "train", name, "--alpha", "0.1") == alone
    assert (pay / "pay.aucmax").exists()
    scores = [run("score", "pay.aucmax", data)[1] for data in ("one.parquet", "one.csv", name)]
    assert scores[0] == scores[2]
    assert len(scores[0].splitlines()) == 1201
    code, out, err = run("evaluate", "pay.aucmax", name, "--json")
    assert code == 0, err
    assert json.loads(out)["file"] == name


def test_folders_are_read_in_parts(pay, run):
    for k in range(30):  # more than a megabyte
        copy = pay / "pay" / "country=DE" / f"part-{k + 1}.parquet"
        copy.write_bytes((pay / "pay" / "country=DE" / "part-0.parquet").read_bytes())
    rows = datasets.read("pay", text=True)
    code, out, err = run("train", "pay", "--memory", "1MB", "--alpha", "0.1", "--json")
    assert code == 0, err
    assert "pay is read in parts" in err
    report = json.loads(out)
    assert report["rows"] == len(rows.data)
    auc(run, "train", "pay", "--alpha", "0.1", "-o", "whole.aucmax")
    parts, whole = (
        pd.read_csv(io.StringIO(run("score", model, "one.csv")[1])).score
        for model in ("pay.aucmax", "whole.aucmax")
    )
    np.testing.assert_allclose(parts, whole, rtol=1e-4, atol=1e-4)


def test_an_address_is_scored(pay, run):
    fsspec = pytest.importorskip("fsspec")
    memory = fsspec.filesystem("memory")
    memory.pipe(f"/{pay.name}/one.csv", (pay / "one.csv").read_bytes())
    assert run("train", "one.csv", "--alpha", "0.1", "-o", "m.aucmax")[0] == 0
    local, remote = (
        run("score", "m.aucmax", name) for name in ("one.csv", f"memory://{pay.name}/one.csv")
    )
    assert local == remote
    assert run("train", f"memory://{pay.name}/*.csv", "--alpha", "0.1")[0] == 0
    assert (pay / f"{pay.name.strip('-_')}.aucmax").exists()


def test_an_output_never_replaces_one_of_the_files(pay, bad):
    path = "pay/country=DE/part-0.parquet"
    assert "one would overwrite" in bad("train", "pay", "-o", path)
    assert "one would overwrite" in bad("train", "pay/*/*.parquet", "-o", path)


@pytest.mark.parametrize(
    ("data", "model"),
    [
        ("rows.csv.gz", "rows"),
        ("pay/", "pay"),
        ("pay/*.csv", "pay"),
        ("2026-*.csv", "2026"),
        ("s3://bank/pay/**/*.parquet", "pay"),
        ("https://bank.example/rows.csv?token=a.b", "rows"),
    ],
)
def test_a_model_has_the_name_of_its_data(data, model):
    from aucmax.cli.paths import model_of

    assert str(model_of(data)) == f"{model}.aucmax"


def test_a_name_of_nothing_is_told(pay, bad):
    assert "none/*.csv: no file matches" in bad("train", "none/*.csv")
    (pay / "empty").mkdir()
    assert "empty: this folder has no data files" in bad("train", "empty")
