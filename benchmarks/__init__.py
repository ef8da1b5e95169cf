"""Side-by-side timings of Parcomp, the paper's method and other tools: ``python -m benchmarks --list``."""
