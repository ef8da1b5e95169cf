"""Slow, independent computations with many digits, to hold the package against."""

from itertools import product

import mpmath as mp

mp.mp.dps = 40


def gaussian_profile(mu, epsilon):
    """δ(ε) of G_μ."""
    mu, epsilon = mp.mpf(mu), mp.mpf(epsilon)
    return mp.ncdf(mu / 2 - epsilon / mu) - mp.exp(epsilon) * mp.ncdf(-mu / 2 - epsilon / mu)


def gaussian_tradeoff(mu, alpha):
    """G_μ(α)."""
    if alpha in (0, 1):
        return mp.mpf(1 - alpha)
    quantile = mp.sqrt(2) * mp.erfinv(1 - 2 * mp.mpf(alpha))
    return mp.ncdf(quantile - mp.mpf(mu))


def randomized_response(epsilon, delta=0):
    """The pair of distributions whose trade-off function is f_{ε,δ}, as (P, Q) of each answer."""
    kept = (1 - mp.mpf(delta)) / (1 + mp.exp(epsilon))
    yes, no = kept * mp.exp(epsilon), kept
    pairs = [(yes, no), (no, yes)]
    return [*pairs, (mp.mpf(delta), mp.mpf(0)), (mp.mpf(0), mp.mpf(delta))] if delta else pairs


def discrete_gaussian(sigma, reach=None):
    """The pair of discrete Gaussian noise on counts 0 and 1, over all answers that matter."""
    reach = reach or int(14 * sigma) + 3
    weights = {k: mp.exp(-(mp.mpf(k) ** 2) / (2 * mp.mpf(sigma) ** 2)) for k in range(-reach, reach + 2)}
    total = sum(weights.values())
    return [(weights[k] / total, weights[k - 1] / total) for k in range(-reach + 1, reach + 2)]


def compose(*pairs):
    """The pair of independent answers, written out."""
    combined = []
    for answers in product(*pairs):
        p = q = mp.mpf(1)
        for one, other in answers:
            p, q = p * one, q * other
        combined.append((p, q))
    return combined


def profile(pair, epsilon):
    """δ(ε) of a finite pair of distributions."""
    factor = mp.exp(mp.mpf(epsilon))
    return sum((p - factor * q for p, q in pair if p > factor * q), mp.mpf(0))


def tradeoff(pair, alpha):
    """The least type II error at type I error α by Neyman and Pearson: reject P where Q/P is largest."""
    alpha = mp.mpf(alpha)
    beta = mp.mpf(1)
    ordered = sorted(pair, key=lambda pq: -pq[1] / pq[0] if pq[0] else -mp.inf)
    for p, q in ordered:
        if p <= alpha:
            alpha -= p
            beta -= q
        else:
            return max(beta - q * alpha / p, mp.mpf(0))
    return max(beta, mp.mpf(0))


def sound_and_tight(reported, exact, *, above, relative=1e-6, absolute=0.0):
    """Whether a reported number is on the right side of the exact one, and close to it."""
    off = mp.mpf(reported) - exact if above else exact - mp.mpf(reported)
    return 0 <= off <= relative * abs(exact) + absolute
