"""Drafts of domain files, from what is public."""
