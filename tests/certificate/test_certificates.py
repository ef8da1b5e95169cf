"""Certificates hold, and tampered ones do not."""

import copy
import json
import time

import numpy as np
import pytest

import parcomp as pc
from parcomp.bits import unpack_bits
from parcomp.cli import main
from parcomp.costs import amount_up
from parcomp.errors import CertificateError
from parcomp.experiments.workloads import boxes, dense_subsets, points, uniform_workload
from parcomp.graph import build_query_graph, cases, prove_cliques
from parcomp.model.compile import compile_workload
from parcomp.overlap import Bracket, certify
from parcomp.overlap.lean import prove_by_listing
from parcomp.overlap.units import WorkloadOverlap
from parcomp.overlap.value import ValueSearch, prove_upper
from parcomp.samples import census_sample, paper_example
from tests.certificate.proof_forger import Problem
from tests.workloads import SHAPES, random_judged, random_wide


def certified(workload, **options):
    """The answer and its certificate as it comes back from a file."""
    answer = pc.max_overlap(workload, **options)
    return answer, json.loads(json.dumps(answer.certificate))


@pytest.fixture
def without_listing(monkeypatch):
    """Proofs as they are where the checker cannot list rows."""
    monkeypatch.setattr(certify, "suits", lambda compiled: False)


@pytest.mark.parametrize("chunk", range(8))
def test_certificates_of_random_workloads_verify(chunk, monkeypatch):
    """2,000 workloads: the certificate proves the bracket, and not one unit less.  Half of them have no listings."""
    draw = np.random.default_rng(chunk)
    if chunk % 2:
        monkeypatch.setattr(certify, "suits", lambda compiled: False)
    for _ in range(250):
        workload = random_judged(draw).workload
        answer, certificate = certified(workload)
        verdict = pc.verify(workload, certificate)
        assert (verdict.lower, verdict.upper) == (answer.lower, answer.upper)
        if certificate["upper"]:
            with pytest.raises(CertificateError):
                pc.verify(workload, certificate | {"upper": certificate["upper"] - 1})
            with pytest.raises(CertificateError):
                pc.verify(workload, certificate | {"lower": certificate["lower"] + 1})


@pytest.mark.parametrize(
    "workload",
    [census_sample(300, seed=3), uniform_workload(40, 8, 2, seed=2), uniform_workload(30, 20, 3, seed=4)],
    ids=["census", "uniform 8", "uniform 20"],
)
def test_certificates_of_larger_workloads_verify(workload):
    """Census by a cover, scattered subsets by a tree of cases."""
    answer, certificate = certified(workload)
    assert answer.exact
    assert pc.verify(workload, certificate).exact


@pytest.mark.parametrize("method", ["clique", "chromatic"])
def test_a_bracket_from_another_method_is_certified_as_it_is(method):
    """The upper end may be loose; the certificate proves that end."""
    domain = pc.Domain({"x": pc.Categorical([1, 2, 3])})
    workload = pc.Workload(domain, [domain.query(x=pair) for pair in ([2, 3], [1, 3], [1, 2])])
    answer, certificate = certified(workload, method=method)
    assert answer.upper == 3
    assert pc.verify(workload, certificate).upper == 3


def tree():
    """A workload whose proof divides cases, and its certificate."""
    workload = uniform_workload(40, 8, 2, seed=2)
    _, certificate = certified(workload)
    return workload, certificate


def kinds(certificate):
    """Which kinds of nodes a proof has."""
    return {next(iter(node)) for node in certificate["proof"]}


