"""The query graph, its clique number and colorings, and the overlap hypergraph (paper §5, §6 and appendix)."""
