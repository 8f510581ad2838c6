"""The problems: instances, feasibility, rewards, declared programs, generators."""
