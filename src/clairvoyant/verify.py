#!/usr/bin/env python3
"""The checker of certificates: it decides about an optimum with nothing but Python's standard library.

``clairvoyant verify FILE CERTIFICATE``, or this one file, wherever Python 3.11 is: ``python verify.py FILE
CERTIFICATE``. See docs/instance-files.md and, for the proofs, docs/certificate-format.md. The exit status is

- 0: accepted. The decision in the certificate is feasible, without any tolerance, and earns at least v, and
  no feasible decision earns more than b; where costs are minimised, it costs at most v, and none less than b.
- 1: rejected; the first step that fails is printed. 2: not a certificate, or not an instance.

Nothing rests on floating-point arithmetic. A number in a file is the double that it denotes, or its shortest
decimal where the format says so; sums and products of fractions are exact, and logarithms, exponentials and
square roots are enclosed between two. v and b are derived here, whatever a certificate claims.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import math
import struct
import sys
import zlib
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from functools import cache, lru_cache, partial
from heapq import heappop, heappush
from itertools import accumulate, product
from operator import add, itemgetter, le, lt, mul, sub
from typing import Any, NamedTuple

VERSION, MOST_BYTES = 1, 2**28  # no more of a file is read, once it is unpacked
# what a certificate holds, a JSON object that is gzipped if its name ends in ``.gz``
FIELDS = ("version", "problem", "oracle", "digest", "claims", "decision", "proof")

# Enclosures are relatively so many bits tight, and sums are rounded outwards to as many; claimed numbers have
# so many significant digits.
BITS, DIGITS = 128, 20


class RejectedError(Exception):
    """A certificate that does not prove what it claims: the step that fails, and why."""


class UnreadableError(Exception):
    """What is not a certificate, or not an instance."""


class Statement(NamedTuple):
    """What was verified."""

    problem: str
    oracle: str
    digest: str
    value: str  # the decision earns at least this much, or costs at most this much
    bound: str  # no feasible decision earns more, or costs less
    gap: str  # their distance over the larger one, rounded up: 0 if and only if they are equal exactly

    @property
    def claims(self) -> dict[str, str]:
        """What a certificate of this statement claims."""
        return {"value": self.value, "bound": self.bound, "gap": self.gap}

    @property
    def lines(self) -> list[str]:
        """The statement for people."""
        costs = self.problem in MINIMISED
        return [
            f"accepted: {self.problem}/{self.oracle}, instance {self.digest}",
            f"the decision is feasible and {'costs at most' if costs else 'earns at least'} {self.value}",
            f"no feasible decision {'costs less' if costs else 'earns more'} than {self.bound}",
            "both are equal: it is optimal" if self.gap == "0" else f"the gap between them is {self.gap}",
        ]


# Numbers: exact ones, rounded ones, enclosed ones


def over(n: int, d: int, up: bool) -> int:
    """Return n / d, d > 0, as a whole number: at least that if ``up``, else at most."""
    return -(-n // d) if up else n // d


def scaled(*rows: Any) -> tuple[int, Any]:
    """Return a scale, and fractions, in nested lists too, as whole numbers of 1 / scale."""
    scale = math.lcm(*{x.denominator for x in flat(rows)})
    return scale, multiples([*rows], scale)


def decimal(x: Fraction, up: bool, digits: int = DIGITS) -> str:
    """Return a decimal number of so many digits: at least x if ``up``, else at most x."""
    context = Context(digits, ROUND_CEILING if up else ROUND_FLOOR, Emin=-(10**6), Emax=10**6)
    return str(context.divide(Decimal(x.numerator), Decimal(x.denominator)).normalize(context))


@lru_cache(2**12)
def artanh(n: int, d: int, shift: int) -> tuple[int, int]:
    """Enclose artanh z = z + z^3 / 3 + z^5 / 5 + ..., for 0 <= z = n / d <= 1/3, in units of 2^-shift."""
    # ``power`` is z^(2 i + 1) rounded down. What it lacks, e, is at most 1.5: a step makes it at most
    # e / 9 + 1/3 + 1. So each term lacks at most 1.5 + 1. Where the power is 0 the true one is at most 1.5,
    # and all that follow add up to less than 2.
    power, square = (n << shift) // d, (n * n << shift) // (d * d)
    total = terms = 0
    while power:
        total, terms, power = total + power // (2 * terms + 1), terms + 1, power * square >> shift
    return total, total + 3 * terms + 2


def log(p: int, q: int, scale: int, up: bool) -> int:
    """Return ln(p / q), p >= q > 0, in multiples of 1 / scale: at least that if ``up``, else at most."""
    # Half of it is k artanh(1/3) + artanh((c - 8) / (c + 8)) + artanh((m - 1) / (m + 1)), where p / q is
    # m 2^k c / 8, and 1 <= m <= 9/8: ln x = 2 artanh((x - 1) / (x + 1)).
    k, shift = p.bit_length() - q.bit_length(), scale.bit_length() + 8
    k -= p < q << k
    c = (p << 3) // (q << k)
    n, d = p << 3, (q << k) * c
    parts = artanh(1, 3, shift)[up], artanh(c - 8, c + 8, shift)[up], artanh(n - d, n + d, shift)[up]
    return over(2 * (k * parts[0] + parts[1] + parts[2]) * scale, 1 << shift, up)


# Files
#
# The fields that identify an instance are listed in the order in which they enter its digest. After its name
# there are the axes of a field, a letter for the length of each, and the kind of its numbers. A field with
# "?" may be left out, and with "0" it is then 0.

NATURE = "mean:E:u noise.kind::k noise.scale:E:s0 arrivals:TL:b seed::i path:TE:u?"
UTILITY = "utility.kind:RK:i utility.alpha:RK:a"
ALLOCATION = f"edges:E2:i demand:LK:a capacity:RK:a overhead:K:u {UTILITY} arrivals:TL:n copy_of:L:i?"
FORMS = {
    "allocation": ALLOCATION,
    "allocation-gang": f"{ALLOCATION} task_port:Q:i task_demand:QK:a task_floor:QK:a minimum:L:i",
    "selection": f"edges:E2:n demand:EK:n capacity:K:n cost:E:f0 {NATURE}",
    "selection-gang": f"channels:E2:n task_port:Q:n demand:QK:d capacity:RK:d minimum:L:n {NATURE}",
    "placement": "machines:R3:w submit:L:t duration:L:t instances:L:d need:L3:w intensity:L:h "
    "estimate:L:t? price::g slowdown:: gpu_weight::s window::w",
}
WITHOUT_EFFECT, MINIMISED = {"problem", "version", "origin", "names", "ports"}, {"placement"}
FAMILIES, NOISES = ("linear", "log", "reciprocal", "poly"), ("clipped-normal", "bernoulli", "none")
# the largest number of each kind, whole ones first
WHOLE = {"b": 1, "h": 1e3, "c": 1e4, "d": 1e6, "w": 1e9, "n": 2**31, "t": 1e11, "i": 2**53, "z": 1e300}
LARGEST = WHOLE | {"u": 1.0, "x": 10.0, "s": 1e6, "g": 1e9, "a": 1e50, "f": 1e300, "q": 1e300}


def read_object(path: str) -> dict[str, Any]:
    """Return the JSON object in a file, no name of which stands twice."""
    try:
        with open(path, "rb") as file:  # noqa: PTH123
            packed = file.peek(2)[:2] == b"\x1f\x8b"
            need(packed == path.endswith(".gz"), f"{path}: its name must {'not ' * (not packed)}end in .gz")
            text = (gzip.GzipFile(fileobj=file) if packed else file).read(MOST_BYTES + 1)
        need(len(text) <= MOST_BYTES, f"{path}: more than {MOST_BYTES} bytes")
        data = json.loads(text.decode("utf-8"), object_pairs_hook=_without_doubles)
    except (OSError, EOFError, MemoryError, ValueError, RecursionError, zlib.error) as error:
        why = getattr(error, "strerror", None) or str(error) or repr(error)
        raise UnreadableError(f"{path}: cannot be read: {why}") from None
    need(isinstance(data, dict), f"{path}: not an object")
    return data


def _without_doubles(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    need(len(dict(pairs)) == len(pairs), "a field stands twice")
    return dict(pairs)


def must(holds: bool, message: str, error: type[Exception] = RejectedError) -> None:
    """Reject a certificate unless a step holds."""
    if not holds:
        raise error(message)


need = partial(must, error=UnreadableError)  # refuses what is not an instance or a certificate


# The kind of a number is a letter, or the largest whole number; that of a row the kinds of its entries; that
# of an object, or of other rows, a dictionary of shapes and kinds by name or place.


def numbers(rows: Any, name: str, shape: Sequence[int | str], kind: Any = "f") -> Any:
    """Return a number of a kind, at least 0, or lists in a shape, or of "rows": whole numbers, or doubles."""
    if isinstance(kind, (dict, list)) and not shape:
        known = dict(enumerate(zip(kind, strict=True))) if isinstance(kind, list) else kind
        of = dict(enumerate(rows)) if isinstance(rows, list) else rows
        need(isinstance(of, dict) and of.keys() == known.keys(), f"{name}: its parts are not {[*known]}")
        return [numbers(of[x], f"{name}[{x!r}]", one, last) for x, (*one, last) in known.items()]
    whole, most = type(kind) is int or f"{kind}" in WHOLE, LARGEST.get(f"{kind}", kind)
    if shape:
        need(isinstance(rows, list) and shape[0] in (len(rows), "rows"), f"{name}: not a list of {shape[0]}")
        if len(shape) == 1 and whole and {*map(type, rows)} == {int} and 0 <= min(rows) <= max(rows) <= most:
            return rows  # as most are
        return [numbers(row, f"{name}[{i}]", shape[1:], kind) for i, row in enumerate(rows)]
    if type(rows) not in (int, float)[: 2 - whole] or not 0 <= rows <= most:
        raise UnreadableError(f"{name}: {rows!r:.40} is not a {'whole ' * whole}number from 0 to {most:.16g}")
    return rows if whole else Fraction(float(rows)) if kind == "q" else float(rows) + 0.0


def decimals(x: float, unit: int) -> int:
    """Return an amount in multiples of 1 / unit, by its shortest decimal."""
    found = Fraction(repr(x)) * unit
    need(0 <= found <= 10**15 and found.denominator == 1, f"{x!r:.40}: too large, or too many decimals")
    return int(found)


def changed(rows: Any, how: Callable[[Any], Any]) -> Any:
    """Return a value changed, or nested lists of them."""
    return [changed(row, how) for row in rows] if isinstance(rows, list) else how(rows)


def multiples(x: Any, scale: int) -> Any:
    """Return fractions, or nested lists of them, in whole multiples of 1 / scale, rounded down."""
    return [multiples(y, scale) for y in x] if isinstance(x, list) else x.numerator * scale // x.denominator


def flat(rows: Any) -> Iterator[Any]:
    """Yield the numbers in nested lists."""
    for row in rows:
        yield from flat(row) if isinstance(row, list) else (row,)


class Instance:
    """An instance: its ``fields`` by name, ``sizes`` of the axes by letter, and its digest."""

    # Pairs in the first field, and with them lists with an entry for each, are sorted by their entry ``by``.

    def __init__(self, data: dict[str, Any], by: int = 0) -> None:
        form = [part.split(":") for part in FORMS[data["problem"]].split(" ")]
        names = {name for name, _, _ in form}
        within = {f"{head}.{name}" for head in ("noise", "utility") for name in data.get(head, ())}
        unknown = within - names | data.keys() - WITHOUT_EFFECT - {name.partition(".")[0] for name in names}
        need(not unknown, f"instance: unknown fields {unknown}")
        given, self.sizes = dict[str, Any](), {"2": 2}
        for name, axes, kind in form:
            head, _, below = name.partition(".")
            rows: Any = data.get(head, {}).get(below) if below else data.get(head)
            need(rows is not None or kind[1:] != "", f"{name}: missing")
            given[name] = rows = changed(rows, FAMILIES.index) if name == "utility.kind" else rows
            for axis in "" if rows is None else axes:
                self.sizes.setdefault(axis, len(rows))
                if not rows:
                    break
                rows = rows[0]
        if "L" not in self.sizes:  # only ``selection`` without any slots does not say it
            self.sizes["L"] = int(data.get("ports") or 1 + max((e[0] for e in given["edges"]), default=0))
        need(data.get("ports") in (None, self.sizes["L"]), f"ports: not {self.sizes['L']}")
        self.fields: dict[str, Any] = {}
        for name, axes, kind in form:
            shape = [self.sizes[axis] for axis in axes]
            rows = [0.0] * shape[0] if given[name] is None and kind[1:] == "0" else given[name]
            need(kind != "k" or rows in NOISES, f"{name}: not one of {', '.join(NOISES)}")
            read = rows is not None and kind not in ("", "k")
            self.fields[name] = numbers(rows, name, shape, kind[0]) if read else rows
        pairs = self.fields[form[0][0]] if form[0][1] == "E2" else []
        need(len({*map(tuple, pairs)}) == len(pairs), f"{form[0][0]}: a pair stands twice")
        order = sorted(range(len(pairs)), key=lambda i: (pairs[i][by], pairs[i][1 - by]))
        for name, axes, _ in form:
            rows = self.fields[name]
            if axes[:1] == "E":
                self.fields[name] = [rows[i] for i in order]
            elif axes == "TE" and rows is not None:
                self.fields[name] = [[row[i] for i in order] for row in rows]
        self.digest = self._digest(data["problem"], form)

    def _digest(self, problem: str, form: list[list[str]]) -> str:
        """Return a hash of the fields' names, shapes and values; without a seed that draws nothing."""
        hasher = hashlib.sha256(f"{problem}/1".encode())
        for name, axes, kind in form:
            value = self.fields[name]
            if value is None or (name == "seed" and self.fields["path"] is not None):
                continue
            hasher.update({"noise.kind": "noise"}.get(name, name.rpartition(".")[2]).encode())
            if axes:
                shape, whole = tuple(self.sizes[axis] for axis in axes), kind[0] in WHOLE
                hasher.update(f"{shape}{'fi'[whole]}".encode())
                hasher.update(struct.pack(f"<{math.prod(shape)}{'dq'[whole]}", *flat(value)))
            else:
                hasher.update(json.dumps(value).encode())
        return hasher.hexdigest()[:16]


