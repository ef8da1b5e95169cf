"""Other tools on the same work: each in an environment of its own, asked the same at the same budget."""
