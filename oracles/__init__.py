"""What was possible: exact offline optima with certified bounds."""