# Allocation: prices of devices, and conjugates of the utilities
#
# With N_l jobs at port l, a decision y earns sum_l N_l (sum_{r,k} f(y) - max_k beta_k sum_r y). Let w >= 0
# with sum_k w[l,k] <= N_l, and price >= 0. Then nothing earns more than
#
#     sum_{r,k} price c  +  sum over entries of the largest N f(y) - (w beta + price) y, 0 <= y <= min(a, c)
#
# because N max_k beta_k Y_k >= sum_k w_k beta_k Y_k for all Y >= 0, and price (c - sum_l y) >= 0.


# Everything is in whole multiples of 1 / unit: scales of utilities and amounts; charges in those of
# 1 / unit^2; and what is earned in those of 1 / (unit^3 2^BITS), rounded where it is no such multiple.


def gain(family: str, alpha: int, y: int, unit: int, up: bool) -> int:
    """Return the utility f(y) of y >= 0 devices: at least that if ``up``, else at most."""
    if family == "linear":
        return alpha * y * unit << BITS
    if family == "log":
        return alpha * unit * log(unit + y, unit, unit << BITS, up)
    if family == "poly":  # alpha (sqrt(1 + y) - 1)
        return alpha * unit * (math.isqrt(((unit + y) * unit << 2 * BITS) - up) + up - (unit << BITS))
    return over(y * unit**4 << BITS, alpha * (y + alpha), up)


