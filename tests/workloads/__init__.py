"""Workloads for tests: the one place where they are built, and judges that share no code with what they judge."""

from tests.workloads.cells import cell_matrix
from tests.workloads.compiled import (
    compile_values,
    deep_workload,
    demanding_workload,
    full_census,
    marginals,
    random_compiled,
    random_set,
    random_sets,
    random_subsets,
    random_workload,
)
from tests.workloads.judged import Judged, random_judged
from tests.workloads.judges import Row, check_invariants, heaviest_row, row_weight
from tests.workloads.sets import SetQueries
from tests.workloads.wide import SHAPES, Wide, random_wide

__all__ = [
    "SHAPES",
    "Judged",
    "Row",
    "SetQueries",
    "Wide",
    "cell_matrix",
    "check_invariants",
    "compile_values",
    "deep_workload",
    "demanding_workload",
    "full_census",
    "heaviest_row",
    "marginals",
    "random_compiled",
    "random_judged",
    "random_set",
    "random_sets",
    "random_subsets",
    "random_wide",
    "random_workload",
    "row_weight",
]
