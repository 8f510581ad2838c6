"""What no claim's ``where`` says of what the OASiS paper numbers: more claims, or why there is none."""

LEDGER: dict[str, tuple[str, ...] | str] = {
    **dict.fromkeys(("Fig. 1", "Fig. 2", "Fig. 7"), "illustration"),
    **dict.fromkeys(("Table I", "Footnote 1"), "definition"),
    "Footnote 2": "an assumption on storage, which the model leaves out",
    "Footnote 3": "an assumption on who decides",
    **{f"({n})": "a rule of the model, tested in models/" for n in (*range(2, 8), *range(9, 14))},
    **{f"({n})": ("equivalence",) for n in range(15, 19)},
    **{f"({n})": ("theorem-1",) for n in (21, 28, 29)},
    **{f"({n})": ("initial-dual", "size-of-alpha") for n in (25, 26)},
    **{f"({n})": ("theorem-2", "appendix-a-exhausted") for n in (30, 31)},
    "Algorithm 1": ("theorem-2", "theorem-4"),
    "Algorithm 2": ("cost-t", "whole-chunks"),
    "Appendix B": ("cost-t",),
    "Appendix E": ("lemma-1", "lemma-2", "lemma-3", "initial-dual"),
}
"""Names of claims without the problem, or a reason."""
