"""The maximum overlap: reduce, bound, search, certify."""
