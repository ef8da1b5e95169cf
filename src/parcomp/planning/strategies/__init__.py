"""Strategies: measuring something else than each query by itself, so that the same budget buys less error.

A *correlated* strategy adds noise to integer combinations of the counts and solves back; an *atoms* strategy counts the
classes of rows that no query tells apart.  What either costs is the exact maximum over all rows.
"""
