"""What is asked of the compiler."""

from __future__ import annotations

from dataclasses import dataclass, field
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
    wrt: Optional[List[str]] = None
    of: List[str] = field(default_factory=list)
    forward: bool = False
    split: bool = False
    save: List[str] = field(default_factory=list)
    rollback: List[str] = field(default_factory=list)
    record_slots: Optional[int] = None
    record_budget: Optional[str] = None
    wide_adjoints: bool = False
    deterministic: bool = False
    pure: bool = False
    nvrtc: bool = False
