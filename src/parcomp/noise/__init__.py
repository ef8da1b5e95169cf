"""Noise on exact integers: which mechanism a cost buys, how far it strays, and drawing it."""
