"""Maximum overlap without compiling, for domains so large that predicates are only looked at one by one."""

from parcomp.overlap.sparse.joint_rows import JointRows, satisfied
from parcomp.overlap.sparse.listing import listed_overlaps
from parcomp.overlap.sparse.sparse_search import SparseSearch

__all__ = ["JointRows", "SparseSearch", "listed_overlaps", "satisfied"]
