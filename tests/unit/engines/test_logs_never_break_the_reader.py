"""Whatever a dying process left behind, reading it does not fail."""

from __future__ import annotations

import io
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchgate.engines import ENGINE_NAMES, get_engine
from benchgate.engines.log_reader import LineFilter, LogLine, clean, number_lines, rank_of
from tests.unit.engines.logs import capture, value

CAPTURES = [
    "vllm-0.26.0-h200-gpt-oss-20b.log",
    "vllm-0.27.1-cpu-vocab-as-url.log",
    "vllm-0.32.0-cpu-container-gpt-oss.log",
]
REAL = [line for name in CAPTURES for line in capture(name)]
REAL_LINES = st.sampled_from(REAL)


@st.composite
def damaged(draw: st.DrawFn) -> bytes:
    """A real line, cut anywhere, with garbage put in anywhere."""
    line = draw(REAL_LINES)
    begin, end = sorted((draw(st.integers(0, len(line))), draw(st.integers(0, len(line)))))
    place = draw(st.integers(0, end - begin))
    return line[begin : begin + place] + draw(st.binary(max_size=20)) + line[begin + place : end]


@settings(max_examples=150, deadline=None)
@given(
    lines=st.lists(st.one_of(st.binary(max_size=200), damaged(), REAL_LINES), max_size=40),
    engine=st.sampled_from(ENGINE_NAMES),
)
def test_garbage_and_damaged_lines_never_raise(lines: list[bytes], engine: str) -> None:
    adapter = get_engine(engine)

    facts = adapter.parse_log(lines)
    adapter.compile_events(lines)

    assert facts.lines == len(lines)
    assert all(proof.value is not None for proof in facts.proofs.values())
    assert all(len(proof.evidence.text) <= 500 for proof in facts.proofs.values())


@settings(max_examples=50, deadline=None)
@given(text=st.lists(st.text(max_size=100), max_size=20))
def test_text_lines_never_raise(text: list[str]) -> None:
    for engine in ENGINE_NAMES:
        assert get_engine(engine).parse_log(text).lines == len(text)


def test_colours_change_nothing() -> None:
    plain = capture("vllm-0.26.0-h200-gpt-oss-20b.log")
    coloured = [b"\x1b[0;36m" + line[:40] + b"\x1b[0;0m" + line[40:60] + b"\x1b[1m" + line[60:] for line in plain]

    expected, facts = (get_engine("vllm").parse_log(lines) for lines in (plain, coloured))

    assert {name: proof.value for name, proof in facts.proofs.items()} == {
        name: proof.value for name, proof in expected.proofs.items()
    }
    assert facts.ready
    assert len(facts.warnings) == len(expected.warnings)


@pytest.mark.parametrize("seed", range(5))
def test_interleaved_replicas_give_the_same_sum_in_any_order(seed: int) -> None:
    lines = [b"(APIServer pid=1) INFO [utils.py:1] non-default args: {'data_parallel_size': 3}\n"]
    for rank in range(3):
        lines.append(
            b"(EngineCore_DP%d pid=%d) INFO [kv_cache_utils.py:1] GPU KV cache size: 1,000,00%d tokens\n"
            % (rank, 70 + rank, rank)
        )
        lines.append(b"(EngineCore_DP%d pid=%d) INFO [mxfp4.py:1] Using MarlinExperts\n" % (rank, 70 + rank))
    random.Random(seed).shuffle(lines)

    facts = get_engine("vllm").parse_log(lines)

    assert value(facts, "kv_tokens") == 3_000_003
    assert value(facts, "moe_kernel") == "marlin"


def test_a_progress_bar_that_swallowed_a_message_does_not_hide_it() -> None:
    bar = b"Capturing CUDA graphs: 10%|#| 1/10\rCapturing CUDA graphs: 100%|#| 10/10\r(EngineCore pid=6) INFO [x.py:1] Graph capturing finished in 65 secs, took 1.03 GiB\r\n"

    facts = get_engine("vllm").parse_log([bar])

    assert value(facts, "graph_capture_seconds") == 65
    assert facts.proofs["graph_capture_seconds"].evidence.text.startswith("(EngineCore pid=6)")


