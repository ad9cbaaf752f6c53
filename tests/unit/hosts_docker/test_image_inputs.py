"""An image of ours is built again exactly when something that decides its content has changed."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from images import inputs

TARGET = inputs.Target("3.11", "x86_64")
BASE = "sha256:" + "a" * 64


def test_the_same_inputs_have_the_same_digest() -> None:
    assert inputs.inputs_digest("client", BASE, TARGET) == inputs.inputs_digest("client", BASE, TARGET)


@pytest.mark.parametrize(
    ("kind", "base", "target"),
    [
        ("llamacpp", BASE, TARGET),
        ("client", "sha256:" + "b" * 64, TARGET),
        ("client", BASE, inputs.Target("3.12", "x86_64")),
        ("client", BASE, inputs.Target("3.11", "aarch64")),
    ],
)
def test_another_kind_base_or_python_has_another_digest(kind: str, base: str, target: inputs.Target) -> None:
    assert inputs.inputs_digest(kind, base, target) != inputs.inputs_digest("client", BASE, TARGET)


def test_a_changed_file_of_the_client_has_another_digest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for part in ("one.py", "two.py"):
        (tmp_path / part).write_text("x = 1\n")
    monkeypatch.setattr(inputs, "PACKAGE", tmp_path)
    monkeypatch.setattr(inputs, "relative", lambda path: path.name)
    monkeypatch.setitem(inputs.RECIPES, "client", inputs.Recipe(packages=("pydantic",), parts=("one.py",)))
    before = inputs.inputs_digest("client", BASE, TARGET)

    (tmp_path / "two.py").write_text("x = 2\n")
    beside = inputs.inputs_digest("client", BASE, TARGET)
    (tmp_path / "one.py").write_text("x = 2\n")
    inside = inputs.inputs_digest("client", BASE, TARGET)

    assert beside == before
    assert inside != before


def test_every_locked_package_of_an_image_is_in_the_lock() -> None:
    lock = (inputs.ROOT / "requirements.txt").read_text()
    for recipe in inputs.RECIPES.values():
        for python in ("3.10", "3.11", "3.12", "3.13"):
            assert len(inputs.locked(lock, recipe.packages, inputs.Target(python, "x86_64"))) == len(recipe.packages)


def test_a_package_that_the_lock_lacks_is_named() -> None:
    with pytest.raises(inputs.BuildError, match=r"has no not-there for Python 3\.11; run `make lock`"):
        inputs.locked("", ("not-there",), TARGET)


def imported_by(file: Path) -> set[str]:
    """Files of benchgate that a module imports, at its top or inside a function; not what only types need."""
    tree = ast.parse(file.read_text())
    for node in ast.walk(tree):
        if isinstance(node, ast.If) and getattr(node.test, "id", "") == "TYPE_CHECKING":
            node.body = []
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "benchgate":
            names.add(node.module)
            names.update(f"{node.module}.{alias.name}" for alias in node.names)
    found = set()
    for name in names:
        path = inputs.PACKAGE.joinpath(*name.split(".")[1:])
        if name.startswith("benchgate.") and path.with_suffix(".py").is_file():
            found.add(path.with_suffix(".py").relative_to(inputs.PACKAGE).as_posix())
    return found


def test_the_client_image_holds_everything_that_the_load_generator_imports() -> None:
    parts = inputs.RECIPES["client"].parts
    held = {
        file.relative_to(inputs.PACKAGE).as_posix()
        for part in parts
        for file in ([inputs.PACKAGE / part] if part.endswith(".py") else (inputs.PACKAGE / part).rglob("*.py"))
    }

    missing = {name: imported_by(inputs.PACKAGE / name) - held for name in held}

    assert {name: sorted(files) for name, files in missing.items() if files} == {}
