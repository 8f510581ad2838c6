"""What no claim's ``where`` says of what the OGASched paper numbers: more claims, or why there is none."""

LEDGER: dict[str, tuple[str, ...] | str] = {
    **dict.fromkeys(("Definition 2", *(f"({n})" for n in (1, 2, 3, 4, 5, 6, 11, 23, 27))), "definition"),
    "Theorem 1": ("regret-over-time", "growth-in-slots", "growth-in-ports"),
    "Algorithm 1": ("repeat-loop",),
    "(8)": "assumption",
    "(17)": ("theorem-1",),
    "(19)": ("regular-graph",),
    "(26)": ("eta0",),
    "Sec. 4.1, FAIRNESS steadier with little contention and overhead": "not checked: no measure is named",
    "Sec. 4.2, allocations in the interior as a cause": "not checked: of what is shown, none is measured",
    "Fig. 1": "drawing of the model",
    "Fig. 2": ("abstract-improvement",),
    **{f"Footnote {n}": "about other systems" for n in (1, 2)},
}
"""Ids of claims without the name of the problem."""
