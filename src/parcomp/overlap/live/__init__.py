"""The online state: queries come one by one, and each is admitted only if the budget bears it."""

from parcomp.overlap.live.live_overlap import LiveOverlap, LiveQuote

__all__ = ["LiveOverlap", "LiveQuote"]
