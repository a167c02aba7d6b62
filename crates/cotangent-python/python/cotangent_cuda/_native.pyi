"""The compiler, in Rust."""

from typing import List, Optional, Sequence, Tuple

from ._request import Request

def derivative(file: str, flags: Sequence[str], request: Request) -> Tuple[str, str, Optional[str]]: ...
def own_files(file: str, flags: Sequence[str]) -> List[str]: ...
