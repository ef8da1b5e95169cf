"""The online state: queries come one by one, and each is admitted only if the budget bears it."""

from parcomp.overlap.live.live_overlap import DECISION_WORK, LiveOverlap, LiveQuote

__all__ = ["DECISION_WORK", "LiveOverlap", "LiveQuote"]
