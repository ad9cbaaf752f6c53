"""What an engine-independent eye can tell from a model's name."""

from __future__ import annotations

import re

_HARMONY = re.compile(r"gpt[-_.]?oss", re.IGNORECASE)


def is_harmony(model_id: str) -> bool:
    """Whether a model speaks harmony (the gpt-oss family): its chat endpoint must never be sent ``ignore_eos``.

    Forced past its end token, such a model leaves the format that the server's parser expects, and most answers end
    as ``Unexpected token 200002 while expecting start token 200006``.
    """
    return _HARMONY.search(model_id) is not None
