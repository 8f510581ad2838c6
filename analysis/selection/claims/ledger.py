"""What no claim's ``where`` says of what the ESDP paper numbers: more claims, or why there is none."""

DEFINES = "defines"

LEDGER: dict[str, tuple[str, ...] | str] = {
    **{f"({n})": DEFINES for n in (1, 2, 3, 4, 6, 8, 11, 12, 14, 20, 22, 29)},
    "(9)": ("unbiased", "matrix-13"),
    "(15)": ("chebyshev",),
    "(16)": ("rounding",),
    "(34)": ("chernoff-step",),
    "Fig. 1": "a drawing of the model",
    "Fig. 2": ("improvements", "hswf-strategy"),
    "Fig. 5": "not checked: times of a machine that is not here; algorithm-2-complexity counts",
    "Table 1": DEFINES,
    "Table 3": ("truncated-s",),
    "Algorithm 2": ("algorithm-2-complexity",),
    "Footnote 2": "defines m_l(t)",
    "Footnote 3": "an address",
    "P3": ("p3-np-hard",),
    "P4": ("chain-32",),
    "P5": ("recursion",),
    "Sec. 1": "not checked: shares of jobs in a trace that is not here",
    "Sec. 1, best-so-far regret": ("theorem-2",),
    "Sec. 4.1, rewards oscillate at first": "not checked: averages of few slots do so with any policy",
    "Sec. 4.1, the initial solution as a cause of oscillation": "not checked: none is named for ESDP",
    "Sec. 5": "related work",
    "slides, the rest": "as the paper, with other numbers",
}
"""Names of claims without the problem, or a reason."""
