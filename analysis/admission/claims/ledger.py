"""Every numbered item of the OASiS paper, and the claims about it or why there is none."""

from __future__ import annotations

DEFINITION, SAMPLE = "definition", "illustration"
MODEL = "a rule of the model, tested in models/"

LEDGER: dict[str, tuple[str, ...] | str] = {
    **dict.fromkeys(("Fig. 1", "Fig. 2", "Fig. 7"), SAMPLE),
    **{f"Fig. {n}": (f"figure-{n}",) for n in (3, 4, 5, 6, 8, 9)},
    **dict.fromkeys(("Table I", "Footnote 1"), DEFINITION),
    "Footnote 2": "an assumption on storage, which the model leaves out",
    "Footnote 3": "an assumption on who decides",
    "Footnote 4": ("seconds", "two-days"),
    **{f"({n})": MODEL for n in (*range(2, 8), *range(9, 14))},
    "(8)": ("completion-slot",),
    **{f"({n})": ("equivalence",) for n in (1, *range(14, 19))},
    **dict.fromkeys(("(19)", "(20)", "Theorem 2", "Appendix C"), ("theorem-2",)),
    **dict.fromkeys(("(21)", "(27)", "(28)", "(29)"), ("theorem-1",)),
    **dict.fromkeys(("(22)", "Lemma 3", "Definition 2"), ("lemma-3",)),
    **dict.fromkeys(("(23)", "(24)"), ("largest-utility",)),
    **dict.fromkeys(("(25)", "(26)"), ("initial-dual", "size-of-alpha")),
    **dict.fromkeys(("(30)", "(31)"), ("theorem-2", "appendix-a-exhausted")),
    "(32)": ("cost-t",),
    **dict.fromkeys(("(33)", "(34)", "(35)"), ("initial-dual",)),
    "Algorithm 1": ("theorem-2", "theorem-4"),
    "Algorithm 2": ("theorem-1", "cost-t", "whole-chunks"),
    **dict.fromkeys(("Theorem 1", "Appendix B"), ("theorem-1", "cost-t")),
    **dict.fromkeys(("Theorem 3", "Appendix D"), ("theorem-3",)),
    "Theorem 4": ("theorem-4", "small-shares", "size-of-alpha"),
    "Lemma 1": ("lemma-1",),
    "Lemma 2": ("lemma-2",),
    "Definition 1": ("finite-steps", "lemma-2"),
    "Appendix A": ("appendix-a-empty", "appendix-a-exhausted", "largest-utility"),
    "Appendix E": ("lemma-1", "lemma-2", "lemma-3", "finite-steps", "initial-dual", "server-volume"),
    "Sec. III.C, length of a slot": ("chunk-time",),
    "Sec. IV.C, whole chunks": ("whole-chunks", "chunk-time"),
    "Sec. IV.D, after Theorem 4": ("remark-theorem-4",),
    "Sec. V.A, settings": ("job-ranges", "c4-gpu"),
    "Sec. V.B, last paragraph": ("large-testbed",),
}
"""Names of claims without the problem, or a reason."""
