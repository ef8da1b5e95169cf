"""The paper's evaluation, and the families of workloads it and the benchmarks draw from; public API only."""
