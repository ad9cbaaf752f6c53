from __future__ import annotations

import itertools

from hypothesis import given
from hypothesis import strategies as st

from benchgate.client.wire.sse import NamedEvent, SseDecoder


def decode(body: bytes, cuts: list[int] | None = None) -> list[bytes]:
    """All events of ``body``, fed in pieces that end at ``cuts``."""
    decoder = SseDecoder()
    events: list[bytes] = []
    edges = [0, *sorted({cut % (len(body) + 1) for cut in cuts or []}), len(body)]
    for begin, end in itertools.pairwise(edges):
        events += decoder.feed(body[begin:end])
    return events + decoder.finish()


def test_one_event_in_one_read() -> None:
    assert decode(b'data: {"a":1}\n\n') == [b'{"a":1}']


def test_several_events_in_one_read_keep_their_order() -> None:
    assert decode(b"data: 1\n\ndata: 2\n\ndata: 3\n\n") == [b"1", b"2", b"3"]


def test_the_space_after_the_colon_is_optional_and_only_one_is_dropped() -> None:
    assert decode(b"data:1\n\ndata:  2\n\n") == [b"1", b" 2"]


def test_several_data_lines_are_joined_by_a_line_feed() -> None:
    assert decode(b'data: {"a":\ndata: 1}\n\n') == [b'{"a":\n1}']


def test_crlf_and_lone_cr_end_lines_as_well() -> None:
    assert decode(b"data: 1\r\n\r\ndata: 2\r\rdata: 3\n\n") == [b"1", b"2", b"3"]


def test_a_crlf_that_is_split_over_two_reads_is_one_line_end() -> None:
    decoder = SseDecoder()
    assert decoder.feed(b"data: 1\r") == []
    assert decoder.feed(b"\ndata: 2\r\n\r") == [b"1\n2"]
    assert decoder.feed(b"\ndata: 3\r\n\r\n") == [b"3"]


def test_comments_and_other_fields_carry_no_data() -> None:
    decoder = SseDecoder()
    assert decoder.feed(b": keep-alive\n\nid: 7\nretry: 10\n\ndata: 1\n: in between\n\n") == [b"1"]
    assert decoder.comments == 2


def test_the_name_of_an_event_comes_with_its_data_and_does_not_stick() -> None:
    first, second = decode(b'event: error\ndata: {"message":"no"}\n\ndata: 2\n\n')
    assert isinstance(first, NamedEvent)
    assert first.name == b"error"
    assert not isinstance(second, NamedEvent)


def test_a_last_event_without_its_blank_line_is_not_lost() -> None:
    assert decode(b"data: 1\n\ndata: [DONE]") == [b"1", b"[DONE]"]


def test_a_character_split_over_two_reads_is_whole_again() -> None:
    text = "data: grüße 😀\n\n".encode()
    for cut in range(len(text)):
        assert decode(text, [cut]) == ["grüße 😀".encode()]


def test_a_megabyte_event_one_byte_at_a_time_takes_linear_time() -> None:
    body = b"data: " + b"x" * 1_000_000 + b"\n\n"
    decoder = SseDecoder()
    events: list[bytes] = []
    for position in range(len(body)):  # quadratic joining would take minutes and hit the test timeout
        events += decoder.feed(body[position : position + 1])
    assert events == [body[6:-2]]


LINE_END = st.sampled_from(["\n", "\r\n", "\r"])
TEXT = st.text(st.characters(blacklist_characters="\r\n", blacklist_categories=("Cs",)), min_size=1, max_size=12)


@given(
    st.lists(st.tuples(st.lists(TEXT, min_size=1, max_size=3), st.booleans()), max_size=8),
    LINE_END,
    st.lists(st.integers(min_value=0, max_value=10_000), max_size=30),
)
def test_any_split_of_the_bytes_gives_the_same_events(
    events: list[tuple[list[str], bool]], line_end: str, cuts: list[int]
) -> None:
    text = ""
    for lines, commented in events:
        if commented:
            text += f": comment{line_end}{line_end}"
        text += "".join(f"data: {line}{line_end}" for line in lines) + line_end
    expected = ["\n".join(lines).encode() for lines, _ in events]
    assert decode(text.encode(), cuts) == expected
