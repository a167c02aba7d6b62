"""A line that says what takes so long, where somebody watches: in a terminal or a notebook."""

from __future__ import annotations

import sys
import threading
import time
from contextlib import contextmanager
from typing import Iterator

PATIENCE = 0.5
"""Seconds until something is said."""


@contextmanager
def step(what: str) -> Iterator[None]:
    """Shows what is done and for how long, until it is."""
    if not (sys.stderr.isatty() or "ipykernel" in sys.modules):
        yield
        return
    done = threading.Event()
    shown = threading.Thread(target=_show, args=(what, done), daemon=True)
    shown.start()
    try:
        yield
    finally:
        done.set()
        shown.join()


def _show(what: str, done: threading.Event) -> None:
    start = time.monotonic()
    line = ""
    while not done.wait(PATIENCE):
        line = f"{what} … {time.monotonic() - start:.0f} s"
        print(f"\r{line}", end="", file=sys.stderr, flush=True)
    if line:
        print(f"\r{' ' * len(line)}\r", end="", file=sys.stderr, flush=True)
