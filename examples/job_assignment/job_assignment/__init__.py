"""Online job assignment: each arriving job gets a place on a machine that it fits, for good, or none."""

from clairvoyant.problems import Problem

PROBLEM = Problem(
    name="job-assignment",
    summary="jobs to accept or reject, for good, on machines with places",
    instance="job_assignment.instance:JobAssignment",
    generate="job_assignment.instance:generate",
    policies="job_assignment.policies:POLICIES",
    claims="job_assignment.claims:CLAIMS",
)
