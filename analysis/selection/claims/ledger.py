"""What of the paper and its slides which claim is about, item by item; or a few words on why none is."""

from __future__ import annotations

DEFINES = "defines"

EQUATIONS: dict[int, tuple[str, ...] | str] = {
    1: DEFINES,
    2: DEFINES,
    3: DEFINES,
    4: DEFINES,
    5: ("expectation-5",),
    6: DEFINES,
    7: ("costs", "unit-interval"),
    8: DEFINES,
    9: ("unbiased", "matrix-13"),
    10: ("infinite-sigma",),
    11: DEFINES,
    12: DEFINES,
    13: ("matrix-13",),
    14: DEFINES,
    15: ("inequality-15", "chebyshev"),
    16: ("unit-interval", "rounding"),
    17: ("infinite-sigma",),
    18: ("truncated-s",),
    19: ("truncated-s", "unit-interval"),
    20: DEFINES,
    21: ("unattainable-s",),
    22: DEFINES,
    23: ("recursion",),
    24: ("recursion",),
    25: ("recursion",),
    26: ("recursion",),
    27: ("recursion",),
    28: ("theorem-1",),
    29: DEFINES,
    30: ("rounding",),
    31: ("chain-32",),
    32: ("chain-32",),
    33: ("all-ports",),
    34: ("all-ports", "chernoff-step"),
    35: ("all-ports",),
    36: ("index-error",),
    37: ("index-error",),
    38: ("theorem-2", "theorem-2-arrival-aware", "theorem-2-condition", "theorem-2-symbols"),
    39: ("theorem-2-symbols",),
    40: ("theorem-2-symbols", "theorem-2-condition"),
}
"""By number: ids without the problem, or why there is none."""

FIGURES: dict[int, tuple[str, ...] | str] = {
    1: "a drawing of the model",
    2: ("figure-2", "improvements", "hswf-strategy"),
    3: ("figure-3",),
    4: ("figure-4", "figure-4-oracle"),
    5: ("figure-5",),
    6: ("figure-6",),
    7: ("figure-7",),
    8: ("figure-8",),
    9: ("figure-9",),
    10: ("figure-10",),
    11: ("figure-11",),
    12: ("figure-12", "leading-position"),
    13: ("figure-13",),
}

TABLES: dict[int, tuple[str, ...] | str] = {
    1: DEFINES,
    2: ("p1-p2",),
    3: ("table-3", "alpha", "costs"),
}

ALGORITHMS: dict[int, tuple[str, ...] | str] = {
    1: ("theorem-2", "infinite-sigma"),
    2: ("algorithm-2", "algorithm-2-complexity", "unattainable-s", "infinite-sigma"),
}

THEOREMS: dict[int, tuple[str, ...] | str] = {
    1: ("theorem-1",),
    2: ("theorem-2", "theorem-2-arrival-aware"),
}

FOOTNOTES: dict[int, tuple[str, ...] | str] = {
    1: ("footnote-1",),
    2: "defines m_l(t)",
    3: "an address",
}

TEXT: dict[str, tuple[str, ...] | str] = {
    "P1, P2": ("p1-p2",),
    "P3": ("p3-np-hard",),
    "P4": ("chain-32",),
    "P5": ("recursion",),
    "Abstract": ("improvements", "theorem-2"),
    "Sec. 1": "shares of jobs in a trace that is not here; related work",
    "Sec. 3.4": ("gang-literal", "gang-sound"),
    "Sec. 4, baselines": ("baselines", "heuristics"),
    "Sec. 5": "related work",
    "slides, P1 as a minimum": ("slides-minimum",),
    "slides, the rest": "as the paper, with other numbers",
}
"""What has no number."""

LEDGER = {
    "equation": EQUATIONS,
    "figure": FIGURES,
    "table": TABLES,
    "algorithm": ALGORITHMS,
    "theorem": THEOREMS,
    "footnote": FOOTNOTES,
}
"""Everything that is numbered."""
