"""Exact answers to statements from a real table: a file, PostgreSQL or Spark, reached by Ibis."""
