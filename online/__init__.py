"""What was done: policies, and the loop that plays them. Nothing here may import the oracles."""
