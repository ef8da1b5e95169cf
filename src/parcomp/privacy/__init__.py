"""What answering a workload discloses: measures, conversions between them, trade-off functions, workload loss."""
