"""Value search: branch and bound over values and queries under the splitting bound, and proofs by it."""

from parcomp.overlap.value.proof import prove_upper
from parcomp.overlap.value.splitting import Splitting, split
from parcomp.overlap.value.value_search import ValueSearch

__all__ = ["Splitting", "ValueSearch", "prove_upper", "split"]
