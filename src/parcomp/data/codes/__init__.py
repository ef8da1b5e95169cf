"""Coded tables: how they are made, where they are kept, and how they are counted."""
