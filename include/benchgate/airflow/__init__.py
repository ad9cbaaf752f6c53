"""The one part that imports Airflow: DAGs from campaign files, and tasks that call the steps."""
