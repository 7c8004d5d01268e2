"""Sets that grow together, and sets grouped by what they share."""

from baton._src.support.disjoint_sets import DisjointSets, overlapping


def test_joined_sets_have_one_element_that_stands_for_them():
    sets: DisjointSets[str] = DisjointSets()
    assert "a" not in sets
    assert sets.find("a") == "a"
    assert "a" in sets
    sets.join("a", "b")
    sets.join("c", "d")
    assert sets.find("b") == sets.find("a") != sets.find("d")
    sets.join("d", "b")
    assert {sets.find(element) for element in "abcd"} == {"c"}


def test_sets_overlap_through_others_too():
    groups = overlapping([{1, 2}, {3}, {2, 4}, {5}, {4, 5}, set()])
    assert sorted(map(sorted, groups)) == [[0, 2, 3, 4], [1], [5]]
