"""Online policies, and the loop that plays them."""
