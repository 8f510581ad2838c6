"""The instances of the leaderboard of ``placement``."""

from ..stage import Family, Stage

JOBS = {"jobs": 200, "estimate_error": 0.5}
PAI, PHILLY = {"source": "pai-2020", **JOBS}, {"source": "philly", **JOBS}
STRETCHES = ("first", (0, 1000, 2000, 3000, 4000))

STAGE = Stage(
    (
        Family(
            "8 machines, rho 0.8",
            {**JOBS, "cluster": "small"},
            ("e2e177ce75bc", "56a57cb000c5", "129f31cab4d6", "9fc45dc32591", "8b2179132683"),
        ),
        Family(
            "8 machines, rho 2",
            {**JOBS, "cluster": "small", "rho": 2.0},
            ("8cd31de9d43c", "4353efd69780", "e86d90f89777", "166b76178ad6", "391d68c2678c"),
        ),
        Family(
            "16 machines, rho 1.6",
            {**JOBS, "cluster": "medium", "rho": 1.6},
            ("f043098e2414", "a4072fe1be89", "c49d23610432", "e8757d3852b6", "f4970a290fbb"),
        ),
        Family(
            "32 machines, rho 3.2",
            {**JOBS, "cluster": "large", "rho": 3.2},
            ("0b18413db73b", "e82076860026", "94d9df57cd81", "fcc7ae575ecf", "d544cb35f8de"),
        ),
        Family(
            "PAI, rho 0.8",
            {**PAI, "rho": 0.8},
            ("40943d30f47f", "5970cbb1c8f5", "d201f15c06a8", "0c4bc602923a", "cbcd7414276f"),
            STRETCHES,
            trace=True,
        ),
        Family(
            "Philly, rho 0.8",
            {**PHILLY, "rho": 0.8},
            ("ed52ee594fbe", "2f2234f26ec5", "f69ceab603ea", "cf7434e43a36", "38f8f270d93b"),
            STRETCHES,
            trace=True,
        ),
    ),
    time_limit=6.0,
    total="the sum of the completion times of all jobs, from submission to end, in seconds, plus "
    "``gpu_weight``, here {gpu_weight:g}, times their GPU-seconds; the fee is no part of it",
)
