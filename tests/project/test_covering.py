"""The covering arrays that stand for the grids of the tests."""

from itertools import combinations, product

import pytest

from covering import covering_array


@pytest.mark.parametrize("sizes", [(4, 4, 3, 2, 2), (7, 3, 5), (2,), (3, 2), (2,) * 7], ids=str)
@pytest.mark.parametrize("strength", [2, 3])
def test_every_combination_occurs(sizes, strength):
    grid = list(product(*map(range, sizes)))
    rows = [grid[place] for place in covering_array(grid, strength)]
    for at in combinations(range(len(sizes)), min(strength, len(sizes))):
        wanted = set(product(*(range(sizes[c]) for c in at)))
        assert {tuple(row[c] for c in at) for row in rows} == wanted
    largest = sorted(sizes)[-strength:]
    least = 1
    for size in largest:
        least *= size
    assert least <= len(rows) <= min(2.5 * least, len(grid))


def test_what_the_grid_leaves_out_is_not_asked_for():
    grid = [row for row in product(range(3), range(3), range(2)) if row[:2] != (0, 1)]
    rows = [grid[place] for place in covering_array(grid)]
    assert {row[:2] for row in rows} == {row[:2] for row in grid}
    assert len(rows) == 8
    assert covering_array([]) == []


def test_the_same_grid_gives_the_same_rows():
    grid = list(product("abcd", "xyz", [False, True]))
    assert covering_array(grid) == covering_array(list(grid))


@pytest.mark.covering
@pytest.mark.parametrize("a", range(3))
@pytest.mark.parametrize(("b", "c"), [(0, 0), (1, 1), (1, 0), (0, 1)])
@pytest.mark.parametrize("d", range(2))
def test_a_marked_grid_is_one(a, b, c, d, request):
    """Settings given together are one: four of them with three values of another."""
    name = request.function.__name__
    cases = [item for item in request.session.items if item.originalname == name]
    marked = sum(item.get_closest_marker("exhaustive") is not None for item in cases)
    assert (len(cases) - marked) in (0, 12)
