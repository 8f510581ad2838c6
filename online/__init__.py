"""What was done: policies, and the loop that plays them. Nothing here may import the oracles."""

from __future__ import annotations

from .registry import PolicyRow, make_policy, policies, policy_table

__all__ = ["PolicyRow", "make_policy", "policies", "policy_table"]
