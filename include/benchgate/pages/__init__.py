"""The results pages inside the Airflow UI: what they show (plain values), and how (HTML without a script inside).

Nothing here knows Airflow: who may read which campaign, and which DAG runs there are, is told by the caller
(``benchgate.airflow.pages_app``). Every view is a frozen dataclass, so that a page and its JSON say the same.
"""