def test_a_line_without_end_is_read_in_pieces_and_counts_once() -> None:
    stream = io.BytesIO(b"x" * 200_000 + b"\n" + b"INFO:     Application startup complete.\n")

    facts = get_engine("vllm").parse_log(number_lines(stream))  # type: ignore[arg-type]

    assert facts.lines == 2
    assert facts.proofs["ready"].evidence.line == 2


def test_memory_does_not_grow_with_ranks_that_a_garbled_log_invents() -> None:
    lines = (f"(EngineCore_DP{rank} pid=1) INFO GPU KV cache size: 1 tokens" for rank in range(10_000))

    assert value(get_engine("vllm").parse_log(lines), "kv_ranks") == 4096


@pytest.mark.parametrize(
    "word",
    [
        "Using ",
        "Using MoE ",
        "MoE ",
        "Triton ",
        "pinned ",
        "No space left on device ",
        "KeyError: 'layers.",
        "max seq len (1) ",
        "Flash ",
        "A.b",
        "server_args=",
    ],
)
def test_no_pattern_explodes_on_repeated_words(word: str) -> None:
    """Nested repetition in a pattern takes minutes here; the suite's time limit would end it by name."""
    for engine in ("vllm", "sglang"):
        get_engine(engine).parse_log(
            ["Traceback (most recent call last):", word * (16384 // len(word)), word * 2000 + " backend MoE Error"]
        )


@given(line=st.binary(max_size=300), words=st.lists(st.text("ab1 2c", min_size=1, max_size=5), min_size=1, max_size=6))
def test_the_filter_lets_every_line_with_a_word_through(line: bytes, words: list[str]) -> None:
    wanted = LineFilter(words)

    for _ in range(2):  # the second time it remembers
        if any(word.encode() in line for word in words):
            assert wanted.wants(line)


@pytest.mark.parametrize(
    ("prefix", "data", "tensor"),
    [
        ("(EngineCore_0 pid=284)", 0, None),
        ("(EngineCore_DP3 pid=79)", 3, None),
        ("(Worker_TP0 pid=5)", None, 0),
        ("(Worker_DP1_TP3_EP7 pid=5)", 1, 3),
        ("(VllmWorker TP1 pid=5)", None, 1),
        ("(VllmWorker rank=1 pid=2171)", None, 1),
        ("(EngineCore_0 pid=3933741) (VllmWorker TP1 pid=3933749)", 0, 1),
        ("(APIServer pid=1)", None, None),
        ("[2025-11-02 10:00:00 DP0 TP2 EP2]", 0, 2),
        ("[2025-11-02 10:00:00 TP2]", None, 2),
        ("[2025-11-02 10:00:00]", None, None),
    ],
)
def test_ranks_of_prefixes(prefix: str, data: int | None, tensor: int | None) -> None:
    line = LogLine(1, f"{prefix} INFO words about TP9 and DP9")

    assert (line.rank.data, line.rank.tensor) == (data, tensor)
    assert rank_of(line.prefix) == line.rank


def test_docker_compose_prefixes_and_timestamps_do_not_hide_a_rank() -> None:
    line = LogLine(1, "vllm-1  | 2025-11-02T10:00:00.000Z (EngineCore_DP2 pid=7) INFO x")

    assert line.rank.data == 2
    assert line.process == "EngineCore_DP2 7"


def test_a_worker_behind_its_engine_is_the_process_that_wrote() -> None:
    line = LogLine(
        1, "Aug 19 18:30:22 host vllm[8727]: (EngineCore_0 pid=1) (VllmWorker TP1 pid=2)     raise ValueError"
    )

    assert line.process == "VllmWorker TP1 2"
    assert line.message == "    raise ValueError"


def test_terminal_escapes_and_control_characters_are_gone() -> None:
    assert clean(b"\x1b]0;title\x07\x1b[1;31mred\x1b[0m\x00 text\x7f\r\n") == "red text"
