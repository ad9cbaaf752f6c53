"""A DAG for every campaign file in include/campaigns. The layout of a run is in benchgate.airflow.builder."""

from benchgate.airflow.builder import campaign_dags

globals().update(campaign_dags())
