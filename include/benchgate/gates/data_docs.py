"""Data Docs that read without a network: no scripts, fonts or pictures from elsewhere, and no advertisement.

Great Expectations' pages load a dozen files from content networks; on a machine without internet they come out
unstyled with folded sections, and on one with internet every look at a report tells others about it.
"""

from __future__ import annotations

import re
import shutil
from html import escape
from pathlib import Path

_STYLE = """<style>
body{font:14px/1.45 system-ui,sans-serif;margin:1.5rem auto;max-width:75rem;padding:0 1rem;color:#1c2430;
background:#fff}
table{border-collapse:collapse;margin:.5rem 0}td,th{border:1px solid #c9d1db;padding:.25rem .6rem;text-align:left;
vertical-align:top}.collapse,.tab-pane,.fade{display:block!important;opacity:1!important}ul{padding-left:1.2rem}
.modal,.navbar-toggler,#modal,.btn,button,form,footer,.ge-cta{display:none!important}a{color:#1b5fc1}
.fa-check-circle::before,.text-success::before{content:"\\2714 "}.fa-times,.fa-times-circle{color:#b3261e}
.fa-times::before,.fa-times-circle::before{content:"\\2718 "}
@media(prefers-color-scheme:dark){body{background:#14181f;color:#e4e8ee}td,th{border-color:#3a4350}a{color:#8ab4f8}}
</style>"""
_FOREIGN = (
    re.compile(r"<script\b[^>]*\bsrc=[\"']https?://[^>]*>.*?</script>", re.IGNORECASE | re.DOTALL),
    re.compile(r"<link\b[^>]*\bhref=[\"']https?://[^>]*>", re.IGNORECASE),
    re.compile(r"<img\b[^>]*\bsrc=[\"']https?://[^>]*>", re.IGNORECASE),
    re.compile(r"url\((['\"]?)https?://[^)]*\)", re.IGNORECASE),
    # only the foreign scripts made these run
    re.compile(r"<script\b(?![^>]*\bsrc=)[^>]*>.*?</script>", re.IGNORECASE | re.DOTALL),
)
_BODY_END = re.compile(r"</body>", re.IGNORECASE)
_HEAD_END = re.compile(r"</head>", re.IGNORECASE)


def without_foreign_parts(html: str) -> str:
    """One page, with everything that would be fetched from elsewhere left out and a small style of its own."""
    for pattern in _FOREIGN:
        html = pattern.sub("", html)
    return _HEAD_END.sub(lambda _match: f"{_STYLE}</head>", html, count=1)


def page_list(folder: Path) -> str:
    """Links to every page below ``folder``: what the index would otherwise build with a script."""
    items = []
    for title, kind in (("Validation results", "validations"), ("Suites", "expectations")):
        for page in sorted((folder / kind).rglob("*.html")):
            link = page.relative_to(folder).as_posix()
            name = page.relative_to(folder / kind).parts[0].removesuffix(".html")
            items.append(f'<li><a href="{escape(link)}">{title}: {escape(name)}</a></li>')
    return f"<ul>{''.join(items)}</ul>"


def make_self_contained(folder: Path) -> None:
    """Rewrite every page below ``folder`` and drop the 4 MB of pictures and fonts that they no longer show."""
    for page in folder.rglob("*.html"):
        page.write_text(without_foreign_parts(page.read_text(encoding="utf-8")), encoding="utf-8")
    index = folder / "index.html"
    if index.exists():
        pages = page_list(folder)
        text = index.read_text(encoding="utf-8")
        index.write_text(_BODY_END.sub(lambda _match: f"{pages}</body>", text, count=1), encoding="utf-8")
    shutil.rmtree(folder / "static", ignore_errors=True)
