"""What was done: policies that decide as things happen, and the loop that plays them."""
