"""Draw which package imports which into ``docs/architecture.md``, and find cycles of modules.

Imports within functions count like any others: a cycle closed by one of them is a cycle.  Imports for type checkers
alone do not run, and do not count.
"""

from __future__ import annotations

import sys
from pathlib import Path

import grimp
import networkx as nx

__all__ = ["cycles", "import_graph", "packages", "updated"]

PAGE = Path(__file__).parent.parent / "docs" / "architecture.md"
BEGIN, END = "<!-- imports: written by `make graph` -->", "<!-- end of imports -->"


def import_graph() -> nx.DiGraph:
    """An edge from each module to each that it imports."""
    found = grimp.build_graph("parcomp", exclude_type_checking_imports=True, cache_dir=None)
    graph = nx.DiGraph()
    graph.add_nodes_from(found.modules)
    for module in found.modules:
        graph.add_edges_from((module, imported) for imported in found.find_modules_directly_imported_by(module))
    return graph


def cycles(graph: nx.DiGraph) -> list[list[str]]:
    """The modules of each cycle; none if all is well."""
    return [sorted(part) for part in nx.strongly_connected_components(graph) if len(part) > 1]


def packages(graph: nx.DiGraph) -> nx.DiGraph:
    """The same graph with a node for each package that holds modules only, and one for each module elsewhere."""
    holders = {module.rpartition(".")[0] for module in graph}
    leaves = {package for package in holders if not any(other.startswith(f"{package}.") for other in holders)}

    def node(module: str) -> str:
        package = module if module in leaves else module.rpartition(".")[0]
        return (package if package in leaves else module).removeprefix("parcomp").strip(".") or "parcomp"

    smaller = nx.DiGraph()
    smaller.add_edges_from((node(one), node(other)) for one, other in graph.edges)
    smaller.remove_edges_from(list(nx.selfloop_edges(smaller)))
    return smaller


def updated(page: str, graph: nx.DiGraph) -> str:
    """The page with the drawing of the present graph."""
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n{_drawn(graph)}{END}{after}"


def _drawn(graph: nx.DiGraph) -> str:
    """Layers from the top, each package with those that it imports; what an import implies anyway is left out."""
    smaller = packages(graph)
    smaller.remove_nodes_from([node for node in ("parcomp", "errors") if node in smaller])
    needed = nx.transitive_reduction(smaller)
    width = max(len(node) for node in needed)
    lines = []
    for layer in reversed(list(nx.topological_generations(needed.reverse()))):
        lines += [f"{node:<{width}}  → {', '.join(sorted(needed[node]))}".rstrip(" →") for node in sorted(layer)]
        lines.append("")
    return "\n```\n" + "\n".join(lines).rstrip() + "\n```\n\n"


def main() -> int:
    """Write the page; complain of cycles."""
    graph = import_graph()
    for cycle in cycles(graph):
        path = nx.find_cycle(graph.subgraph(cycle))
        print("cycle: " + " → ".join([*(one for one, _ in path), path[-1][1]]), file=sys.stderr)
    PAGE.write_text(updated(PAGE.read_text(encoding="utf-8"), graph), encoding="utf-8")
    print(f"{graph.number_of_nodes()} modules, {graph.number_of_edges()} imports: docs/architecture.md")
    return 1 if cycles(graph) else 0


if __name__ == "__main__":
    sys.exit(main())
