"""What the ledger keeps of a strategy, and what an audit says of one that was not charged for, or was tampered with."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from parcomp.errors import LedgerError
from parcomp.ledger import (
    Binding,
    StrategyRecord,
    audit_charges,
    chain,
    matrix_digest,
    packed,
    touched,
    unpacked,
)
from parcomp.ledger.charge import Entry
from parcomp.model import Categorical, Condition, Domain, Integer, Statement, hull_of, queries_of
from parcomp.privacy.measures import GDP, PURE, ZCDP

DOMAIN = Domain({"sex": Categorical(["F", "M"]), "age": Integer(0, 9)})
EVERY, DECLARED = DOMAIN.query(), DOMAIN.query(sex={"not": []})
"""All rows, and those whose sex is declared: the same rows of the domain, and not of a table."""

MATRIX = np.array([[100, -60], [0, 10]], np.int64)


def texts_of(*queries) -> tuple[str, ...]:
    return tuple(sorted(Statement.one("count", Condition.of(query)).text for query in queries))


def correlated(sigma: float = 50.0, matrix: np.ndarray = MATRIX, queries=(EVERY, DECLARED)) -> StrategyRecord:
    return StrategyRecord(texts_of(*queries), "correlated", 10**9, matrix_digest(matrix), sigma)


def audit(record, units, content, *, measure=ZCDP, neighbours="add-remove", where="{}", budget=10**12):
    """The problems of a ledger with this one charge."""
    binding = replace(Binding.of("d", "1", DOMAIN, measure, budget), neighbours=neighbours)
    charge = chain(binding.digest, 1, Entry("2026-01-01T00:00:00Z", "", record.text, where, units, units))
    return audit_charges([charge], binding, DOMAIN, strategy_of=lambda _: content).problems


OUTSIDE = tuple(int(text == texts_of(EVERY)[0]) for text in texts_of(EVERY, DECLARED))
"""What a row satisfies whose sex is not declared, in the order of the statements, which is that of their texts."""


def cost_of(*rows) -> int:
    """What the dearest of these rows costs under ρ at σ = 50, rounded up."""
    forms = [int((MATRIX @ np.array(row)) @ (MATRIX @ np.array(row))) for row in rows]
    return -(-max(forms) * 10**9 // (2 * 50**2))


def test_a_record_is_read_as_it_was_written():
    atoms = StrategyRecord(texts_of(EVERY), "auto", 7, histograms=(((0, 1, 2, 5), 3), ((3, 4), 4)))
    for record in (correlated(), atoms):
        assert StrategyRecord.read(record.text) == record
        assert touched(record.text) == 2
    assert json.loads(atoms.text)["histograms"][0]["queries"] == [[0, 3], [5, 6]]
    assert StrategyRecord.read(texts_of(EVERY)[0]) is None
    assert correlated().key == correlated(sigma=9.0).key != atoms.key


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"asked":"correlated"', '"asked":"other"'),
        ('"budget":1000000000', '"budget":0'),
        ('"sigma":"0x1.9', '"sigma":"-0x1.9'),
        ('"strategy":"correlated"', '"strategy":"atoms"'),
        ('"kind":"strategy"', '"kind":"strategy","more":1'),
        ('"statements":[', '"statements":[{"kind":"count","where":[{}]},'),
    ],
)
def test_what_no_ledger_writes_is_no_record(old, new):
    text = correlated().text
    assert old in text
    with pytest.raises(LedgerError, match="no strategy as a ledger has it"):
        StrategyRecord.read(text.replace(old, new))


def test_a_matrix_is_kept_as_it_is():
    for matrix in (MATRIX, -(2**40) * MATRIX, np.zeros((0, 3), np.int64), np.array([[127, -128]], np.int64)):
        kept = unpacked(packed(matrix), matrix_digest(matrix))
        assert kept.shape == matrix.shape
        assert (kept == matrix).all()
    for text in (None, "", "!", packed(MATRIX)[:-8], packed(MATRIX.T), packed(2 * MATRIX)):
        with pytest.raises(LedgerError, match="not the one that was charged"):
            unpacked(text, matrix_digest(MATRIX))


def test_a_strategy_is_audited_over_rows_with_undeclared_values():
    """A row whose sex is declared is in both counts, whose entries differ in sign, and any other row in one."""
    cost, declared = cost_of((1, 1), OUTSIDE), cost_of((1, 1))
    assert declared < cost
    assert audit(correlated(), cost, packed(MATRIX)) == ()
    [problem] = audit(correlated(), cost - 1, packed(MATRIX))
    assert f"costs {cost} units, and {cost - 1} were charged" in problem


def test_against_replacing_a_row_twice_as_much_must_be_charged():
    cost = cost_of((1, 1), OUTSIDE)
    [problem] = audit(correlated(), 2 * cost - 1, packed(MATRIX), neighbours="replace-one")
    assert "were charged" in problem
    assert audit(correlated(), 2 * cost, packed(MATRIX), neighbours="replace-one") == ()


def test_tampering_is_told():
    units = 10**10
    assert audit(correlated(), units, packed(MATRIX)) == ()
    smaller = MATRIX // 2
    for content in (None, "", packed(smaller), packed(np.vstack((MATRIX, MATRIX)))):
        [problem] = audit(correlated(), units, content)
        assert "not the one that was charged" in problem
    # Other noise, or another matrix with its digest, is another cost.
    assert "were charged" in audit(correlated(sigma=0.5), units, packed(MATRIX))[0]
    assert "were charged" in audit(correlated(matrix=10 * MATRIX), units, packed(10 * MATRIX))[0]
    # The charge must cover all rows of its queries, those whose sex is not declared too.
    [problem] = audit(correlated(), units, packed(MATRIX), where='{"sex":{"not":[]}}')
    assert "does not cover" in problem
    assert "is for" not in problem


def test_only_counts_of_conjunctions_are_in_a_strategy():
    young_or_female = Condition(DOMAIN, (DOMAIN.query(sex="F"), DOMAIN.query(age=range(3))))
    either = Statement(young_or_female).text
    total = '{"attribute":"age","kind":"sum","where":[{}]}'
    for text in (either, total):
        record = replace(correlated(), statements=tuple(sorted((text, *texts_of(EVERY)))))
        [problem] = audit(record, 10**10, packed(MATRIX))
        assert "a strategy is of counts of conjunctions" in problem
    padded = replace(correlated(), statements=('{"kind":"count","where":[{"age":{"from":0,"to":9}}]}',))
    assert audit(padded, 10**10, packed(MATRIX))


def test_atoms_are_listed_again():
    by_sex = Statement.one("count", Condition.of(DOMAIN.query()), groups=(0,))
    young = Statement.one("count", Condition.of(DOMAIN.query(age=range(3))))
    statements = sorted([by_sex, young], key=lambda one: one.text)
    queries = [query for one in statements for query in queries_of(one)]
    texts = tuple(one.text for one in statements)
    assert hull_of(queries).tested == ()
    together = StrategyRecord(texts, "atoms", 100, histograms=(((0, 1, 2), 100),))
    assert audit(together, 100, None, measure=PURE) == ()
    assert "costs 100 units" in audit(together, 99, None, measure=PURE)[0]
    # A row is in one group and may be young: two histograms add up.
    groups = [place for place, query in enumerate(queries) if dict(query.tested).keys() == {0}]
    [other] = set(range(3)) - set(groups)
    apart = StrategyRecord(texts, "atoms", 100, histograms=((tuple(groups), 60), ((other,), 50)))
    assert "costs 110 units" in audit(apart, 109, None, measure=GDP)[0]
    assert audit(apart, 110, None, measure=GDP) == ()
    for wrong in (((tuple(groups), 100),), (((0, 1, 2), 50), ((0,), 50)), (((0, 1, 2, 3), 100),)):
        assert "in none of its histograms" in audit(replace(apart, histograms=wrong), 1000, None, measure=PURE)[0]
