"""Spend a budget well: expected errors, utility, and the allocation that buys the least noise."""
