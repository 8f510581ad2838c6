"""The proofs of the selection problem in the VIPR format, which the public checkers of 0/1 programs read.

A file has the 0/1 program of one arrival pattern, all numbers exact, and derives the tree of its certificate
line by line. Columns are channels and, where jobs have minima, jobs (x and y); rows are::

    0 <= x <= 1,    0 <= y <= 1,    both <= 0 where no job arrived
    sum_e a x <= c                  for every server and kind
    sum of a task's x <= y          for every task of a job
    sum of a job's x >= m y         for every job

A leaf is a linear combination: of the capacities by their prices, of a job's rows by multipliers that bear
its part of the leaf's bound, and of bounds, which absorb what each column still lacks. Where tasks pay and
jobs get, there is instead of the capacities of a server what its channels earn at most, derived by branching.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator
from fractions import Fraction
from operator import le, mul, sub
from typing import Any, NamedTuple

from ...models.selection.instance import ChannelInstance
from ...verify import Selection, Slot
from ..base import Optimum
from ..deep import unrolled
from .certificate import Proof


def of_slots(instance: ChannelInstance, optimum: Optimum[Any]) -> Iterator[tuple[str, str]]:
    """Yield the name and the text of a file for every arrival pattern, in the order of the certificate."""
    of = Selection(instance.to_dict())
    proof = Proof(of, tables=False)
    for number, (pattern, times, on, tree) in enumerate(proof.of_patterns(instance, optimum)):
        told = [
            f"instance {of.digest}, {instance.problem}/{optimum.oracle}",
            f"pattern {number}: arrivals {pattern}, in {times} slots",
        ]
        yield (
            f"{of.digest}-pattern-{number}.vipr",
            ViprFile(of, pattern, proof.whole, proof.scale).text(told, on, tree),
        )


class _Bound(NamedTuple):
    """A limit of a column: the number of its line, and the limit."""

    line: int
    limit: int


class _Row(NamedTuple):
    """A row of the program: entries by column, "L" for at most or "G" for at least, and the right side."""

    entries: dict[int, int]
    sense: str
    right: int


class _Branch(NamedTuple):
    """What is assumed at a node: channels that are on or off, and the lines of these assumptions."""

    on: dict[int, int]
    off: dict[int, int]


class ViprFile:
    """The program of a slot, and the lines that were derived."""

    def __init__(self, of: Selection, pattern: list[int], prices: list[Any], scale: int) -> None:
        self._of, self._slot, self._prices, self._scale = of, Slot(of, pattern, scale), prices, scale
        self._derived, self._servers = list[str](), dict[int, _Row]()
        self._jobs = of.sizes["L"] if of.gang else 0
        self._columns = len(of.mean) + self._jobs
        self._upper = [pattern[port] for port in [*of.port, *range(self._jobs)]]
        self._rows = [
            *(_Row({j: 1}, "G", 0) for j in range(self._columns)),
            *(_Row({j: 1}, "L", most) for j, most in enumerate(self._upper)),
        ]
        self._capacity: dict[tuple[int, int], int] = {}
        for r, row in enumerate(of.capacity):
            for k, most in enumerate(row):
                takes = {e: of.demand[e][k] for e, at in enumerate(of.server) if at == r and of.demand[e][k]}
                self._capacity[r, k] = self._add(_Row(takes, "L", most))
        self._tasks: dict[int, dict[int, list[int]]] = {job: {} for job in range(self._jobs)}
        for e in range(len(of.mean)) if of.gang else ():
            self._tasks[of.job[e]].setdefault(of.task[e], []).append(e)
        self._once, self._least = dict[int, int](), dict[int, int]()
        for job, tasks in self._tasks.items():
            y = len(of.mean) + job
            for task, options in tasks.items():
                self._once[task] = self._add(_Row(dict.fromkeys(options, 1) | {y: -1}, "L", 0))
            runs = dict.fromkeys((e for options in tasks.values() for e in options), 1)
            self._least[job] = self._add(_Row(runs | {y: -of.minimum[job]}, "G", 0))

    def _add(self, row: _Row) -> int:
        self._rows.append(row)
        return len(self._rows) - 1

    # The file

    def text(self, told: list[str], on: list[int], tree: Any) -> str:
        """Return the file of a tree, and of these channels as the solution."""
        of, count = self._of, len(self._of.mean)
        _, bound = unrolled(self._node(tree, _Branch({}, {})))
        names = [f"x{e}" for e in range(count)] + [f"y{job}" for job in range(self._jobs)]
        runs = sorted({count + of.job[e] for e in on}) if of.gang else []
        value = Fraction(self._slot.value(on), self._scale)
        return "\n".join(
            [
                *(f"% {line}" for line in told),
                "VER 1.0",
                f"VAR {self._columns}",
                *names,
                f"INT {self._columns}",
                *map(str, range(self._columns)),
                "OBJ max",
                _pairs((e, mean) for e, mean in enumerate(of.mean) if mean),
                f"CON {len(self._rows)} {2 * self._columns}",
                *(
                    f"C{i} {row.sense} {row.right} {_pairs(row.entries.items())}"
                    for i, row in enumerate(self._rows)
                ),
                f"RTP range {value} {Fraction(bound, self._scale)}",
                "SOL 1",
                f"best {_pairs((column, 1) for column in [*on, *runs])}",
                f"DER {len(self._derived)}",
                *self._derived,
                "",
            ]
        )

    def _derive(self, constraint: str, reason: str) -> int:
        number = len(self._rows) + len(self._derived)
        self._derived.append(f"D{number} {constraint} {{ {reason} }} -1")
        return number

    # The tree

    def _node(self, node: Any, at: _Branch) -> Generator[Any, Any, tuple[int, int]]:
        """Derive the bound of a node; return its line and the bound, which a contradiction has below 0."""
        if not isinstance(node, list):
            return self._leaf(self._prices[node], at)
        channel, off_tree, on_tree = node
        off = self._derive(f"L 0 1 {channel} 1", "asm")
        without, low = yield self._node(off_tree, at._replace(off=at.off | {channel: off}))
        on = self._derive(f"G 1 1 {channel} 1", "asm")
        within, high = yield self._node(on_tree, at._replace(on=at.on | {channel: on}))
        bound = max(low, high)
        says = "L -1 0" if bound < 0 else f"L {Fraction(bound, self._scale)} OBJ"
        return self._derive(says, f"uns {without} {off} {within} {on}"), bound

    def _leaf(self, price: Any, at: _Branch) -> tuple[int, int]:
        """Derive the bound of a leaf by its prices, or by what tasks pay and jobs get; all are whole."""
        slot, left = self._slot, self._slot.left(at.on)
        for (r, k), line in self._capacity.items():
            if left[r][k] < 0:
                return self._contradiction({line: 1}, at, left)
        for job in slot.jobs if self._jobs else ():
            found = self._contradicted(job, at, left)
            if found:
                return self._contradiction(found, at, left)
        if isinstance(price, tuple):
            total = self._apart(price, at, left)
        else:
            total = {line: price[r][k] for (r, k), line in self._capacity.items()}
            for job in slot.jobs if self._jobs else ():
                total |= self._of_job(job, at, left, price)
        bound = slot.bound({*at.on}, {*at.off}, price)
        if bound is not None and bound < 0:  # nothing earns less than 0
            return self._contradiction(total, at, left)
        return self._combine(total, [*slot.worth, *[0] * self._jobs], at, left)

    def _free(self, e: int, at: _Branch, left: list[list[int]]) -> bool:
        """Return whether a channel that is not on may be: its job is there, and it fits."""
        of = self._of
        return bool(self._upper[e]) and e not in at.off and all(map(le, of.demand[e], left[of.server[e]]))

    def _contradicted(self, job: int, at: _Branch, left: list[list[int]]) -> dict[int, int]:
        """Return multipliers that refute what is on of a job: two for a task, or a job that is too small."""
        tasks = self._tasks[job]
        running = [q for q, options in tasks.items() if not at.on.keys().isdisjoint(options)]
        for q in running:
            if sum(e in at.on for e in tasks[q]) > 1:
                return {self._once[q]: 1}
        able = {q for q, options in tasks.items() if any(self._free(e, at, left) for e in options)}
        short = self._of.minimum[job] - len(able | {*running})
        if not running or short <= 0:
            return {}
        rows = {self._once[q]: 1 for q in able | {*running}}
        rows[self._once[running[0]]] += short
        return rows | {self._least[job]: -1}

    def _of_job(self, job: int, at: _Branch, left: list[list[int]], price: list[list[int]]) -> dict[int, int]:
        """Return multipliers u of a job's tasks and v of its minimum that bear its part of the bound.

        With gains mean - price demand, u of a task is at least gain + v of every channel that may be on, and
        the job costs sum u - v m, if that is positive or the job runs anyway.
        """
        of, slot = self._of, self._slot
        most: dict[int, int] = {}
        running = []
        for q, options in self._tasks[job].items():
            able = [e for e in options if self._free(e, at, left)]
            gains = [
                slot.worth[e] - sum(map(mul, of.demand[e], price[of.server[e]]))
                for e in able
                if e not in at.on
            ]
            if not at.on.keys().isdisjoint(options):
                running.append(q)
            if gains:
                most[q] = max(gains)
        gains = sorted((gain for q, gain in most.items() if q not in running), reverse=True)
        missing, v = of.minimum[job] - len(running), 0
        if 0 < missing <= len(gains):
            v = max(0, -gains[missing - 1])
        elif missing > 0:  # too few tasks are left: it does not run
            v = max(0, *(-gain for gain in gains), -(-sum(gains) // (missing - len(gains)))) if gains else 0
        u = {q: max(0, gain + v) for q, gain in most.items()}
        short = v * of.minimum[job] - sum(u.values())
        if running and short > 0:  # what the job lacks is paid by a channel that is on
            u[running[0]] = u.get(running[0], 0) + short
        return {self._once[q]: n for q, n in u.items()} | {self._least[job]: -v}

    def _apart(
        self, price: tuple[list[int], list[int]], at: _Branch, left: list[list[int]]
    ) -> dict[int, int]:
        """Return multipliers that bear the bound of a leaf by what tasks pay and jobs get."""
        u, v = price
        of, slot, rows = self._of, self._slot, dict[int, int]()
        gain = [0] * self._columns
        for e in slot.usable:
            gain[e] = slot.worth[e] - u[of.task[e]] + v[of.job[e]]
        for server in range(len(left)):
            own = [n if e < len(of.server) and of.server[e] == server else 0 for e, n in enumerate(gain)]
            if any(own):
                line, most = unrolled(self._on_server(server, own, at, left))
                self._servers[line] = _Row({e: n for e, n in enumerate(own) if n}, "L", most)
                rows[line] = 1
        for job, tasks in slot.jobs.items():
            rows |= {self._once[q]: u[q] for q in tasks} | {self._least[job]: -v[job]}
            short = v[job] * of.minimum[job] - sum(u[q] for q in tasks)
            running = [q for q, options in tasks.items() if not at.on.keys().isdisjoint(options)]
            if running and short > 0:  # what the job lacks is paid by a channel that is on
                rows[self._once[running[0]]] += short
        return rows

    def _on_server(
        self, server: int, gain: list[int], at: _Branch, left: list[list[int]]
    ) -> Generator[Any, Any, tuple[int, int]]:
        """Derive the most that the channels of a server earn: by branching, until all that may be on fits."""
        of, told = self._of, _pairs((e, n) for e, n in enumerate(gain) if n)
        able = [e for e, n in enumerate(gain) if n > 0 and e not in at.on and self._free(e, at, left)]
        needs = [sum(of.demand[e][k] for e in able) for k in range(of.sizes["K"])]
        if all(map(le, needs, left[server])):
            return self._combine({}, gain, at, left, says=f"L {{}} {told}", scale=1)
        channel = max(able, key=lambda e: gain[e])
        off = self._derive(f"L 0 1 {channel} 1", "asm")
        without, low = yield self._on_server(server, gain, at._replace(off=at.off | {channel: off}), left)
        on = self._derive(f"G 1 1 {channel} 1", "asm")
        less = [*left[:server], [*map(sub, left[server], of.demand[channel])], *left[server + 1 :]]
        within, high = yield self._on_server(server, gain, at._replace(on=at.on | {channel: on}), less)
        bound = max(low, high)
        return self._derive(f"L {bound} {told}", f"uns {without} {off} {within} {on}"), bound

    # Linear combinations

    def _contradiction(self, rows: dict[int, int], at: _Branch, left: list[list[int]]) -> tuple[int, int]:
        return self._combine(rows, [0] * self._columns, at, left, says="L {} 0", scale=1)

    def _combine(
        self,
        rows: dict[int, int],
        target: list[int],
        at: _Branch,
        left: list[list[int]],
        says: str = "L {} OBJ",
        scale: int = 0,
    ) -> tuple[int, int]:
        """Derive that ``target`` is at most what rows and bounds give; return the line and that number."""
        lacks, bound = list(target), 0
        for line, factor in rows.items():
            row = self._rows[line] if line < len(self._rows) else self._servers[line]
            bound += factor * row.right
            for column, entry in row.entries.items():
                lacks[column] -= factor * entry
        total = {line: factor for line, factor in rows.items() if factor}
        for column, lack in enumerate(lacks):
            if lack:
                limit = self._above(column, at, left) if lack > 0 else self._below(column, at)
                total[limit.line] = lack
                bound += lack * limit.limit
        unit = scale or self._scale
        reason = _pairs((line, Fraction(factor, unit)) for line, factor in total.items())
        return self._derive(says.format(Fraction(bound, unit)), f"lin {reason}"), bound

    def _below(self, column: int, at: _Branch) -> _Bound:
        return _Bound(at.on[column], 1) if column in at.on else _Bound(column, 0)

    def _above(self, column: int, at: _Branch, left: list[list[int]]) -> _Bound:
        """Return the least upper limit of a column; that of a channel that does not fit is derived."""
        of = self._of
        if column in at.off:
            return _Bound(at.off[column], 0)
        known = _Bound(self._columns + column, self._upper[column])
        if column in at.on or not known.limit or column >= len(of.mean):
            return known
        for k, (takes, room) in enumerate(zip(of.demand[column], left[of.server[column]], strict=True)):
            if takes > room:
                return self._no_room(column, self._capacity[of.server[column], k], at)
        return known

    def _no_room(self, column: int, line: int, at: _Branch) -> _Bound:
        """Derive that a channel is off: its share of what is left of a capacity, rounded down, is 0."""
        entries = self._rows[line].entries
        used = {
            self._below(e, at).line: Fraction(-a, entries[column]) for e, a in entries.items() if e != column
        }
        reason = _pairs(({line: Fraction(1, entries[column])} | used).items())
        return _Bound(self._derive(f"L 0 1 {column} 1", f"rnd {reason}"), 0)


def _pairs(entries: Iterable[tuple[int, Any]]) -> str:
    """Return the number of pairs, and the pairs."""
    told = [f"{index} {number}" for index, number in entries]
    return " ".join([str(len(told)), *told])
