"""Environments of Gymnasium, and policies that ask a model trained in one of them.

Importing this module registers ``clairvoyant/Allocation-v0``, ``clairvoyant/Selection-v0``,
``clairvoyant/Admission-v0`` and ``clairvoyant/Placement-v0``; ``gymnasium.make`` does so itself where the
module stands before the name: ``gymnasium.make("clairvoyant.environments:clairvoyant/Placement-v0")``. What
they see and do is said by the views in ``clairvoyant.online.<problem>.view``; ``docs/environments.md`` trains
in one of them.

They need the extra "environments" of the package; :func:`trained` does not.
"""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from .models.base import InputError, Instance
from .problems import OURS, Problem, find, problems

if TYPE_CHECKING:
    import gymnasium

    from .online.views import Predicted, Source

__all__ = ["NAMES", "make", "trained"]

NAMES = {f"clairvoyant/{one.name.capitalize()}-v0": one.name for one in OURS if one.has("view")}
"""The problem of every environment, by the name that Gymnasium knows it by."""

if find_spec("gymnasium"):
    from gymnasium.envs.registration import register

    for _name, _problem in NAMES.items():
        register(_name, entry_point=f"{__name__}:make", kwargs={"problem": _problem})


def make(
    problem: str, source: Source | None = None, *, size: str = "tiny", **options: Any
) -> gymnasium.Env[Any, Any]:
    """Return the environment of a problem, by the same options as ``gymnasium.make`` takes with its name.

    Parameters
    ----------
    problem
        "allocation", "selection", "admission" or "placement".
    source
        An instance that every episode plays, or a function that makes one from a seed; by default the
        generator of the problem, with the seed of the episode.
    size
        "tiny", "default" or "large", for the generator.
    **options
        What the view takes; for placement what its environment takes: ``window``, ``reward``, ``agent``,
        ``scaled`` and ``wait``, see :class:`clairvoyant.online.placement.environment.SingleEnvironment`.

    Raises
    ------
    InputError
        For an unknown problem, or one without a view; as the environment does.
    ClairvoyantError
        Without the extra "environments".
    """
    record = _seen(problem)
    view = record.part("view")

    def generated(seed: int) -> Instance:
        drawn: Instance = record.part("generate")(size, seed)
        return drawn

    played = generated if source is None else source
    made: gymnasium.Env[Any, Any]
    if record.has("environment"):
        made = record.part("environment")(played, **options)
    else:
        from .online.environment import Environment

        made = Environment(played, view(**options))
    return made


def trained(problem: str, model: Any, name: str = "trained", **options: Any) -> Predicted:
    """Return a policy that does what a trained model says, to be played beside all others.

    Parameters
    ----------
    problem
        The problem of the environment that the model was trained in.
    model
        A model of Stable-Baselines3, or any function of what is seen that returns an action.
    name
        What tables call the policy.
    **options
        What the environment was made with, but ``reward``: ``window``, and for placement ``agent``,
        ``scaled`` and ``wait``.

    Raises
    ------
    InputError
        For an unknown problem, one without a view, or a wrong value of an option.
    """
    from .online.views import Predicted

    return Predicted(model, _seen(problem).part("view")(**options), name)


def _seen(problem: str) -> Problem:
    """Return the record of a problem that a model can see; an InputError that lists these, if it is none."""
    record = find(problem)
    if not record.has("view"):
        able = ", ".join(name for name, one in problems().items() if one.has("view"))
        raise InputError(
            f"problem: {problem!r} has no environment; these have: {able}; a policy of your own plays it "
            f"(clairvoyant new-policy {problem} NAME)"
        )
    return record
