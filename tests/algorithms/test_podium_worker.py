"""The file that participants copy."""

import ast
import sys

from podium.algorithms import podium_worker_file


def test_it_is_short_and_needs_nothing():
    source = podium_worker_file().read_text()
    code = [line for line in source.splitlines() if line.strip()]
    assert len(code) <= 60
    imported = {
        alias.name if isinstance(node, ast.Import) else node.module
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Import | ast.ImportFrom)
        for alias in node.names
    }
    assert {name.partition(".")[0] for name in imported} - {"numpy"} <= set(sys.stdlib_module_names)
    ast.parse(source, feature_version=(3, 9))