def conjugate(family: str, alpha: int, n: int, cost: int, limit: int, unit: int) -> int:
    """Return what n f(y) - cost y does not exceed, 0 <= y <= limit; n >= 0."""
    # The function is concave: it is largest at 0 where it falls there, at the limit where it rises there,
    # else where its slope is 0, and that y is inserted.
    top = n * alpha * unit
    if cost <= 0 or family == "linear":
        falls, rises = top <= cost, True
    elif family == "log":  # slope n alpha / (1 + y) - cost
        falls, rises = top <= cost, top * unit >= cost * (unit + limit)
    elif family == "poly":  # slope n alpha / (2 sqrt(1 + y)) - cost
        falls, rises = top <= 2 * cost, top**2 * unit >= 4 * cost**2 * (unit + limit)
    else:  # slope n / (y + alpha)^2 - cost
        falls, rises = n * unit**4 <= cost * alpha**2, n * unit**4 >= cost * (limit + alpha) ** 2
    if falls:
        return 0
    if rises:
        return n * gain(family, alpha, limit, unit, up=True) - (cost * limit << BITS)
    if family == "log":  # at 1 + y = n alpha / cost
        return top * log(top, cost, unit << BITS, up=True) - ((top - cost) * unit << BITS)
    if family == "poly":  # at sqrt(1 + y) = n alpha / (2 cost)
        return over((top - 2 * cost) ** 2 * unit << BITS, 4 * cost, up=True)
    root = math.isqrt(n * cost * unit**4 << 2 * BITS)  # at y + alpha = sqrt(n / cost)
    return over(n * unit**4 << BITS, alpha, up=True) + (cost * alpha << BITS) - 2 * root


class Allocation(Instance):
    """An instance of ``allocation`` or its gangs, edges sorted by server and then by port."""

    def __init__(self, data: dict[str, Any]) -> None:
        super().__init__(data, by=1)
        at, (self.L, self.R, self.K) = self.fields, (self.sizes[axis] for axis in "LRK")
        self.edges, self.arrivals = at["edges"], at["arrivals"]
        names = ("demand", "capacity", "overhead", "utility.alpha")
        self.demand, self.capacity, self.overhead, self.alpha = (
            changed(at[name], Fraction) for name in names
        )
        self.kinds = changed(at["utility.kind"], FAMILIES.__getitem__)
        self.counts = [sum(row[port] for row in self.arrivals) for port in range(self.L)]

    def value(self, counts: Sequence[int], y: Any) -> Fraction:
        """Return what y[edge][kind] earns at least; it is refused unless servers have as much, exactly."""
        unit, (y, capacity, overhead, alpha) = scaled(y, self.capacity, self.overhead, self.alpha)
        used, held, total = zeros(self.R, self.K), zeros(self.L, self.K), 0
        for (port, server), row in zip(self.edges, y, strict=True):
            for k, amount in enumerate(row):
                if amount:
                    used[server][k] += amount
                    held[port][k] += amount
                    total += counts[port] * gain(self.kinds[server][k], alpha[server][k], amount, unit, False)
        must(all(map(le, flat(used), flat(capacity))), "a server has less of a kind than y takes")
        paid = (max(map(mul, overhead, row)) for row in held)
        return Fraction(total - (sum(map(mul, counts, paid)) * unit << BITS), unit**3 << BITS)

    def bound(self, counts: Sequence[int], w: Any, price: Any, demand: Any, besides: Any) -> Fraction:
        """Return what nothing exceeds, by the prices; a port pays ``besides`` for each device as well."""
        must(all(map(le, map(sum, w), counts)), "w of a port adds up to more than its jobs")
        given = w, price, demand, besides, self.capacity, self.overhead, self.alpha
        unit, (w, price, demand, besides, capacity, overhead, alpha) = scaled(*given)
        total = sum(map(mul, flat(price), flat(capacity))) * unit << BITS
        for port, server in self.edges:
            limits = map(min, demand[port], capacity[server])
            each = zip(self.kinds[server], alpha[server], limits, strict=True)
            for k, (family, scale, limit) in enumerate(each):
                if limit:
                    cost = w[port][k] * overhead[k] + (price[server][k] + besides[port][k]) * unit
                    total += conjugate(family, scale, counts[port], cost, limit, unit)
        return Fraction(total, unit**3 << BITS)


def zeros(rows: int, columns: int) -> list[list[Any]]:
    """Return rows of zeros."""
    return [[0] * columns for _ in range(rows)]


def check_allocation(data: dict[str, Any], oracle: str, decision: Any, proof: Any) -> Derived:
    """Check y[edge][kind], w[port][kind] and price[server][kind] for all slots, or for each pattern."""
    of = Allocation(data)
    cases = [(of.counts, 1)]
    if oracle == "dynamic":
        cases = [(list(row), times) for row, times in sorted(Counter(map(tuple, of.arrivals)).items())]
    decisions = numbers(decision, "decision", (len(cases), len(of.edges), of.K), "q")
    w = numbers(proof["w"], "proof.w", (len(cases), of.L, of.K), "q")
    price = numbers(proof["price"], "proof.price", (len(cases), of.R, of.K), "q")
    most, free = [of.demand[port] for port, _ in of.edges], zeros(of.L, of.K)
    value = bound = Fraction(0)
    for i, (counts, times) in enumerate(cases):
        must(all(map(le, flat(decisions[i]), flat(most))), "y of an edge is above the demand of its port")
        value += times * of.value(counts, decisions[i])
        bound += times * of.bound(counts, w[i], price[i], of.demand, free)
    return Derived(of.digest, value, bound)


# Trees: what is decided step by step, until prices prove enough
#
# A node is a leaf, the number of its prices, or a branch: a list of what is decided and two trees. Every
# decision keeps the limits that ``sides`` gives for one of the two.


def largest(node: Any, limits: Any, leaf: Any, sides: Any, uses: int, name: str) -> Any:
    """Return the largest bound of a tree's leaves, of ``uses`` prices; ``None`` if nothing is feasible."""
    bounds, nodes = [], [(node, limits, name)]
    while nodes:
        node, limits, name = nodes.pop()
        if isinstance(node, list):
            need(len(node) > 2, f"{name}: a node is no leaf and no branch")
            below = enumerate(zip(node[-2:], sides(node[:-2], limits, name), strict=True), len(node) - 2)
            nodes += [(one, limits | more, f"{name}[{i}]") for i, (one, more) in below][::-1]
        else:
            bounds.append(leaf(numbers(node, name, (), uses - 1), limits))
    return max((bound for bound in bounds if bound is not None), default=None)


def off_or_on(known: Iterable[int], what: Any, _: Any, name: str) -> tuple[dict[int, bool], dict[int, bool]]:
    """Return the limits of the two sides where one of the known choices is decided."""
    need(len(what) < 2 and type(what[0]) is int and what[0] in known, f"{name}: no choice here: {what!r:.40}")
    return {what[0]: False}, {what[0]: True}


def most_of_job(forced: list[Any], others: list[Any], minimum: int, runs: bool) -> Any:
    """Return the most that tasks of a job earn, with all forced ones; ``None`` if it must run and cannot."""
    missing, others = max(0, minimum - len(forced)), sorted(others, reverse=True)
    if len(others) < missing:
        return None if runs else 0
    best = sum(forced) + sum(others[:missing]) + sum(one for one in others[missing:] if one > 0)
    return best if runs else max(0, best)


# Gangs of allocation: prices as above, and multipliers of what tasks hold, at the leaves of a tree
#
# Over all servers, a task that runs holds from its floor b to its demand a of each kind, any other nothing;
# of a job's tasks none run, or the minimum at least. Let some tasks and jobs be decided, w and price be as
# above, and more, less >= 0 for every task and kind. Then nothing earns more than
#
#     sum_{r,k} price c  +  sum over entries of the largest N f(y) - (w beta + price + least) y
#   + sum over jobs of the most that tasks which run bring: sum_k more a - less b
#
# because more (a - s) >= 0 and less (s - b) >= 0 for what a task that runs holds, s. Here y is what the tasks
# of a port hold together on a server, no more than those that may run can hold, and least is the least
# more - less of these. If that is negative for N = w = 0, nothing is feasible: it would earn 0. The best
# decision needs no jobs that count nothing, no more devices than near servers have, and, as a job that loses
# had better not run, no more than its utilities can pay the overhead of.


CLIPS = 3  # how often demands are cut to what a job can gain


