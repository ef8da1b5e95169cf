"""A custodian whose table is loaded again: what is charged, what is bought, and who has to be opened again."""

from __future__ import annotations

import json
from contextlib import closing
from dataclasses import replace

import pytest

import parcomp.custodian.custody
import parcomp.custodian.load
from parcomp import Categorical, Domain, Integer
from parcomp.cli import main
from parcomp.custodian import Custodian, Settings
from parcomp.custodian.books import Books
from parcomp.custodian.request import read_request
from parcomp.errors import IdempotencyError, LedgerError, RefusedError, WorkloadError
from parcomp.ledger import Entry, Load, MarkFile, chain, create_ledger, open_ledger
from tests.custodians import write_custodian

WOMEN = "SELECT COUNT(*) FROM people WHERE sex = 'F'"
EVERYONE = "SELECT COUNT(*) FROM people"
GROWN = Domain({"sex": Categorical(["F", "M"]), "age": Integer(0, 19)}, name="people")


@pytest.fixture
def path(tmp_path):
    """Settings with a ledger, whose table is not looked at here."""
    path = write_custodian(tmp_path, init=False)
    settings = Settings.load(path)
    create_ledger(settings.ledger, settings.binding).close()
    return path


def grow(path, domain=GROWN):
    """The settings with a larger domain, as its file has it from here on."""
    (path.parent / "domain.json").write_text(json.dumps(domain.describe()))
    return Settings.load(path)


def append_load(settings, rows):
    """A load that was held against the rows that the ledger knows."""
    with closing(open_ledger(settings.ledger, settings.binding, extending=True)) as ledger:
        known = ledger.known_rows()
    return parcomp.custodian.append_load(settings, rows, known)


def charge(custodian, sql, epsilon, key=None):
    """What pays for a statement, and whether it was charged just then; nothing is counted."""
    asked = read_request(custodian.settings, "", [sql], epsilon=epsilon)
    with custodian._opened_books():
        return custodian._charge(asked, key)[0]


def test_values_that_are_declared_later_come_with_an_untouched_budget(path):
    with Custodian.open(path) as custodian:
        charge(custodian, f"{WOMEN} AND age < 200", "0.6")
        charge(custodian, "SELECT age, COUNT(*) FROM people GROUP BY age", "0.4")
        with pytest.raises(RefusedError):
            charge(custodian, "SELECT SUM(age) FROM people", "0.1")
    append_load(grow(path), "rows")
    with Custodian.open(path) as custodian:
        assert custodian.quote(f"{WOMEN} AND age >= 10", epsilon="0.1").remaining == 1
        assert custodian.quote(f"{WOMEN} AND age < 200", epsilon="0.1").fits is False
        charge(custodian, "SELECT age, COUNT(*) FROM people WHERE age >= 10 GROUP BY age", "1")
        assert custodian.balance().loss == 1
        assert custodian.balance().charges == 3


def test_what_did_not_ask_about_an_attribute_is_spent_on_its_later_values(path):
    with Custodian.open(path) as custodian:
        charge(custodian, WOMEN, "0.7")
    append_load(grow(path), "rows")
    with Custodian.open(path) as custodian:
        assert custodian.quote(f"{WOMEN} AND age = 15", epsilon="0.1").remaining == pytest.approx(0.3)
        assert custodian.quote("SELECT COUNT(*) FROM people WHERE sex = 'M'", epsilon="0.1").remaining == 1


def test_nothing_from_before_a_load_is_given_out_after_it(path):
    with Custodian.open(path) as custodian:
        charge(custodian, EVERYONE, "0.3")
        assert charge(custodian, EVERYONE, "0.3")[1] is False
    append_load(Settings.load(path), "more rows")
    with Custodian.open(path) as custodian:
        assert custodian.quote(EVERYONE, epsilon="0.3").cached is False
        assert charge(custodian, EVERYONE, "0.3")[1] is True
        assert charge(custodian, EVERYONE, "0.3")[1] is False
        assert custodian.balance().loss == pytest.approx(0.6)


