"""Which images housekeeping may remove from a host: only what our own pulls brought, and nothing that is in use."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from benchgate.steps.old_images import ImageUse, too_old


def night(number: int, *, repository: str = "vllm/vllm-openai", pulled: bool = True, over: bool = True) -> ImageUse:
    """A run of its own image; the number is its age and its digest."""
    image = f"{repository}@sha256:{number:064x}"
    return ImageUse(f"run-{number}", f"2026-11-{number:02d}T02:00:00Z", over, (image,), (image,) if pulled else ())


def name(number: int, repository: str = "vllm/vllm-openai") -> str:
    return f"{repository}@sha256:{number:064x}"


def test_beyond_the_newest_ones_the_oldest_goes_first() -> None:
    assert too_old([night(3), night(1), night(4), night(2)], 2) == [name(1), name(2)]


def test_an_image_that_is_used_again_is_new() -> None:
    again = ImageUse("run-9", "2026-11-09T02:00:00Z", True, (name(1),), ())

    assert too_old([night(1), night(2), night(3), again], 2) == [name(2)]


def test_what_somebody_else_pulled_stays_and_counts() -> None:
    assert too_old([night(1, pulled=False), night(2), night(3, pulled=False)], 1) == [name(2)]


def test_a_run_in_progress_keeps_its_image() -> None:
    assert too_old([night(1, over=False), night(2), night(3)], 1) == [name(2)]


def test_each_repository_has_its_own_newest() -> None:
    uses = [night(1), night(2), night(1, repository="sglang"), night(3, repository="sglang")]

    assert set(too_old(uses, 1)) == {name(1), name(1, "sglang")}


def test_an_image_that_was_built_on_the_host_is_none_of_them() -> None:
    built = ImageUse("run-1", "2026-11-01T02:00:00Z", True, ("sha256:" + "a" * 64,), ("sha256:" + "a" * 64,))

    assert too_old([built, night(2), night(3)], 1) == [name(2)]


NIGHTS = st.builds(night, st.integers(1, 28), pulled=st.booleans(), over=st.booleans())


@given(st.lists(NIGHTS, max_size=12), st.integers(1, 5))
def test_what_goes_is_ours_unused_and_leaves_as_many_as_are_kept(uses: list[ImageUse], keep: int) -> None:
    going = set(too_old(uses, keep))
    known = {image for use in uses for image in use.used}

    assert going <= {image for use in uses for image in use.pulled}
    assert not going & {image for use in uses if not use.over for image in use.used}
    assert len(known - going) >= min(keep, len(known))
