"""Benchgate: scheduled LLM-serving benchmark campaigns. Only ``benchgate.airflow`` imports Airflow."""

__version__ = "0.1.0"

# Version of the metric definitions that every fact row carries (docs/metrics.md). Numbers of two
# definitions are never compared as if they were one: change this when a formula changes.
METRIC_DEFINITION = "benchgate-1"
CLIENT_NAME = "benchgate"
