"""An image of ours is built again exactly when something that decides its content has changed."""

from __future__ import annotations

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
