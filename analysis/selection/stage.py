"""The instances of the leaderboards of ``selection`` and ``selection-gang``."""

from ..stage import Family, Stage

TOTAL = "the sum, over all slots, of the expected net utilities of the channels that are on"

STAGE = Stage(
    (
        Family(
            "rho 0.9, 2 devices",
            {},
            ("1cd976e2f39a", "8f0f8aae3546", "717c30706513", "0db02d760f57", "fd8e813ab99d"),
        ),
        Family(
            "rho 0.5, 4 devices",
            {"arrival_probability": 0.5, "capacity": 4},
            ("bf5882405444", "eec42e1ddd1f", "44fae4641b2b", "d1621aa94542", "76ddb63c8cc8"),
        ),
        Family(
            "12 ports, 8 devices",
            {"ports": 12, "capacity": 8},
            ("257f769a89da", "51d7befc683f", "911b913dd3e7", "675212ea0cda", "321ee57f1c85"),
        ),
    ),
    also=("esdp:g=log", "escb:g=log"),
    total=TOTAL,
)

_GANG = {"ports": 4, "slots": 500}

GANG = Stage(
    (
        Family(
            "3 servers",
            {**_GANG, "servers": 3, "tasks": (2, 2)},
            ("e231cd9f51ee", "275f92569f97", "089f69017920", "2ca64ca1bb39", "820029636fba"),
        ),
        Family(
            "4 servers, rho 0.5",
            {**_GANG, "servers": 4, "tasks": (1, 2), "arrival_probability": 0.5},
            ("cea59d5985a0", "906fa2537f25", "b9fc02fcbb6c", "99db164a793e", "e65812c3eb54"),
        ),
    ),
    also=("esdp-gang:g=log", "esdp-gang:delta=none,g=log"),
    total=TOTAL,
)
