"""What is asked of the compiler."""

from __future__ import annotations

from dataclasses import dataclass
from typing import List, Optional, Sequence, Union

Names = Union[str, Sequence[str], None]
"""Names, also as one string with commas."""


def names(given: Names) -> List[str]:
    """The names one by one."""
    words = given.split(",") if isinstance(given, str) else given or ()
    return [word.strip() for word in words]


@dataclass(frozen=True)
class Request:
    """A derivative; the flags of ``cotangent grad`` of the same names say more."""

    function: str
    wrt: Optional[List[str]]
    of: List[str]
    forward: bool
    split: bool
    save: List[str]
    rollback: List[str]
    record_slots: Optional[int]
    record_budget: Optional[str]
    wide_adjoints: bool
    deterministic: bool
    pure: bool
    nvrtc: bool