def test_a_key_from_before_a_load_is_not_answered_from_other_rows(path):
    """All but the men is another set once a value was added, though its text is the same."""
    others = "SELECT COUNT(*) FROM people WHERE sex <> 'M'"
    four = Domain({"sex": Categorical(["F", "M", "X", "Y"]), "age": Integer(0, 9)}, name="people")
    append_load(grow(path, four), "rows")
    with Custodian.open(path) as custodian:
        paid, _ = charge(custodian, others, "0.3", key="k")
        assert charge(custodian, others, "0.3", key="k")[0] == paid
        before = custodian._ledger.request("", "k")
    five = Domain({"sex": Categorical(["F", "M", "X", "Y", "Z"]), "age": Integer(0, 9)}, name="people")
    append_load(grow(path, five), "rows")
    with Custodian.open(path) as custodian:
        asked = read_request(custodian.settings, "", [others], epsilon="0.3")
        assert asked.body_digest == before.body_digest
        with pytest.raises(IdempotencyError, match="used before the table was loaded anew"):
            charge(custodian, others, "0.3", key="k")
        assert custodian.balance().charges == 1
        assert charge(custodian, others, "0.3", key="another")[1]


def test_a_charge_is_read_under_the_domain_of_its_time(path):
    """All but 3, of the ages that were declared at first, and after a load; each spends nothing on later ones."""
    for high in (9, 19, 29):
        if high > 9:
            append_load(grow(path, Domain({**GROWN.attributes, "age": Integer(0, high)}, name="people")), "rows")
        with Custodian.open(path) as custodian:
            for _ in range(2):
                charge(custodian, "SELECT COUNT(*) FROM people WHERE age <> 3", "0.2")
            assert '{"age":{"not":3}}' in custodian.charges()[-1].statement
    with Custodian.open(path) as custodian:
        for age, left in ((3, 1), (4, 0.4), (15, 0.6), (25, 0.8)):
            quote = custodian.quote(f"SELECT COUNT(*) FROM people WHERE age = {age}", epsilon="0.1")
            assert quote.remaining == pytest.approx(left)


def test_a_custodian_that_is_open_does_not_go_on_after_a_load(path):
    with Custodian.open(path) as custodian:
        charge(custodian, WOMEN, "0.2")
        append_load(Settings.load(path), "more rows")
        for call in (
            lambda: charge(custodian, EVERYONE, "0.1"),
            lambda: charge(custodian, WOMEN, "0.2"),
            lambda: custodian.quote(EVERYONE, epsilon="0.1"),
            custodian.balance,
            lambda: charge(custodian, EVERYONE, "0.1", key="k"),
        ):
            with pytest.raises(LedgerError, match=r"loaded anew since this custodian was opened.*Open it again"):
                call()
        assert [one.is_load for one in custodian.charges()] == [False, True]
        assert custodian._ledger.request("", "k") is None
    with Custodian.open(path) as custodian:
        assert custodian.balance().charges == 1


def test_a_load_between_a_decision_and_its_charge(path, monkeypatch):
    """The decision was made under the earlier domain; it is not charged."""
    with Custodian.open(path) as custodian:
        begin = custodian._ledger.transaction

        def load_first():
            monkeypatch.undo()
            append_load(grow(path), "rows")
            return begin()

        monkeypatch.setattr(custodian._ledger, "transaction", load_first)
        with pytest.raises(LedgerError, match="Open it again"):
            charge(custodian, EVERYONE, "0.1")
        assert [one.is_load for one in custodian.charges()] == [True]


def test_a_load_while_a_custodian_is_being_opened(path, monkeypatch):
    settings = Settings.load(path)
    opening = parcomp.custodian.custody.open_marked_ledger

    def load_after(*args):
        opened = opening(*args)
        append_load(replace(settings, domain=GROWN), "rows")
        return opened

    monkeypatch.setattr(parcomp.custodian.custody, "open_marked_ledger", load_after)
    with pytest.raises(LedgerError, match="Open it again"):
        Custodian(settings)