class AllocationGang(Allocation):
    """An instance of ``allocation-gang``, its tasks by port, with pairs of an edge and a task of its port."""

    def __init__(self, data: dict[str, Any]) -> None:
        gang = data["gang"]
        given = {name: data[name] for name in data if name != "gang"} | {"minimum": gang["minimum"]}
        jobs = [list(zip(*rows, strict=True)) for rows in zip(gang["demand"], gang["floor"], strict=True)]
        given["task_port"] = [port for port, rows in enumerate(jobs) for _ in rows]
        given["task_demand"] = [demand for rows in jobs for demand, _ in rows]
        given["task_floor"] = [floor for rows in jobs for _, floor in rows]
        super().__init__(given)
        ports, self.minimum, self.prices = self.fields["task_port"], self.fields["minimum"], list[Any]()
        self.tasks = [[q for q, at in enumerate(ports) if at == port] for port in range(self.L)]
        self.pairs = [(e, q) for e, (port, _) in enumerate(self.edges) for q in self.tasks[port]]
        self.ceiling, self.floor = (changed(self.fields[f"task_{x}"], Fraction) for x in ("demand", "floor"))
        self.most, self.able = self.ceiling, self.tasks
        self.price = {"feasible": ("b",), "w": (self.L, self.K, "q"), "price": (self.R, self.K, "q")}
        self.price |= dict.fromkeys(("more", "less"), (len(self.floor), self.K, "q"))
        for _ in range(CLIPS):
            before, near = (self.most, self.able), self._near()
            self.most = [list(map(min, row, near[port])) for row, port in zip(self.most, ports, strict=True)]
            able = [[q for q in mine if all(map(le, self.floor[q], self.most[q]))] for mine in self.tasks]
            each = zip(able, self.minimum, self.counts, strict=True)  # no job of too few tasks ever runs
            self.able = [mine if len(mine) >= least and count else [] for mine, least, count in each]
            if before == (self.most, self.able):
                break

    def _near(self) -> Any:
        """Return how many devices each job can have, and gain their overhead: one that loses need not run."""
        has, gains = zeros(self.L, self.K), [Fraction(0)] * self.L
        for port, server in self.edges:
            for k, most in enumerate(self.capacity[server]):
                limit = min(most, sum((self.most[q][k] for q in self.able[port]), Fraction(0)))
                has[port][k] += limit
                unit, (a, y) = scaled(self.alpha[server][k], limit)
                gains[port] += Fraction(gain(self.kinds[server][k], a, y, unit, up=True), unit**3 << BITS)
        one = 1 << BITS
        for row, gained in zip(has, gains, strict=True):  # caps are rounded up, to multiples of 1 / one
            caps = (Fraction(math.ceil(one * gained / b), one) if b else math.inf for b in self.overhead)
            row[:] = map(min, row, caps)
        return has

    def earned(self, y: Any) -> Fraction:
        """Return what y[pair][kind] earns at least; it is refused unless all constraints hold exactly."""
        edges, tasks = zeros(len(self.edges), self.K), zeros(len(self.floor), self.K)
        for (edge, task), row in zip(self.pairs, y, strict=True):
            edges[edge], tasks[task] = list(map(add, edges[edge], row)), list(map(add, tasks[task], row))
        for port, mine in enumerate(self.tasks):
            runs = [q for q in mine if any(tasks[q])]
            for q in runs:
                within = all(map(le, self.floor[q], tasks[q])) and all(map(le, tasks[q], self.ceiling[q]))
                must(within, f"task {q} holds less than its floor, or more than its demand")
            # who has no floor may hold nothing
            may = [q for q in mine if q in runs or not any(self.floor[q])]
            must(not runs or len(may) >= self.minimum[port], f"job {port} runs less than its minimum")
        return self.value(self.counts, edges)

    def leaf(self, number: int, limits: dict[int, bool]) -> Fraction | None:
        """Return what nothing exceeds by the prices of a leaf; ``None`` if nothing is feasible there."""
        feasible, w, price, more, less = self.prices[number]
        demand, least, total = zeros(self.L, self.K), zeros(self.L, self.K), Fraction(0)
        for port, mine in enumerate(self.tasks):
            job, on = limits.get(len(self.floor) + port), [q for q in mine if limits.get(q)]
            may = [q for q in self.able[port] if job is not False and limits.get(q) is not False]
            forced, others = list[Any](), list[Any]()
            for q in may:
                brings = sum(map(mul, more[q], self.most[q])) - sum(map(mul, less[q], self.floor[q]))
                (forced if q in on else others).append(brings)
            best = most_of_job(forced, others, self.minimum[port], bool(job or on))
            if best is None or len(forced) < len(on):
                return None
            total += best
            for k in range(self.K if len(may) >= self.minimum[port] else 0):
                holds = [q for q in may if self.most[q][k]]
                demand[port][k] = sum((self.most[q][k] for q in holds), Fraction(0))
                least[port][k] = min((more[q][k] - less[q][k] for q in holds), default=Fraction(0))
        counts = self.counts if feasible else [0] * self.L
        total += self.bound(counts, w, price, demand, least)
        must(feasible or total < 0, "prices do not prove that nothing is feasible at a leaf")
        return total if feasible else None


def check_allocation_gang(data: dict[str, Any], _: str, decision: Any, proof: Any) -> Derived:
    """Check y[pair][kind] as [numerator, denominator], and a tree of tasks and, numbered after them, jobs."""
    of = AllocationGang(data)
    pairs = numbers(decision, "decision", (len(of.pairs), of.K, 2), "z")
    for i, row in enumerate(pairs):
        need(all(below for _, below in row), f"decision[{i}]: {row!r:.40} divides by 0")
    value = of.earned([[Fraction(*parts) for parts in row] for row in pairs])
    of.prices = numbers(proof["prices"], "proof.prices", ("rows",), of.price)
    sides = partial(off_or_on, range(len(of.floor) + of.L))
    bound = largest(proof["tree"], {}, of.leaf, sides, len(of.prices), "proof.tree")
    return Derived(of.digest, value, Fraction(bound or 0))


# Selection: Lagrange multipliers at the leaves of a tree
#
# Channels are on or off, and belong to tasks of jobs; each earns its mean. A job runs none of its tasks or at
# least its minimum, a task has one channel at most, and on every server the channels' demands stay within the
# capacity. In ``selection`` every channel is a job of its own, and there is one server. Let some channels be
# on and some off, let ``left`` be what the former leave of the capacities, and price >= 0. Then nothing earns
# more than
#
#     sum price left  +  the means of those that are on  +  the most that each job earns besides,
#
# where any other channel that fits into ``left`` earns mean - price demand: the best channel of every task,
# and of these what is positive, or as many as the minimum needs. A job that need not run never earns less
# than 0. Or let a task pay u >= 0 for its channel, and a job get v >= 0 for each. Nothing earns more than
#
#     the most that every server earns by mean - u + v  +  sum u - v minimum of the jobs that run
#
# where any other job may run if that is positive, as x <= y for tasks, and minimum y <= sum x for jobs.

MOST_STATES = 2**24  # no table of the dynamic program becomes larger, times its channels, or 256


class Selection(Instance):
    """An instance of ``selection`` or ``selection-gang``: the port, job, task, ... of each channel."""

    def __init__(self, data: dict[str, Any]) -> None:
        super().__init__(data)
        at, self.gang = self.fields, data["problem"] == "selection-gang"
        self.mean = changed(at["mean"], Fraction)
        self.task = self.job = list(range(self.sizes["E"]))
        if self.gang:
            self.task, self.server = [q for q, _ in at["channels"]], [r for _, r in at["channels"]]
            self.port = self.job = [at["task_port"][q] for q in self.task]
            self.demand, self.capacity = [at["demand"][q] for q in self.task], at["capacity"]
            self.minimum, ports = at["minimum"], at["task_port"]
            need(all(map(le, ports, ports[1:])), "task_port: not ascending")
        else:
            self.port, self.server = [port for port, _ in at["edges"]], [0] * self.sizes["E"]
            self.demand, self.capacity = at["demand"], [at["capacity"]]
            self.minimum = [0] * self.sizes["E"]


