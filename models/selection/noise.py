"""Distributions of the net utility of a channel in a slot: in [0, 1], with a closed-form mean."""

from __future__ import annotations

import numpy as np

from ..stopwatch import library

NOISES = ("clipped-normal", "bernoulli", "none")


def clipped_mean(location: np.ndarray, scale: np.ndarray) -> np.ndarray:
    """Return E[min(1, max(0, N(location, scale^2)))] in closed form, element by element.

    With a = -location / scale, b = (1 - location) / scale and the normal density phi and distribution Phi it
    is location (Phi(b) - Phi(a)) + scale (phi(a) - phi(b)) + 1 - Phi(b).
    """
    ndtr = library("scipy.special").ndtr

    plain = np.clip(location, 0.0, 1.0)
    sure = scale == 0
    width = np.where(sure, 1.0, scale)
    with np.errstate(over="ignore"):  # a scale close to 0
        low, high = -location / width, (1.0 - location) / width
        inside = location * (ndtr(high) - ndtr(low)) + width * (_density(low) - _density(high))
    return np.where(sure, plain, np.clip(inside + ndtr(-high), 0.0, 1.0))


def _density(z: np.ndarray) -> np.ndarray:
    return np.exp(-0.5 * z * z) / np.sqrt(2.0 * np.pi)


def location_of(mean: np.ndarray, scale: np.ndarray) -> np.ndarray:
    """Return the location before clipping that gives a mean after clipping, by bisection to the last bit.

    A mean of 0 or 1 leaves no room for noise: the location is then minus or plus infinity.
    """
    low, high = -40.0 * scale, 1.0 + 40.0 * scale
    for _ in range(200):
        middle = 0.5 * (low + high)
        below = clipped_mean(middle, scale) < mean
        last, (low, high) = (low, high), (np.where(below, middle, low), np.where(below, high, middle))
        if np.array_equal(last, (low, high)):  # no number is between the two any more
            break
    found = np.where(scale == 0, mean, 0.5 * (low + high))
    return np.where(mean <= 0.0, -np.inf, np.where(mean >= 1.0, np.inf, found))


def draw_path(kind: str, mean: np.ndarray, scale: np.ndarray, slots: int, seed: int) -> np.ndarray:
    """Draw the sample path Z~[slot, channel]; the first rows do not depend on the number of slots."""
    rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(0x5E1,)))
    shape = (slots, len(mean))
    if kind == "none":
        return np.broadcast_to(mean, shape)
    if kind == "bernoulli":
        return (rng.random(shape) < mean).astype(np.float64)
    noise = rng.standard_normal(shape)
    return np.clip(location_of(mean, scale) + scale * noise, 0.0, 1.0)
