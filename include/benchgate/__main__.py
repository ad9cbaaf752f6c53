"""``python -m benchgate``."""

from benchgate.cli import main

raise SystemExit(main())
