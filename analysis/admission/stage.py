"""The instances of the leaderboard of ``admission``."""

from ..stage import Family, Stage

STAGE = Stage(
    (
        Family(
            "10 jobs, 10 slots",
            {},
            ("8c3e3b371785", "1f27633d9407", "2c8b3aad4eca", "a0a4f1d84e1c", "8db97a55f874"),
        ),
        Family(
            "70 short jobs",
            {"size": "large", "jobs": 70, "horizon": 100, "fit": "short"},
            ("ae6cc39010f5", "58bfaabe3a14", "6c2846a52acb", "8aee6810faf0", "a74d112b916a"),
        ),
        Family(
            "100 jobs",
            {"size": "large", "jobs": 100, "horizon": 100},
            ("03658cc04973", "44c7d599984f", "2bad8366b5d4", "923e64e248cf", "4941bb11c3fe"),
        ),
    ),
    also=("oasis:bounds=estimated", "rolling-horizon:keep=true,forecast=true"),
    only={"dorm": ("10 jobs, 10 slots", "its integer programs take minutes an instance elsewhere")},
    time_limit=8.0,
    total="the sum of the utilities of all jobs that get done, each worth less the later it is done",
)
