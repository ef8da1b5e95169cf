"""Which package imports which: no cycle, and the drawing of it is up to date."""

from tools.import_graph import PAGE, cycles, import_graph, updated


def test_no_module_is_in_a_cycle():
    """Imports within functions count."""
    assert cycles(import_graph()) == []


def test_the_drawing_is_up_to_date():
    page = PAGE.read_text(encoding="utf-8")
    assert updated(page, import_graph()) == page, "run: make graph"
