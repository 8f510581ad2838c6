"""One engine for everything that is many runs: cells, a store of their results, and what computes them."""
