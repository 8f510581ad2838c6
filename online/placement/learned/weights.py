"""The networks as plain arrays: which ones a design has, how they begin, and the form that kernels take."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import NamedTuple

import numpy as np

from .design import PRIORS, Design
from .features import HOLD_FEATURES, LINEAR, STATE, WIDTHS

FIRST_VARIANCE = 0.1
"""The initial learned variance: 0.32 of standard deviation, where means are within 1 of the prior."""

SILENT = 0.05
"""Standard deviation of the first weights of what answers with its bias until it has learned."""

GROUPS = 4
"""The groups of jobs of RIFLING."""


def variance_bias(variance: float) -> float:
    """Return the input of the sigmoid of (8) that gives this variance."""
    return math.log(variance / (1.0 - variance))


SCALARS = ("log_lengthscale", "log_scale", "log_noise", "walk")
"""The parameters of the process."""

NOTHING = np.zeros((1, 0), dtype=np.float32)


class Layer(NamedTuple):
    """A linear layer, and how it begins."""

    inputs: int
    outputs: int
    bias: float | None = 0.0  # None: it has none
    silent: bool = False


def layers(design: Design) -> dict[str, Layer]:
    """Return the layers of both agents by name, in the order in which their weights are drawn."""
    if design.linear:
        return {}
    e, (jobs, machines, pairs) = design.hidden, WIDTHS[design.features]
    found = {"encoder.jobs": Layer(jobs, e), "encoder.machines": Layer(machines, e)}
    if design.placement != "grouped":
        if design.message:
            found["encoder.gate"] = Layer(2 * e, e)
        if design.ordering == "attention":
            found |= {"encoder.look": Layer(e, 3 * e, None), "encoder.out": Layer(e, e, None)}
        else:
            found["encoder.out"] = Layer(2 * e, e)
    answer, spread = Layer(e, 1, silent=True), Layer(e, 1, variance_bias(FIRST_VARIANCE), silent=True)
    if design.learns_order:
        found |= {"ordering.mean": answer, "ordering.variance": spread}
    if design.learns_places:
        found |= {"placement.inner": Layer(e + pairs, e), "placement.mean": answer}
        if design.placement != "process":
            found["placement.variance"] = spread
    if design.holds:
        found |= {"holding.inner": Layer(e + len(HOLD_FEATURES), e), "holding.mean": answer}
        found["holding.variance"] = spread
    return found


def scalars(design: Design) -> dict[str, float]:
    """Return the parameters of the process with their first values; nothing if the design has none."""
    if design.placement != "process":
        return {}
    variance = math.log(FIRST_VARIANCE)
    scales = {"log_lengthscale": math.log(math.sqrt(design.hidden)), "log_scale": variance}
    return {f"placement.{name}": x for name, x in (scales | {"log_noise": variance, "walk": 0.0}).items()}


def shapes(design: Design) -> dict[str, tuple[int, ...]]:
    """Return the shape of every array by name."""
    found: dict[str, tuple[int, ...]] = dict.fromkeys(scalars(design), ())
    if design.placement == "grouped":
        found["encoder.centres"] = (GROUPS, WIDTHS[design.features][0])
    for agent, names in LINEAR.items() if design.linear else ():
        seen = [name for name in names if name != "estimate" or design.sees_estimates]
        found[f"{agent}.score"] = len(seen), len(STATE)
    for name, layer in layers(design).items():
        found[f"{name}.weight"] = (layer.outputs, layer.inputs)
        if layer.bias is not None:
            found[f"{name}.bias"] = (layer.outputs,)
    return found


def initial(design: Design, seed: int) -> Networks:
    """Return the networks before the training of this seed: PyTorch's first weights, but for rounding."""
    stream = np.random.SeedSequence(seed).spawn(1)[0]
    twister = np.random.RandomState(int(stream.generate_state(1)[0]))

    def drawn(count: int) -> np.ndarray:
        return twister.randint(2**32, size=count, dtype=np.uint32) % 2**24 / 2.0**24

    found = {name: np.array(value, dtype=np.float32) for name, value in scalars(design).items()}
    for name, layer in layers(design).items():
        shape, limit = (layer.outputs, layer.inputs), 1.0 / math.sqrt(layer.inputs)
        weight = (drawn(layer.outputs * layer.inputs) * 2.0 - 1.0) * limit
        if layer.bias is not None:
            drawn(layer.outputs)  # PyTorch draws them, too
            found[f"{name}.bias"] = np.full(layer.outputs, layer.bias, dtype=np.float32)
        if layer.silent:  # pairs of normal numbers (Box and Muller), in blocks of 16
            one, other = drawn(-(-weight.size // 16) * 16).reshape(-1, 2, 8).transpose(1, 0, 2)
            radius, turn = np.sqrt(-2.0 * np.log1p(-one)), 2.0 * np.pi * other
            both = np.stack([radius * np.cos(turn), radius * np.sin(turn)], 1)
            weight = SILENT * both.ravel()[: weight.size]
        found[f"{name}.weight"] = weight.reshape(shape).astype(np.float32)
    for name, whole in shapes(design).items():
        found.setdefault(name, np.zeros(whole, dtype=np.float32))
    return Networks(design, {name: found[name] for name in shapes(design)})


@lru_cache(maxsize=64)
def positions(count: int, width: int) -> np.ndarray:
    """Return PE(i) of Sec. 4.1.2 for i = 0, 1, ..., shape (count, width), read-only."""
    place = np.arange(count, dtype=np.float32)[:, None]
    even = np.arange(0, width, 2, dtype=np.float32)
    angle = place / np.float32(10000.0) ** (even / np.float32(width))
    found = np.stack([np.sin(angle), np.cos(angle)], -1).reshape(count, -1)[:, :width].copy()
    found.setflags(write=False)
    return found


class Shape(NamedTuple):
    """The design as kernels take it: whole numbers and truths."""

    attends: bool  # the ordering is "attention"
    orders: bool  # there is an ordering agent
    fuses: bool  # the message is fused into the jobs by a gate
    grouped: bool  # the group stands in the place of the job
    places: bool  # there is a placement agent; if not, ``consolidates`` says which rule there is
    consolidates: bool
    silent: bool  # the mean of affinities is 0
    holds: bool  # there is an agent that lets jobs wait
    prior: int  # 0: none, 1: FIFO-Consolidate, 2: the shortest estimate first, 3: DRF-Patient
    heads: int
    pairs: int  # how many features of pairs there are


class Weights(NamedTuple):
    """The layers as kernels take them: weights with a row per input, biases; empty where there are none."""

    jobs: np.ndarray
    jobs_bias: np.ndarray
    machines: np.ndarray
    machines_bias: np.ndarray
    gate: np.ndarray
    gate_bias: np.ndarray
    look: np.ndarray
    out: np.ndarray
    out_bias: np.ndarray
    order: np.ndarray  # mean and variance of the priorities
    order_bias: np.ndarray
    inner: np.ndarray
    inner_bias: np.ndarray
    affinity: np.ndarray  # mean and, without the process, variance of the affinities
    affinity_bias: np.ndarray
    holding: np.ndarray
    holding_bias: np.ndarray
    hold: np.ndarray  # mean and variance of what lets a job wait
    hold_bias: np.ndarray
    centres: np.ndarray


@dataclass(frozen=True, eq=False)
class Networks:
    """The networks of both agents: their design, and its arrays by name (:func:`shapes`), float32."""

    design: Design
    arrays: Mapping[str, np.ndarray]

    @cached_property
    def shape(self) -> Shape:
        """The design as kernels take it."""
        one = self.design
        return Shape(
            one.ordering == "attention",
            one.learns_order,
            one.ordering == "attention" and one.message,
            one.placement == "grouped",
            one.learns_places,
            one.placement == "consolidate",
            one.readings.literal("mean"),
            one.holds,
            PRIORS.index(one.prior),
            one.heads,
            WIDTHS[one.features][2],
        )

    @cached_property
    def weights(self) -> Weights:
        """The layers as kernels take them."""
        names = ("jobs", "machines", "gate", "look", "out")
        jobs, machines, gate, look, out = (self._layer(f"encoder.{name}") for name in names)
        inner, centres = self._layer("placement.inner"), np.array(self.arrays.get("encoder.centres", NOTHING))
        order, affinity, hold = (self._head(agent) for agent in ("ordering", "placement", "holding"))
        holding = self._layer("holding.inner")
        return Weights(
            *jobs, *machines, *gate, look[0], *out, *order, *inner, *affinity, *holding, *hold, centres
        )

    @cached_property
    def scores(self) -> tuple[np.ndarray, ...]:
        """The weights of the linear design as kernels take them: order, machines and waiting."""
        return tuple(self.arrays[f"{agent}.score"].astype(np.float64) for agent in LINEAR)

    @cached_property
    def process(self) -> np.ndarray:
        """Lengthscale, scale, noise and weight of walks of the process as kernels take them, or nothing."""
        if self.design.placement != "process":
            return NOTHING[0]
        *logarithms, walk = (float(self.arrays[f"placement.{name}"]) for name in SCALARS)
        return np.array([*np.exp(logarithms), 1.0 / (1.0 + math.exp(-walk))], dtype=np.float32)

    def _head(self, agent: str) -> tuple[np.ndarray, np.ndarray]:
        """Return the layers of mean and variance of an agent side by side."""
        both = [self._layer(f"{agent}.{part}") for part in ("mean", "variance")]
        weights = [weight for weight, _ in both if weight.size]
        together = np.concatenate(weights, 1) if weights else NOTHING
        return np.array(together, order="C"), np.concatenate([bias for _, bias in both])

    def _layer(self, name: str) -> tuple[np.ndarray, np.ndarray]:
        """Return weights, a row per input, and biases of a layer; both empty if there is none."""
        weight = self.arrays.get(f"{name}.weight", NOTHING)
        bias = self.arrays.get(f"{name}.bias", NOTHING[0])
        return np.array(weight.T, order="C"), np.array(bias)  # copies, which kernels may all write into


def encodings(networks: Networks, jobs: int) -> np.ndarray:
    """Return the encoding of at least so many positions."""
    return positions(max(64, 1 << (jobs - 1).bit_length()), networks.design.hidden)
