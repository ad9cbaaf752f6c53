"""The steps of a campaign run: what each Airflow task does, without Airflow."""