def test_a_load_that_somebody_else_was_quicker_with(path, monkeypatch):
    settings = Settings.load(path)
    opening = parcomp.custodian.load.open_marked_ledger
    with_x, with_y = (
        replace(settings, domain=Domain({"sex": Categorical(["F", "M", new]), "age": Integer(0, 9)}, name="people"))
        for new in "XY"
    )

    def load_after(*args, **more):
        opened = opening(*args, **more)
        monkeypatch.undo()
        append_load(with_y, "rows")
        return opened

    monkeypatch.setattr(parcomp.custodian.load, "open_marked_ledger", load_after)
    with pytest.raises(LedgerError, match="somebody else has loaded the table meanwhile"):
        append_load(with_x, "rows")
    with Custodian(with_y) as custodian:
        assert len(custodian.charges()) == 1


def test_settings_with_another_domain_are_told_what_to_do(path):
    settings = grow(path)
    with pytest.raises(LedgerError, match="extends that of the ledger; take the table in under it with parcomp load"):
        Custodian(settings)
    with pytest.raises(LedgerError, match="parcomp load"):
        Custodian(settings)
    append_load(settings, "rows")
    Custodian(settings).close()
    other = replace(settings, domain=Domain({**GROWN.attributes, "age": Integer(-1, 30)}, name="people"))
    with pytest.raises(LedgerError, match="attribute 'age' does not extend what it was: values may be added after"):
        append_load(other, "rows")
    with pytest.raises(LedgerError, match="domain has other values of attribute 'age' in the ledger than"):
        Custodian(other)
    with pytest.raises(LedgerError, match="the budget is"):
        append_load(replace(settings, budget_units=5), "rows")


def test_a_load_is_marked(path):
    settings = Settings.load(path)
    entry = append_load(settings, "rows")
    mark = MarkFile(settings.mark).read(settings.binding)
    assert (mark.number, mark.digest) == (1, entry.digest)


def test_no_load_is_appended_to_a_chain_that_does_not_hold(path, monkeypatch):
    settings = Settings.load(path)
    append_load(settings, "rows")
    monkeypatch.setattr(parcomp.custodian.load, "chain_problems", lambda *_: ["charge 1: is odd"])
    with pytest.raises(LedgerError, match=r"tampered with or damaged \(charge 1: is odd\)"):
        append_load(settings, "rows")
    with Custodian(settings) as custodian:
        assert len(custodian.charges()) == 1


@pytest.mark.parametrize("loaded", [False, True])
def test_books_do_not_pass_over_what_they_cannot_book(path, loaded):
    """A bound beyond the budget, in a ledger that was written by other means."""
    settings = Settings.load(path)
    books = Books(settings, settings.binding)
    text = '{"kind":"count","where":[{}]}'
    entries = [Entry("2026-01-31T12:00:00Z", "", text, "{}", 5, 10**18)]
    entries += [Load.of(settings.domain, "rows").entry(10**18)] * loaded
    charges = []
    for number, entry in enumerate(entries, 1):
        charges.append(chain(charges[-1].digest if charges else settings.binding.digest, number, entry))
    for _ in range(2):
        with pytest.raises(WorkloadError, match="the budget is"):
            books.enter(charges)
        assert (books.number, books.charges, books.domain) == (0, 0, settings.domain)


def test_commands_show_loads(path, capsys):
    with Custodian.open(path) as custodian:
        charge(custodian, WOMEN, "0.5")
    append_load(grow(path), "0123456789abcdef")
    for command, said in (
        (["ledger", "show"], "load of rows "),
        (["ledger", "verify"], "1 charge and 1 load of the table"),
    ):
        # There is no coded table here, which verifying tells.
        assert main([*command, "-c", str(path)]) == (2 if "verify" in command else 0)
        assert said in capsys.readouterr().out
    assert main(["ledger", "show", "--json", "-c", str(path)]) == 0
    shown = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [(one["number"], one["units"], one["where"]) for one in shown] == [
        (1, 5 * 10**8, '{"sex":"F"}'),
        (2, 0, "{}"),
    ]