def test_a_tampered_listing_proves_no_less_than_the_truth():
    """The checker lists more rows with other multipliers, and fewer if it is told to, but never misses a heavy one."""
    workload = dense_subsets(60, 6, 3, attributes=5, density=0.4, constraints=3, heaviest=5)
    answer, certificate = certified(workload)
    compilation = compile_workload(workload)
    nodes = [node for node in certificate["proof"] if "listing" in node]
    assert answer.exact
    assert nodes
    assert {node["above"] for node in nodes} == {certificate["upper"]}

    def tampered(change):
        document = copy.deepcopy(certificate)
        for node in document["proof"]:
            if "listing" in node:
                change(node, document["multipliers"][node["listing"]])
        return document

    def refused(change, reason):
        with pytest.raises(CertificateError, match=reason):
            pc.verify(workload, tampered(change))

    refused(lambda node, _: node.update(most=1), "more than 1 partial rows")
    refused(lambda node, _: node.pop("above"), "ill formed")
    refused(lambda node, _: node.update(order=["nobody"]), "ill formed")
    less = tampered(lambda node, _: node.update(above=node["above"] - compilation.unit, most=10**6))
    with pytest.raises(CertificateError, match="the cases prove"):
        pc.verify(workload, less | {"lower": 0, "upper": certificate["upper"] - compilation.unit})
    for change in (
        lambda node, shares: (node.update(most=10**6), shares.update(shares={})),
        lambda node, shares: node.update(order=node["order"][::-1], most=10**6),
    ):
        assert pc.verify(workload, tampered(change)).upper == answer.upper


