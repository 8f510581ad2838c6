"""A plug-in of pytest: a test of every check of the policies that its command line names.

It is loaded only on request, and loads nothing heavy before a policy is named::

    pytest -p clairvoyant.pytest_plugin --clairvoyant-policy my_policy.py:MyPolicy
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

OPTION = "--clairvoyant-policy"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Take policies on the command line."""
    parser.getgroup("clairvoyant").addoption(
        OPTION,
        action="append",
        default=[],
        metavar="MODULE:CLASS",
        help="check this policy, a test for each check; FILE.py:CLASS or a name as well, with settings after "
        "another colon; may be repeated",
    )


@pytest.hookimpl(tryfirst=True)  # so that -k and --last-failed choose among these as well
def pytest_collection_modifyitems(
    session: pytest.Session, config: pytest.Config, items: list[pytest.Item]
) -> None:
    """Collect the checks of the policies beside the tests that were collected."""
    for text in config.getoption(OPTION):
        policy = _Policy.from_parent(session, name=text, nodeid=text)
        report = config.hook.pytest_make_collect_report(collector=policy)
        config.hook.pytest_collectreport(report=report)
        items.extend(report.result)


class _Policy(pytest.Collector):
    """The checks of one policy, whose text on the command line is its name."""

    def collect(self) -> Iterator[_Check]:
        from .api import make_policy
        from .models.base import InputError
        from .testing.decorator import late_checks

        try:
            make_policy(self.name)
        except InputError as error:
            raise self.CollectError(str(error)) from error
        for name, run in late_checks(lambda: make_policy(self.name)):
            yield _Check.from_parent(self, name=name, run=run)


class _Check(pytest.Item):
    """One check of a policy."""

    def __init__(self, *, run: Callable[[], None], **named: Any) -> None:
        super().__init__(**named)
        self._run = run

    def runtest(self) -> None:
        self._run()

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """Explain a failed check in words, with the place in the policy if it raised an error."""
        from .locating import with_place
        from .testing import PolicyCheckError

        if isinstance(excinfo.value, PolicyCheckError):
            return with_place(excinfo.value)
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, None, str]:
        return self.path, None, self.name
