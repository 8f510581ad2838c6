"""What holds for all tests: how long an example takes is no matter, as the first ones wait for a compiler."""

from hypothesis import HealthCheck, settings

settings.register_profile("clairvoyant", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("clairvoyant")