def test_tampered_certificates_are_refused(without_listing):
    """Changed rows, other workloads, dropped cases, moved multipliers, loops: each is found."""
    workload, certificate = tree()
    assert {"value", "queries"} & kinds(certificate)
    other = uniform_workload(40, 8, 2, seed=3)
    with pytest.raises(CertificateError, match="another workload"):
        pc.verify(other, certificate)

    def refused(change):
        tampered = copy.deepcopy(certificate)
        change(tampered)
        with pytest.raises(CertificateError):
            pc.verify(workload, tampered)

    def change_row(tampered):
        name, value = next(iter(tampered["row"].items()))
        attribute = workload.domain.attributes[name]
        member = min(pc.max_overlap(workload).members)
        accepted = workload[member - 1].where()
        for key in accepted:
            codes = [
                c
                for c in range(workload.domain.attributes[key].size)
                if c not in dict(workload[member - 1].terms)[workload.domain.index(key)]
            ]
            if codes:
                tampered["row"][key] = workload.domain.attributes[key].value(codes[0])
        assert attribute is not None
        assert value is not None

    def drop_case(tampered):
        for node in tampered["proof"]:
            if "attribute" in node:
                node["cases"].pop()
                return
            if "queries" in node and "in" in node:
                node["in"], node["out"] = node["out"], node["in"]
                return
            if "value" in node:
                node["like"], node["rest"] = node["rest"], node["like"]
                return

    def forget_multipliers(tampered):
        for entry in tampered["multipliers"]:
            entry["shares"] = dict(list(entry["shares"].items())[: len(entry["shares"]) // 2])
        for node in tampered["proof"]:
            if "cover" in node:
                node["cover"] = []

    def loop(tampered):
        for node in tampered["proof"]:
            if "proof" in node:
                node["proof"] = 0

    def huge_scale(tampered):
        for entry in tampered["multipliers"]:
            entry["scale"] *= 2

    def negative(tampered):
        for entry in tampered["multipliers"]:
            for name, (queries, amounts) in entry["shares"].items():
                entry["shares"][name] = [queries, [-amount for amount in amounts]]

    refused(change_row)
    refused(drop_case)
    refused(forget_multipliers)
    refused(loop)
    refused(negative)
    refused(lambda tampered: tampered.update(proof=[{"search": True}]))
    refused(lambda tampered: tampered.update(proof=[]))
    refused(lambda tampered: tampered.pop("multipliers"))
    refused(lambda tampered: tampered.update(row={}))
    assert certificate["multipliers"]
    refused(huge_scale)


def test_a_certificate_is_bound_to_costs_and_to_the_domain():
    """The fingerprint tells workloads apart by one cost, one value, one name or the order of queries."""

    def workload(costs=(1, 2, 3), name="x", high=3, order=(0, 1, 2)):
        domain = pc.Domain({name: pc.Integer(0, high)})
        queries = [domain.query({name: value}) for value in order]
        return pc.Workload(domain, queries, list(costs))

    _, certificate = certified(workload())
    assert pc.verify(workload(), certificate).upper == 3
    for other in (
        workload(costs=(1, 1, 3)),
        workload(name="y"),
        workload(high=4),
        workload(order=(1, 0, 2)),
        workload(order=(0, 1, 3)),
    ):
        with pytest.raises(CertificateError, match="another workload"):
            pc.verify(other, certificate)


def test_a_false_cover_is_refused():
    """A set of overlapping queries is no cover set."""
    workload = paper_example()
    _, certificate = certified(workload)
    false = certificate | {"proof": [{"cover": [{"weight": 2 * 10**9, "queries": [0, 1, 2, 3, 4, 5]}]}]}
    with pytest.raises(CertificateError, match="overlap"):
        pc.verify(workload, false)


def test_a_value_that_is_not_dominated_may_not_be_dropped():
    """Keeping only some values must be justified."""
    workload = paper_example()
    _, certificate = certified(workload)
    proof = [{"dominated": "postcode", "keep": "C", "proof": 1}, {"cover": []}]
    with pytest.raises(CertificateError, match="not dominated"):
        pc.verify(workload, certificate | {"proof": proof})


def by_values(workload, upper):
    """A certificate of an upper end in units, by the cases of value search and nothing else."""
    compilation = compile_workload(workload)
    proof = certify._Proof(compilation, certify.NUMBER_LIMIT)
    compiled = compilation.compiled
    case = certify._Case(
        compiled,
        [[position] for position in compilation.queries.tolist()],
        list(range(compiled.attribute_count)),
        list(compilation.codes),
    )
    tree = prove_upper(compiled, upper // compilation.unit)
    assert tree is not None
    proof._tree(case, tree, upper // compilation.unit)
    codes = np.array(compilation.row_codes(np.zeros(compiled.attribute_count, np.int32)), np.int64)
    document = certify._document(workload, Bracket(0, upper, codes))
    return document | {"proof": proof.nodes, "multipliers": proof.multipliers}


@pytest.mark.parametrize("shape", SHAPES)
def test_proofs_by_values_of_wide_workloads_verify(shape):
    """65 to 300 values: the cases of value search prove the truth, and the checker accepts nothing less for them."""
    draw = np.random.default_rng(sum(map(ord, shape)))
    seen = set()
    for _ in range(12):
        wide = random_wide(draw, shape, most_queries=80)
        workload, truth = wide.workload(), wide.truth()
        certificate = by_values(workload, truth)
        seen |= kinds(certificate)
        assert pc.verify(workload, certificate).upper == amount_up(truth)
        with pytest.raises(CertificateError):
            pc.verify(workload, certificate | {"upper": truth - 1})
    assert "splitting" in seen


def test_proofs_of_large_attributes_that_are_set_aside_verify():
    """What the search leaves out for a while, and values that it drops since others dominate them, need no step."""
    seen = set()
    for seed in range(6):
        draw = np.random.default_rng(seed)
        sizes = [8, 7, 6, 5000, 4000]
        queries = []
        for _ in range(60):
            query = {}
            for a, size in enumerate(sizes):
                density = draw.uniform(0.5, 1) if size > 8 else draw.uniform(0.2, 0.6)
                accepted = np.flatnonzero(draw.random(size) < density)
                if draw.random() < 0.7 and len(accepted):
                    query[a] = frozenset(accepted.tolist())
            queries.append(query)
        workload = Problem(sizes, queries, [1] * len(queries)).workload()
        search = ValueSearch(compile_workload(workload).compiled)
        search.advance(10**10)
        assert search.done
        certificate = by_values(workload, search.upper)
        seen |= kinds(certificate)
        assert pc.verify(workload, certificate).nodes == len(certificate["proof"])
    assert {"value", "fixing", "dominated", "queries", "splitting"} <= seen


@pytest.mark.parametrize(
    "workload",
    [boxes(300, 4, 50, 0), points(400, 8, 4, 0), boxes(150, 3, 200, 1, heaviest=10)],
    ids=["boxes", "points", "weighted boxes"],
)
def test_proofs_by_cliques_verify(workload, without_listing):
    """Where overlapping sets are cliques, cases by queries are enough."""
    answer, certificate = certified(workload)
    assert answer.exact
    assert pc.verify(workload, certificate).exact
    assert "queries" in kinds(certificate) or kinds(certificate) <= {"cover", "dominated", "sum"}


def test_proofs_by_peeling_verify(monkeypatch, without_listing):
    """Vertices with few neighbors first: the same claim, by other cases."""

    def peeled(graph, target, *, size_limit, work_limit, go_on):
        adjacent = unpack_bits(graph.adjacency, graph.vertex_count)
        prover = cases._Prover(graph, adjacent, size_limit, work_limit, peel=True, go_on=go_on)
        assert prover.close(np.arange(graph.vertex_count), target, 0)
        return prover.cases

    monkeypatch.setattr(certify, "prove_cliques", peeled)
    for workload in (points(400, 8, 4, 0), points(600, 12, 5, 1), boxes(150, 3, 200, 1, heaviest=10)):
        answer, certificate = certified(workload)
        assert len(certificate["proof"]) > 100
        assert pc.verify(workload, certificate).upper == answer.upper
        with pytest.raises(CertificateError):
            pc.verify(workload, certificate | {"upper": certificate["upper"] - 1})


def test_a_proof_beyond_the_limit_says_search(monkeypatch, tmp_path, capsys):
    """Beyond the limit the certificate claims nothing, and verify exits with an error that says so."""
    monkeypatch.setattr(certify, "NUMBER_LIMIT", 0)
    workload = paper_example()
    workload.domain.save(tmp_path / "domain.json")
    workload.save(tmp_path / "six.jsonl")
    files = ["--domain", str(tmp_path / "domain.json"), str(tmp_path / "six.jsonl")]
    proof = str(tmp_path / "proof.json")
    assert main(["overlap", *files, "--certificate", proof]) == 0
    assert main(["verify", *files, proof]) == 2
    assert "nothing was run again" in capsys.readouterr().err


def test_verify_on_the_command_line(tmp_path, capsys):
    """Written by ``overlap --certificate``, checked by ``verify``: exit 0 iff it holds."""
    workload = census_sample(200, seed=5)
    workload.domain.save(tmp_path / "domain.json")
    workload.save(tmp_path / "census.jsonl")
    files = ["--domain", str(tmp_path / "domain.json"), str(tmp_path / "census.jsonl")]
    proof = tmp_path / "proof.json"
    assert main(["overlap", *files, "--certificate", str(proof)]) == 0
    assert main(["verify", *files, str(proof)]) == 0
    assert "proven" in capsys.readouterr().out
    certificate = json.loads(proof.read_text())
    proof.write_text(json.dumps(certificate | {"upper": certificate["upper"] - 10**9}))
    assert main(["verify", *files, str(proof)]) == 2
    proof.write_text("[]")
    assert main(["verify", *files, str(proof)]) == 2
    assert capsys.readouterr().err.count("\n") == 2


def test_a_proof_is_given_up_when_its_time_is_up():
    """Nobody finds a proof of an upper end that is wrong, and the search for one ends soon after its time."""
    workload = dense_subsets(200, 12, seed=2)
    answer = pc.max_overlap(workload, time_limit=5.0)
    overlap = WorkloadOverlap(workload)
    row = np.array([attribute.code(answer.witness[name]) for name, attribute in workload.domain.attributes.items()])
    wrong = Bracket(10**9, 20 * 10**9, row)
    for seconds in (0.0, 2.0):
        began = time.monotonic()
        certificate = overlap.certificate(wrong, deadline=began + seconds)
        assert certificate["proof"] == [{"search": True}]
        assert time.monotonic() - began < seconds + 20
    assert answer.certificate == answer.prove(None)


def test_every_search_for_a_proof_asks_whether_to_go_on():
    class EndedError(Exception):
        pass

    def ended():
        raise EndedError

    compiled = compile_workload(dense_subsets(60, 12, seed=3)).compiled
    with pytest.raises(EndedError):
        prove_cliques(build_query_graph(compiled), 10, go_on=ended)
    with pytest.raises(EndedError):
        prove_by_listing(compiled, 10, size_limit=10**6, work_limit=10**9, go_on=ended)
    with pytest.raises(EndedError):
        prove_upper(compiled, 10, go_on=ended)