class Slot:
    """What an arrival pattern leaves of an instance; means and prices are whole numbers of 1 / ``scale``."""

    def __init__(self, of: Selection, pattern: Sequence[int], scale: int) -> None:
        self.of, self.worth = of, multiples(of.mean, scale)
        self.jobs: dict[int, dict[int, list[int]]] = {}
        self.usable = [e for e, port in enumerate(of.port) if pattern[port]]
        for e in self.usable:
            self.jobs.setdefault(of.job[e], {}).setdefault(of.task[e], []).append(e)

    def left(self, on: Iterable[int]) -> list[list[int]]:
        """Return what channels that are on leave of the capacities."""
        left = [list(row) for row in self.of.capacity]
        for e in on:
            row = left[self.of.server[e]]
            row[:] = map(sub, row, self.of.demand[e])
        return left

    def value(self, on: list[int]) -> int:
        """Return what a set of channels earns; it is refused unless it keeps all constraints."""
        of, runs = self.of, Counter(self.of.job[e] for e in on)
        must(set(on) <= set(self.usable), "a channel of a port without a job is on")
        must(len({of.task[e] for e in on}) == len(on), "a task has two channels that are on")
        must(all(n >= of.minimum[job] for job, n in runs.items()), "a job runs less than its minimum")
        must(min(flat(self.left(on))) >= 0, "there are more demands than devices")
        return sum(self.worth[e] for e in on)

    def leaf(self, on: set[int], off: set[int], left: Any, price: Any) -> int | None:
        """Return what nothing exceeds by the prices of devices; ``None`` if nothing is feasible there."""
        total = sum(sum(map(mul, *rows)) for rows in zip(price, left, strict=True))
        for job, tasks in self.jobs.items():
            forced, gains = list[int](), list[int]()
            for options in tasks.values():
                here = [self.worth[e] for e in options if e in on]
                if len(here) > 1:
                    return None
                forced += here
                gains += [] if here else self.best_option(options, off, left, price)
            best = most_of_job(forced, gains, self.of.minimum[job], bool(forced))
            if best is None:
                return None
            total += best
        return total

    def best_option(self, options: list[int], off: set[int], left: Any, price: Any) -> list[int]:
        """Return in a list the most that a channel of a task earns at these prices; none if none fits."""
        of = self.of
        fit = [e for e in options if e not in off and all(map(le, of.demand[e], left[of.server[e]]))]
        gains = [self.worth[e] - sum(map(mul, of.demand[e], price[of.server[e]])) for e in fit]
        return [max(gains)] if gains else []

    def apart(self, on: set[int], off: set[int], left: Any, u: list[int], v: list[int]) -> int:
        """Return what nothing exceeds if tasks pay u and jobs get v."""
        of = self.of
        gain = {e: self.worth[e] - u[of.task[e]] + v[of.job[e]] for e in self.usable}
        total = sum(gain[e] for e in on)
        for job, tasks in self.jobs.items():
            runs = sum(u[task] for task in tasks) - v[job] * of.minimum[job]
            total += max(0, runs) if all(on.isdisjoint(options) for options in tasks.values()) else runs
        for server, room in enumerate(left):
            here = [e for e in self.usable if of.server[e] == server and e not in on | off and gain[e] > 0]
            total += self.best_set(here, gain, room)
        return total

    def bound(self, on: set[int], off: set[int], use: Any) -> int | None:
        """Return what nothing exceeds by prices of either kind; ``None`` if nothing is feasible."""
        left = self.left(on)
        if min(flat(left)) < 0:
            return None
        return self.apart(on, off, left, *use) if isinstance(use, tuple) else self.leaf(on, off, left, use)

    def tree(self, node: Any, prices: list[Any], name: str) -> int:
        """Return the largest bound of a tree's leaves; a branch is [channel, tree without it, tree with]."""

        def leaf(number: int, limits: dict[int, bool]) -> int | None:
            on, off = ({e for e, is_on in limits.items() if is_on == side} for side in (True, False))
            return self.bound(on, off, prices[number])

        return largest(node, {}, leaf, partial(off_or_on, self.usable), len(prices), name) or 0

    def table(self) -> int:
        """Return the optimum of ``selection``."""
        return self.best_set(self.usable, dict(enumerate(self.worth)), self.of.capacity[0])

    def best_set(self, channels: list[int], gain: dict[int, int], room: list[int]) -> int:
        """Return the most that channels earn on a server: the best for every amount of devices taken."""
        best = {(0,) * len(room): 0}
        for e in channels:
            for used, worth in list(best.items()):
                after = tuple(map(add, used, self.of.demand[e]))
                if all(map(le, after, room)):
                    best[after] = max(best.get(after, 0), worth + gain[e])
            need(len(best) * max(256, len(channels)) <= MOST_STATES, "proof.trees: a table is too large")
        return max(best.values())


def check_selection(data: dict[str, Any], _: str, decision: Any, proof: Any) -> Derived:
    """Check the channels that are on in each pattern, and a tree, or "table", which needs no proof."""
    of = Selection(data)
    apart = {"tasks": (of.sizes.get("Q", 0), "q"), "jobs": (of.sizes["L"], "q")}
    how: Any = {list: ((len(of.capacity), of.sizes["K"]), "q"), dict: ((), apart)}
    uses = [(use, how.get(type(use), how[list])) for use in proof["prices"]]
    prices = [numbers(use, f"proof.prices[{i}]", *way) for i, (use, way) in enumerate(uses)]
    scale = max((x.denominator for x in (*of.mean, *flat(prices))), default=1)  # all of them are powers of 2
    each = zip(multiples(prices, scale), uses, strict=True)
    whole = [tuple(rows) if isinstance(use, dict) else rows for rows, (use, _) in each]
    patterns = sorted(Counter(map(tuple, of.fields["arrivals"])).items())
    value = bound = 0
    need(len(patterns) == len(decision) == len(proof["trees"]), "decision, proof.trees: not one per pattern")
    for i, (pattern, times) in enumerate(patterns):
        slot, tree, name = Slot(of, pattern, scale), proof["trees"][i], f"proof.trees[{i}]"
        value += times * slot.value(numbers(decision[i], f"decision[{i}]", ("rows",), len(of.mean) - 1))
        bound += times * (slot.table() if tree == "table" and not of.gang else slot.tree(tree, whole, name))
    return Derived(of.digest, Fraction(value, scale), Fraction(bound, scale))


# Admission: what jobs pay for workers and parameter servers, and a tree
#
# Take a decision without what is of no use: jobs that are never done, more worker-slots than the work, more
# servers z(y) than y workers need. Let job i pay price[0][t][i] >= 0 for a worker in slot t, price[1][t][i]
# for a server. What jobs pay machines get, so that nothing earns more than
#
#     the sum over machines and slots of the most that they are paid: sum_i price n_i, whole n that fit there
#   + the sum over jobs of the most they earn less what they pay: f(c) - sum_t (price y_t + price z(y_t)),
#
# where a job has the empty cluster for itself until its work is done, in slot c, or does nothing. In a tree,
# the c of a job is in a range, T + 1 being never, or its y_t is; every leaf has prices of its own.

CONTENT = ("horizon", "resources", "worker_servers", "parameter_servers", "jobs", "announced")
COUNT = {"horizon": "c", "arrival": "c", "epochs": "w", "chunks": "c", "minibatches": "w"}
RATES = ("minibatch_time", "gradient_size", "worker_bandwidth", "server_bandwidth")
EARNS, EXP = ("priority", "decay", "target"), Context(60, Emin=-(10**6), Emax=10**6)
MOST_FILLS = 2**17  # in so many steps the best that fills all machines is found, or what nothing exceeds


def doubles(value: Any, whole: bool = False) -> Any:
    """Return a JSON value with doubles for its numbers, but for those of :data:`COUNT`."""
    if isinstance(value, dict):
        return {name: doubles(one, name in COUNT) for name, one in value.items()}
    if isinstance(value, list):
        return [doubles(one) for one in value]
    return value if whole or type(value) not in (int, float) else value + 0.0


def sigmoid(top: Fraction, x: Fraction) -> tuple[Fraction, Fraction]:
    """Enclose top / (1 + e^x): up to |x| = 2^10, 60 digits of e^x are off by less than 10^-50 of it."""
    near = max(Fraction(-(2**10)), min(x, Fraction(2**10)))
    power = Fraction(EXP.exp(EXP.divide(Decimal(near.numerator), Decimal(near.denominator))))
    low, high = (top / (1 + power * (1 + sign * bool(x) * Fraction(1, 10**50))) for sign in (1, -1))
    return (low if x <= near else Fraction(0)), (high if x >= near else top)


