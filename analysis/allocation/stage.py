"""The instances of the leaderboards of ``allocation`` and ``allocation-gang``."""

from ..stage import Family, Stage

TOTAL = "the sum of the rewards of all slots: what is gained by the jobs, less their overhead"

STAGE = Stage(
    (
        Family(
            "10 ports, 128 servers",
            {},
            ("e2a41c3004e0", "83c0e997554e", "a7199a7e4cf1", "8f4122191e32", "204dc0b0790f"),
        ),
        Family(
            "contention 2",
            {"contention": 2.0},
            ("24254d1d2b1a", "2be0f0da515e", "e0fa909a66a2", "211208960a2a", "75bac184a3ee"),
        ),
        Family(
            "several jobs at once",
            {"counts": True, "fano": 4.0, "arrival_probability": 0.5},
            ("11ffb990b1f0", "5e96efc6565b", "e1a3c2811522", "a3a46efcac79", "7ae912f2eb4e"),
        ),
    ),
    also=("ogasched:start_at=fair", "ogasched:step=adagrad"),
    total=TOTAL,
    fixed=True,
)

_GANG = {"ports": 4, "servers": 16, "slots": 100}

GANG = Stage(
    (
        Family(
            "4 ports, contention 2",
            {**_GANG, "contention": 2.0},
            ("cb330ff9fd37", "02b68b31998a", "0e2a035a379a", "c0d9c9c5865c", "a4d40fc05335"),
        ),
        Family(
            "4 ports, contention 10",
            {**_GANG, "contention": 10.0},
            ("570c966b9ae2", "af0279d735fb", "996356a090e1", "e25bda79a1b1", "8acea0768951"),
        ),
    ),
    also=("perturbed-leader:eps=0.005",),
    total=TOTAL,
    fixed=True,
)
