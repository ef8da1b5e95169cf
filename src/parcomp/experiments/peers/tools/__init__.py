"""Programs that ask another tool: each runs in that tool's environment, alone, and knows nothing of Parcomp.

They read from standard input what is to be asked, as :mod:`parcomp.experiments.peers.environments` writes it, and print
one line of JSON: the tool's ``version`` and the ``answers``, for each ask a list of numbers, or null if it was refused.
A number is null where the tool leaves out a cell of a table.
"""
