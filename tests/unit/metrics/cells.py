"""Request records of a cell whose numbers are known."""

from __future__ import annotations

from benchgate.request_record import RequestRecord


def a_request(
    number: int = 0,
    *,
    sent_at: float = 0.0,
    ttft: float = 0.2,
    gap: float = 0.02,
    tokens: int = 11,
    prompt: int = 100,
    user: int | None = 0,
    status: str = "ok",
) -> RequestRecord:
    """A streamed answer of one token an event."""
    first = sent_at + ttft
    last = first + gap * (tokens - 1)
    return RequestRecord(
        number,
        user=user,
        queued_at=sent_at,
        sent_at=sent_at,
        headers_at=sent_at + ttft / 2,
        first_token_at=first,
        first_visible_at=first,
        last_token_at=last,
        ended_at=last,
        status=status,
        http_status=200,
        finish_reason="length",
        prompt_tokens=prompt,
        completion_tokens=tokens,
        token_count_source="usage",
        max_tokens=tokens,
        events=tokens,
        content_events=tokens,
        content_chars=4 * tokens,
        largest_event_chars=4,
        streamed=True,
        itl_s=[gap] * (tokens - 1),
    )


def a_cell(
    *, users: int = 4, waves: int = 5, ttft: float = 0.2, gap: float = 0.02, tokens: int = 11
) -> list[RequestRecord]:
    """A closed loop without pauses: every user sends the next request when the last answer has ended."""
    length = ttft + gap * (tokens - 1)
    return [
        a_request(wave * users + user, sent_at=wave * length, ttft=ttft, gap=gap, tokens=tokens, user=user)
        for wave in range(waves)
        for user in range(users)
    ]
