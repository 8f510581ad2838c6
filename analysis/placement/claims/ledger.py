"""What no claim's ``where`` says of what the DAS paper numbers: more claims, or why there is none."""

LEDGER: dict[str, tuple[str, ...] | str] = {
    **dict.fromkeys(("(2)", "(6)"), "definition"),
    "(4)": ("scalable",),
    "(11)": ("matern-smooth",),
    "(14)": ("machines-apart",),
    "Figure 2": "an example of the model",
    "Figure 3": "a drawing",
    "Table 1": ("improvement-by-size", "three-groups"),
    "Table 2": ("table-1-metaheuristics",),
    "Proposition 1": ("proposition-1-proof",),
    **{f"Footnote {n}": "an address" for n in (1, 2, 3, 4)},
    "Sec. 2.2, 2.3": "related work",
    "Sec. 4.1": ("gate",),
    "Sec. 4.2": ("history-rows",),
    "Sec. 4.3": ("clip", "q-advantage"),
    "Sec. 6": "what was said before",
    "Appendix C": ("copy-interval",),
}
"""Names of claims without the problem, or a reason."""