def within(order: list[Any], kept: set[int], has: int) -> int:
    """Return what (rate, place, price, limit, needs) bring at most, the best rates first, if parts count."""
    total = 0
    for _, place, price, most, a in order:
        if place in kept:
            if most * a > has:
                return total - -price * has // a
            total, has = total + most * price, has - most * a
    return total


def fullest(items: list[Any], left: list[int], steps: int) -> tuple[int, int]:
    """Return the most that whole (price, limit, needs) bring within ``left``, or a bound; and the steps."""
    each, number = list(enumerate(items)), 0
    orders = [sorted((Fraction(a[r], p), i, p, n, a[r]) for i, (p, n, a) in each) for r in range(len(left))]

    def state(kept: list[int], left: list[int], brought: int) -> tuple[Any, ...]:
        among = set(kept)
        more = min(within(order, among, has) for order, has in zip(orders, left, strict=True))
        # what nothing exceeds, with its sign turned; order; what may be added; what is left; what is brought
        return -brought - more, -number, kept, left, brought

    states = [state([*range(len(items))], left, 0)]
    while states[0][2]:
        _, _, kept, left, brought = states[0]
        price, limit, needs = items[kept[0]]
        most = min([limit, *(has // a for has, a in zip(left, needs, strict=True) if a)])
        if number + most >= steps:
            break
        heappop(states)
        for n in range(0 if any(needs) else most, most + 1):  # what needs nothing is in nobody's way
            number, room = number + 1, [has - n * a for has, a in zip(left, needs, strict=True)]
            rest = [i for i in kept[1:] if all(map(le, items[i][2], room))]
            heappush(states, state(rest, room, brought + n * price))
    return -states[0][0], number


class Admission:
    """An instance of ``admission``; what is earned or paid counts in 1 / ``scale``."""

    def __init__(self, data: dict[str, Any]) -> None:
        need(data.keys() - WITHOUT_EFFECT <= {*CONTENT}, "instance: unknown fields")
        content = {name: doubles(data[name], name in COUNT) for name in CONTENT if data.get(name) is not None}
        content["jobs"] = jobs = sorted(content["jobs"], key=itemgetter("arrival"))
        self.T = numbers(content["horizon"], "horizon", (), "c")
        for job in jobs:
            least = min(numbers((content | job)[name], name, (), kind) for name, kind in COUNT.items())
            fits = len(job) == 11 and len(job["utility"]) == 3 and 0 < least <= job["arrival"] <= self.T
            need(fits, "jobs: a 0, an arrival after the horizon, or unknown fields")
        hasher, width = hashlib.sha256(b"admission/1"), len(content["resources"])
        for name, value in content.items():
            text, rows = json.dumps(value, sort_keys=True), list[float]()
            if name in CONTENT[2:4]:
                rows = list(flat(numbers(value, name, (len(value), width))))
                text = f"({len(value)}, {width})f"
            hasher.update((name + text).encode() + struct.pack(f"<{len(rows)}d", *rows))
        self.digest, millionths = hasher.hexdigest()[:16], partial(decimals, unit=10**6)
        self.has = [changed(content[name], millionths) for name in CONTENT[2:4]]
        sides = ("worker_demand", "server_demand")
        self.needs = [[changed(job[side], millionths) for job in jobs] for side in sides]
        self.jobs, earned = [self._job(i, job) for i, job in enumerate(jobs)], list[Any]()
        for job in jobs:
            top, decay, target = (Fraction(numbers(job["utility"][x], x, (), "g")) for x in EARNS)
            need(top > 0, "jobs: a priority that is not above 0")
            delays = range(self.T + 1 - job["arrival"])
            earned.append([sigmoid(top, decay * (delay - target)) for delay in delays])
        least = min((high for one in earned for _, high in one), default=Fraction(1))
        scale = 2 ** max(0, BITS + least.denominator.bit_length() - least.numerator.bit_length())
        self.earned = [[(math.floor(a * scale), math.ceil(b * scale)) for a, b in one] for one in earned]
        self.scale, self.prices, self.steps = scale, list[Any](), 0
        self.paid, self.best = cache(self._paid), cache(self._best)

    def _job(self, i: int, job: dict[str, Any]) -> tuple[Any, ...]:
        """Return arrival, work, chunks, servers per worker; and the most of use on each machine in a slot."""
        tau, size, b, most = (Fraction(repr(numbers(job[name], name, (), "g"))) for name in RATES)
        work = math.ceil(job["epochs"] * job["chunks"] * job["minibatches"] * (tau + 2 * size / b))
        need(work > 0 and min(b, most) >= Fraction(1, 10**9), "jobs: no work, or a bandwidth below 1e-9")
        rooms, share = [], b / most
        for rows, needs in zip(self.has, self.needs, strict=True):
            fits = ([has // a for has, a in zip(row, needs[i], strict=True) if a] for row in rows)
            rooms.append([min([job["chunks"], *fit]) for fit in fits])
        tried = range(min(job["chunks"], work, sum(rooms[0])) + 1)
        y = max(y for y in tried if math.ceil(y * share) <= min(y, sum(rooms[1])))
        limits = zip(rooms, (y, math.ceil(y * share)), strict=True)
        rooms = [[min(room, limit) for room in row] for row, limit in limits]
        return job["arrival"], work, job["chunks"], share, y, rooms

    def value(self, decision: Any) -> int:
        """Return what rows (slot, job, machine, count) of workers, and of servers, earn; refuse others."""
        need(len(decision) == 2, "decision: not two lists of rows")
        counts, total = (Counter[Any](), Counter[Any]()), 0
        for side, rows in enumerate(decision):
            used, form = Counter[Any](), ["z", len(self.jobs) - 1, len(self.has[side]) - 1, "z"]
            for t, i, h, n in numbers(rows, f"decision[{side}]", ("rows",), form):
                counts[side][i, t] += n
                used.update({(t, h, r): n * a for r, a in enumerate(self.needs[side][i])})
            fits = all(n <= self.has[side][h][r] for (_, h, r), n in used.items())
            must(fits, "a machine has less than what runs on it takes")
        for i, (arrival, work, chunks, share, *_) in enumerate(self.jobs):
            done = 0
            for t in sorted(t for j, t in counts[0] | counts[1] if j == i):
                y, z = counts[0][i, t], counts[1][i, t]
                must(arrival <= t <= self.T and done < work, f"job {i} runs before its arrival, or when done")
                must(y <= chunks and y * share <= z <= y, f"job {i} has too many workers, or wrong servers")
                done += y
                total += self.earned[i][t - arrival][0] if done >= work else 0
            must(done == 0 or done >= work, f"job {i} runs, and is never done")
        return total

    def _paid(self, number: int) -> int:
        """Return the most that all machines are paid in all slots, or a bound."""
        total, steps = 0, MOST_FILLS // (self.T * sum(map(len, self.has)) or 1)
        for side, rows in enumerate(self.has):
            for (h, left), prices in product(enumerate(rows), self.prices[number][side]):
                every = zip(prices, (job[-1][side][h] for job in self.jobs), self.needs[side], strict=True)
                items = sorted((one for one in every if one[0]), key=itemgetter(0), reverse=True)
                most, taken = fullest(items, left, steps)
                total, self.steps = total + most, self.steps + taken
        return total

    def _best(self, number: int, i: int, limits: Any) -> int | None:
        """Return the most that a job earns less what it pays; ``None`` if it cannot keep its limits."""
        (arrival, work, _, share, most, _), within = self.jobs[i], dict(limits)
        first, last = within.pop((i,), (0, math.inf))
        first = max([first, *(t for (_, t), (low, _) in within.items() if low)])
        best = 0 if last > self.T and not any(low for low, _ in within.values()) else None
        pays = [[row[i] for row in rows] for rows in self.prices[number]]
        never, reach = 1 + most * sum(flat(pays)), 0  # more than it ever pays
        costs = [0] + [never] * work if never > 1 else []  # of so much work, or more, in the slots so far
        for t in range(arrival, min(last, self.T) + 1):
            low, high = within.get((i, t), (0, most))
            tried = range(low, min(high, most) + 1)
            if not tried:
                return best
            reach += tried[-1]
            if costs:
                table = [[never] * (work + 1)]
                for y in tried:
                    cost = y * pays[0][t - 1] + math.ceil(y * share) * pays[1][t - 1]
                    table.append([cost + before for before in [costs[0]] * y + costs[: work + 1 - y]])
                costs = list(map(min, *table))
            if t >= first and reach >= work:
                gain = self.earned[i][t - arrival][1] - (costs[work] if costs else 0)
                best = gain if best is None else max(best, gain)
        return best

    def leaf(self, number: int, limits: dict[Any, Any]) -> int | None:
        """Return what nothing exceeds by the prices of a leaf; ``None`` if a job cannot keep its limits."""
        mine = [tuple(one for one in limits.items() if one[0][0] == i) for i in range(len(self.jobs))]
        parts = [self.paid(number), *(self.best(number, i, limit) for i, limit in enumerate(mine))]
        return None if None in parts else sum(part or 0 for part in parts)

    def sides(self, what: Any, limits: dict[Any, Any], name: str) -> tuple[dict[Any, Any], dict[Any, Any]]:
        """Return the limits of a job's last slot, or of its workers in a slot: at most n, and more."""
        *key, n = numbers(what, name, (), [len(self.jobs) - 1, *[self.T][: len(what) - 2], "z"])
        least, most = limits.get(tuple(key), (0, math.inf))
        return {tuple(key): (least, min(most, n))}, {tuple(key): (max(least, n + 1), most)}


def check_admission(data: dict[str, Any], _: str, decision: Any, proof: Any) -> Derived:
    """Check rows of a schedule, and a tree with prices [side][slot][job]."""
    of = Admission(data)
    prices = numbers(proof["prices"], "proof.prices", ("rows", 2, of.T, len(of.jobs)), "q")
    of.prices = multiples(prices, of.scale)
    bound = largest(proof["tree"], {}, of.leaf, of.sides, len(of.prices), "proof.tree") or 0
    return Derived(of.digest, Fraction(of.value(decision), of.scale), Fraction(bound, of.scale))


# Placement: prices of capacity over time, and a search through all decisions
#
# From any state at tick t on, whatever the prices p >= 0 of a unit of every resource in every tick,
#
#     sum of ends  >=  sum_j min_{s >= max(t, r_j)} (s + d_j + int_s^{s + d_j} p a_j)  -  int_t p c
#
# because a job that needs a_j takes d_j ticks at least, and jobs never hold more than all machines have, c.
# One that runs has s = t, and takes what is left of its work at full speed.

NEEDS = ("gpus", "cpus", "memory")
MOST_STEPS = 2**18  # no search takes more steps, nor tries more ways to place a job


class Run(NamedTuple):
    """A simulation at an event. A running job has instances on machines, and millionths of ticks of work."""

    now: int = 0
    cost: int = 0  # in millionths of a second
    coming: int = 0  # the next job to be submitted
    waiting: tuple[int, ...] = ()
    running: tuple[tuple[int, dict[int, int], int], ...] = ()


class Placement(Instance):
    """An instance of ``placement``, its jobs by submission, with prices in whole numbers of 1 / ``scale``."""

    def __init__(self, data: dict[str, Any], proof: Any) -> None:
        def units(row: dict[str, Any], name: str) -> Any:
            whole = name in ("gpus", "instances")
            found = numbers(row[name], name, (), "d" if whole else "g")
            return found if whole else decimals(found, 1000)

        given = {"gpu_weight": 0, "window": 64} | data
        jobs = [{"intensity": 1} | job for job in sorted(given.pop("jobs"), key=itemgetter("submit"))]
        known = {"submit", "duration", "instances", "intensity"}
        rows, slower = data["machines"], data["slowdown"]
        names = {*known, *(name for job in jobs for name in job)}
        need(names - known <= {"estimate", *NEEDS}, "jobs: unknown fields")
        need(all(len(row) == 3 for row in rows) and len(slower) == 2, "machines, slowdown: unknown fields")
        given |= {name: [units(job, name) for job in jobs] for name in names.difference(NEEDS)}
        for name, some in (("need", jobs), ("machines", rows)):
            given[name] = [[units(row, resource) for resource in NEEDS] for row in some]
        given["slowdown"] = {x: numbers(slower[x], x, (), "x") for x in ("communication", "contention")}
        super().__init__(given)
        at = self.fields
        self.machines, self.need, self.instances = at["machines"], at["need"], at["instances"]
        self.submit, self.duration, self.beta = at["submit"], at["duration"], at["intensity"]
        (self.kappa, self.eta), self.window = at["slowdown"].values(), at["window"]
        need(min([self.window, *self.duration, *self.instances]) > 0, "window, duration or instances: 0")
        self.kinds = [*zip(self.duration, self.instances, self.need, self.beta, strict=True)]
        self.weight, self.steps = decimals(at["gpu_weight"], 1000), 0
        self.asked = [tuple(n * a for a in row) for n, row in zip(self.instances, self.need, strict=True)]
        self.all = tuple(map(sum, zip(*self.machines, strict=True)))
        self.times = numbers(proof["times"], "proof.times", ("rows",), "z")
        need(self.times[:1] == [0] and all(map(lt, self.times, self.times[1:])), "proof.times: not ascending")
        prices = numbers(proof["prices"], "proof.prices", (len(self.times) - 1, 3), "q")
        self.scale = max((p.denominator for p in flat(prices)), default=1)
        whole = multiples(prices, self.scale)
        self.tables = {asked: self._table(asked, whole) for asked in {self.all, *self.asked}}

    def _table(self, asked: tuple[int, ...], prices: list[list[int]]) -> tuple[list[int], list[int]]:
        """Return what amounts pay in a tick from each of the times on, and what they have paid until then."""
        rates = [*(sum(map(mul, asked, row)) for row in prices), 0]
        return rates, [0, *accumulate(map(mul, rates, map(sub, self.times[1:], self.times)))]

    def free(self, run: Run) -> list[list[int]]:
        """Return what is free on each machine."""
        free = [*self.machines]
        for job, k, n in ((job, k, n) for job, on, _ in run.running for k, n in on.items()):
            free[k] = [f - n * a for f, a in zip(free[k], self.need[job], strict=True)]
        return free

    def rooms(self, job: int, free: list[list[int]]) -> list[int]:
        """Return how many instances of a job fit into what is free on each machine."""
        most, asks = self.instances[job], self.need[job]
        return [min([most, *(f // a for f, a in zip(row, asks, strict=True) if a)]) for row in free]

    def started(self, run: Run, job: int, on: dict[int, int]) -> Run:
        """Return the simulation with a job that starts now, so many instances on each machine."""
        whole = sum(on.values()) == self.instances[job] and min(on.values()) > 0
        must(whole, f"job {job} does not start whole")
        most = accumulate(sorted(self.rooms(job, self.machines), reverse=True))
        fewest = 1 + sum(instances < self.instances[job] for instances in most)
        a, b = (1.0 + self.kappa * (K - 1) / K for K in (len(on), fewest))
        work = 10**6 * math.floor(self.duration[job] * (a / b) + 0.5)
        waiting = tuple(other for other in run.waiting if other != job)
        run = run._replace(waiting=waiting, running=(*run.running, (job, on, work)))
        must(min(flat(self.free(run))) >= 0, f"job {job} does not start where it fits")
        return run

    def after(self, run: Run) -> Run | None:
        """Return the simulation at the next end or submission, if there is one."""
        load, work = Counter[int](), []
        for job, on, _ in run.running:
            load.update({k: self.beta[job] * self.need[job][0] * count for k, count in on.items()})
        for job, on, left in run.running:  # the format states the order of these operations
            others = {k: load[k] - self.beta[job] * self.need[job][0] * count for k, count in on.items()}
            shares = [x / (1000 * self.machines[k][0]) for k, x in others.items() if x]
            slower = [1.0 + self.eta * (self.beta[job] / 1000) * share for share in shares]
            work.append((job, on, left, math.floor(10**6 / max(slower, default=1.0))))
        events = [run.now - -left // rate for _, _, left, rate in work]
        events += self.submit[run.coming : run.coming + 1]
        if not events:
            return None
        now, time = min(events), min(events) - run.now
        costs = 1000 * (len(run.waiting) + len(work)) + self.weight * sum(self.asked[x[0]][0] for x in work)
        running = tuple((job, on, left - time * rate) for job, on, left, rate in work if left > time * rate)
        coming = bisect_right(self.submit, now)
        waiting = (*run.waiting, *range(run.coming, coming))
        return Run(now, run.cost + time * costs, coming, waiting, running)

    def ways(self, run: Run, job: int) -> list[dict[int, int]]:
        """Return the ways to place a job; machines that are equal, and hold the same, may change places."""
        alike = [str((row, [on.get(k) for _, on, _ in run.running])) for k, row in enumerate(self.machines)]
        counts = [range(room + 1) for room in self.rooms(job, self.free(run))]
        must(math.prod(map(len, counts)) <= MOST_STEPS, "there are too many ways to place a job")
        ways = [way for way in product(*counts) if sum(way) == self.instances[job]]
        unlike = {tuple(sorted(zip(alike, way, strict=True))): way for way in ways}
        return [{k: count for k, count in enumerate(way) if count} for way in unlike.values()]

    def paid(self, asked: tuple[int, ...], start: int, end: int) -> int:
        """Return what amounts pay from a start to an end."""
        (rates, sums), times = self.tables[asked], self.times
        i, j = bisect_right(times, start) - 1, bisect_right(times, end) - 1
        return sums[j] + rates[j] * (end - times[j]) - sums[i] - rates[i] * (start - times[i])

    def end(self, job: int, start: int, time: int) -> int:
        """Return the end of a job that takes so long, and what it pays."""
        return (start + time) * self.scale + self.paid(self.asked[job], start, start + time)

    def least(self, job: int, first: int, time: int) -> int:
        """Return the least of this, from a first start on: there, or where a price changes at one end."""
        found, times = self.end(job, first, time), self.times
        last = found // self.scale - time  # what starts later ends later, whatever it pays
        starts = times[bisect_right(times, first) : bisect_right(times, last)]
        ends = times[bisect_right(times, first + time) : bisect_right(times, last + time)]
        return min([found, *(self.end(job, s, time) for s in (*starts, *(end - time for end in ends)))])

    def bound(self, run: Run) -> int:
        """Return what no schedule costs less than that goes on from here, in millionths of a second."""
        parts = [(job, run.now, -(-left // 10**6)) for job, _, left in run.running]
        total = sum(self.end(*part) for part in parts)
        for job in (*run.waiting, *range(run.coming, len(self.submit))):
            parts.append((job, max(run.now, self.submit[job]), self.duration[job]))
            total += self.least(*parts[-1])
        total -= self.scale * sum(start for _, start, _ in parts)
        total -= self.paid(self.all, run.now, max(run.now, self.times[-1]))
        ticks = max(sum(time for _, _, time in parts), -(-total // self.scale))
        return run.cost + 1000 * ticks + self.weight * sum(self.asked[job][0] * t for job, _, t in parts)

    def search(self, enough: int) -> int:
        """Return the least that a schedule costs, or ``enough`` if that is less."""
        states, least = [(Run(), tuple[int, ...]())], enough  # and which of those that wait may start now
        while states:
            run, jobs = states.pop()
            self.steps += 1
            must(self.steps <= MOST_STEPS, "the search takes too many steps")
            if jobs:
                states += [(self.started(run, jobs[0], on), jobs[1:]) for on in self.ways(run, jobs[0])]
                # who waits may change places with an equal one that starts: let that one wait as well
                states.append((run, tuple(job for job in jobs if self.kinds[job] != self.kinds[jobs[0]])))
            elif (after := self.after(run)) is None:
                least = least if run.waiting else min(least, run.cost)
            elif self.bound(after) < least:
                states.append((after, after.waiting[: self.window]))
        return least


def check_placement(data: dict[str, Any], _: str, decision: Any, proof: Any) -> Derived:
    """Check a schedule: for every job its start, and pairs of a machine and so many instances."""
    of, run = Placement(data, proof), Run()
    form = {0: ("z",), 1: ("rows", [len(of.machines) - 1, "z"])}
    starts = numbers(decision, "decision", (len(of.submit),), form)
    while (after := of.after(run)) is not None:
        run = after
        for job in after.waiting[: of.window]:
            if starts[job][0] == after.now:
                need(len(dict(starts[job][1])) == len(starts[job][1]), "decision: a machine stands twice")
                run = of.started(run, job, dict(starts[job][1]))
    must(not run.waiting, f"job {min(run.waiting, default=0)} does not start when it may")
    searched = numbers(proof["search"], "proof.search", (), "b")
    least = of.search(run.cost) if searched else min(of.bound(Run()), run.cost)
    return Derived(of.digest, Fraction(run.cost, 10**6), Fraction(least, 10**6))


# Statements


class Derived(NamedTuple):
    """What a checker derives."""

    digest: str  # of the instance
    value: Fraction
    bound: Fraction


CHECKERS: dict[str, dict[str, Callable[[dict[str, Any], str, Any, Any], Derived]]] = {
    "allocation": {"stationary": check_allocation, "dynamic": check_allocation},
    "allocation-gang": {"gang": check_allocation_gang},
    "selection": {"clairvoyant": check_selection},
    "selection-gang": {"gang": check_selection},
    "admission": {"offline": check_admission},
    "placement": {"offline": check_placement},
}

LISTS = {"decision", "prices", "price", "times", "trees", "w"}  # and what else of a certificate is none
# what comes of files that hold something else than they should, wherever that is met
MALFORMED = (ArithmeticError, AttributeError, LookupError, MemoryError, RecursionError, TypeError, ValueError)


def derive(data: Any, certificate: Any) -> Statement:
    """Return the statement that a certificate proves, whatever it claims; see :func:`check`."""
    try:
        need(certificate.keys() == set(FIELDS), f"certificate: its fields are not {', '.join(FIELDS)}")
        versions = [numbers(one["version"], "version", (), "z") for one in (certificate, data)]
        need(versions == [VERSION, 1], f"version: {versions}, not {[VERSION, 1]}")
        need(f"{data['problem']}" in CHECKERS, f"instance: not of a problem among {', '.join(CHECKERS)}")
        problem, oracle, proof = data["problem"], certificate["oracle"], certificate["proof"]
        must(certificate["problem"] == problem, f"it is not of the problem {problem}")
        need(f"{oracle}" in CHECKERS[problem], f"oracle: not one of {', '.join(CHECKERS[problem])}")
        need(isinstance(proof, dict), "proof: not an object")
        for name, rows in (certificate | proof).items():
            need(isinstance(rows, list) or name not in LISTS, f"certificate: {name}: not a list")
        found = CHECKERS[problem][oracle](data, oracle, certificate["decision"], proof)
    except (*MALFORMED, struct.error) as error:
        why = f"lacks {error}" if type(error) is KeyError else f"has another form ({type(error).__name__})"
        raise UnreadableError(f"not a certificate, or not an instance: a part {why}") from error
    must(certificate["digest"] == found.digest, f"it is not of the instance {found.digest}")
    costs = problem in MINIMISED
    low, high = (found.bound, found.value) if costs else (found.value, found.bound)
    must(low <= high, "the value is beyond the bound")  # what cannot be, unless this program is wrong
    gap = (high - low) / max(abs(low), abs(high)) if low < high else Fraction(0)
    ends = decimal(found.value, up=costs), decimal(found.bound, up=not costs)
    return Statement(problem, oracle, found.digest, *ends, decimal(gap, up=True, digits=3))


def check(data: Any, certificate: Any) -> Statement:
    """Return the statement of a certificate that proves what it claims; refuse any other, with a reason."""
    statement = derive(data, certificate)
    must(certificate["claims"] == statement.claims, f"it proves {statement.claims}, not what it claims")
    return statement


def main(arguments: Sequence[str]) -> int:
    """Check a certificate, print what was found, and return the exit status."""
    try:
        need(len(arguments) == 2, "usage: verify.py FILE CERTIFICATE")
        print("\n".join(check(*map(read_object, arguments)).lines))
    except (RejectedError, UnreadableError) as error:
        bad = isinstance(error, UnreadableError)
        print(f"{'error' if bad else 'rejected'}: {error}", file=sys.stderr if bad else sys.stdout)
        return 1 + bad
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
