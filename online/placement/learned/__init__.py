"""The learned schedulers: DAS and its ablations, DL2 and RIFLING, and how they are trained.

Importing this package or listing its policies loads neither a compiler nor PyTorch.
"""
