"""Data Docs must not fetch anything from elsewhere."""

from __future__ import annotations

from pathlib import Path

from benchgate.gates.data_docs import make_self_contained, without_foreign_parts

PAGE = """<html><head><link rel="stylesheet" href="https://cdn.example/x.css">
<script src="https://cdn.example/x.js" async></script><style>.logo{background:url('https://cdn.example/logo.png')}</style>
<script>fetch("https://cdn.example")</script></head><body><img src="https://cdn.example/a.png"><a href="other.html">
error_rate</a></body></html>"""


def test_foreign_parts_go_and_content_stays() -> None:
    page = without_foreign_parts(PAGE)

    assert "cdn.example" not in page
    assert "<script" not in page
    assert '<a href="other.html">' in page
    assert page.count("</head>") == 1


def test_the_index_lists_every_page(tmp_path: Path) -> None:
    validation = tmp_path / "validations" / "cell" / "__none__" / "r.html"
    validation.parent.mkdir(parents=True)
    validation.write_text(PAGE)
    (tmp_path / "index.html").write_text(PAGE)
    (tmp_path / "static").mkdir()
    (tmp_path / "static" / "movie.gif").write_bytes(b"x")

    make_self_contained(tmp_path)

    assert 'href="validations/cell/__none__/r.html"' in (tmp_path / "index.html").read_text()
    assert not (tmp_path / "static").exists()
