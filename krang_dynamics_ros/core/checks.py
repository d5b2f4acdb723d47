"""A check on what drives motors, as data: the table in the documents is made from these."""

from __future__ import annotations

from typing import NamedTuple


class Check(NamedTuple):
    """One check: what is looked at, what must hold, in words with its numbers, and what happens where it does not.

    `result` is one of `refused` (commands cannot be enabled), `fault` (commands end), `warning`, or two of them.
    """

    name: str
    rule: str
    result: str
