"""Removes what runs that are over have left on the hosts, and artifacts past their retention."""

from benchgate.airflow.housekeeping_dag import housekeeping_dag

dag = housekeeping_dag()
