"""What a problem is: instances, feasibility, rewards, declared programs, generators."""
