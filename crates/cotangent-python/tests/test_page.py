"""The manual's page on Python does what it says."""

import contextlib
import io
import os
import re
import tempfile
import unittest
from pathlib import Path

PAGE = Path(__file__).parents[3] / "docs" / "python.md"


class Page(unittest.TestCase):
    def test_its_code_runs_from_top_to_bottom(self) -> None:
        blocks = re.findall(r"^```py\n(.*?)^```$", PAGE.read_text("utf-8"), re.MULTILINE | re.DOTALL)
        self.assertGreater(len(blocks), 4)
        names: "dict[str, object]" = {}
        said = io.StringIO()
        before = os.getcwd()
        with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(said):
            os.chdir(folder)
            try:
                for block in blocks:
                    exec(compile(block, str(PAGE), "exec"), names)
            finally:
                os.chdir(before)
        self.assertIn("error[C0102]: `goto` is not supported", said.getvalue())


if __name__ == "__main__":
    unittest.main()
