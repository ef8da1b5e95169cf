"""Maximum overlap without compiling, for domains so large that predicates are only looked at one by one."""

from parcomp.overlap.sparse.clique_search import solve_sparse

__all__ = ["solve_sparse"]
