"""The texts of whole commands, word for word, as a terminal of 80 columns shows them.

Each file of `texts` is a session: commands after a dollar sign, and below each what it prints. A
new command is a new line. ``pytest tests/cli/test_texts.py --renew`` runs the sessions again and
writes what commands print now; what has changed is then to be read.
"""

import re
import shlex
from pathlib import Path

import numpy as np
import pytest

SESSIONS = sorted((Path(__file__).parent / "texts").glob("*.txt"))
# what differs between machines, runs and versions
VOLATILE = {
    r"\d+\.\d+( seconds)": r"#.##\1",
    r"(seconds +)\d+\.\d+": r"\1#.##",
    r"( to \d\.\d{4} +)\d+\.\d{3}": r"\1#.###",
    r"\d\.\d+e-(0[6-9]|1\d)|< 1e-1\d": "#e-##",
    r"(aucmax|scikit-learn) \d[\w.]+": r"\1 #.#",
}


@pytest.fixture
def tables(tmp_path, monkeypatch):
    """Tables in the working folder: of real-world columns, of numbers alone, and these by site."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    n = 600
    fraud = rng.random(n) < 0.15
    amount = np.round(np.exp(rng.normal(3, 1, n) + 0.5 * fraud), 2)
    age = np.round(rng.normal(40, 10, n) + 3 * fraud).astype(int)
    gap, city = rng.random(n) < 0.05, rng.choice(["Paris", "Rome", "Oslo"], n)
    day = np.datetime64("2026-01-01") + rng.integers(0, 90, n)
    columns = [amount, np.where(gap, "", age.astype(str)), city, day]
    write(tmp_path / "sales.csv", "amount,age,city,day,fraud", columns, fraud)
    write(tmp_path / "numbers.csv", "amount,age,fraud", [amount, age], fraud)
    in_order = [np.sort(day), amount, age]
    write(tmp_path / "visits.csv", "day,amount,age,fraud", in_order, fraud)
    of_sites = {"north": slice(0, 350), "south": slice(350, 550), "west": slice(550, 570)}
    for site, rows in of_sites.items():
        some = fraud[rows] & (site != "west")
        write(tmp_path / f"{site}.csv", "amount,age,fraud", [amount[rows], age[rows]], some)


def write(path, head, columns, fraud):
    rows = zip(*columns, np.where(fraud, "yes", "no"), strict=True)
    path.write_text("\n".join([head, *(",".join(map(str, row)) for row in rows)]) + "\n")


def printed(run, line):
    """What a command prints, as it is kept: no blanks at the ends of lines, errors last."""
    status, out, err = run(*shlex.split(line)[1:])
    text = out + err + (f"exit status {status}\n" if status else "")
    for pattern, sign in VOLATILE.items():
        text = re.sub(pattern, sign, text)
    return "".join(f"{row.rstrip()}\n" for row in text.splitlines())


@pytest.mark.filterwarnings("ignore")  # commands print them
@pytest.mark.parametrize("session", SESSIONS, ids=lambda path: path.stem)
def test_commands_print_what_they_printed(session, run, tables, pytestconfig):
    wanted = session.read_text(encoding="utf-8")
    lines = re.findall(r"^\$ (aucmax .*)$", wanted, re.MULTILINE)
    text = "\n".join(f"$ {line}\n{printed(run, line)}" for line in lines)
    if pytestconfig.getoption("renew"):
        session.write_text(text, encoding="utf-8")
    else:
        assert text == wanted
