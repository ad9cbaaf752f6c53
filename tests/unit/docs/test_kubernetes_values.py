"""The values for the official chart: no secret, no shared disk, settings that exist. The chart itself is not here."""

from __future__ import annotations

from typing import Any

import yaml

from tests.support.doc_pages import DOCS, ROOT

VALUES: dict[str, Any] = yaml.safe_load((DOCS / "kubernetes" / "values.yaml").read_text())
# top-level values of the chart (version 1.22) that are used here
KNOWN = {
    *("executor", "airflowVersion", "defaultAirflowRepository", "defaultAirflowTag", "uid", "gid"),
    *("postgresql", "redis", "data", "fernetKeySecretName", "jwtSecretName", "apiSecretKeySecretName", "createUserJob"),
    *("env", "extraEnvFrom", "volumes", "volumeMounts", "securityContexts", "networkPolicies", "workers", "apiServer"),
    *("scheduler", "dagProcessor", "triggerer", "statsd", "config", "logs"),
}


def test_only_values_of_the_chart_are_set() -> None:
    assert set(VALUES) <= KNOWN


def test_tasks_share_no_disk_but_a_cache() -> None:
    env = {item["name"]: item["value"] for item in VALUES["env"]}

    assert VALUES["executor"] == "KubernetesExecutor"
    assert env["BENCHGATE_ARTIFACTS"].startswith("s3://")
    claims = [volume["name"] for volume in VALUES["volumes"] if "persistentVolumeClaim" in volume]
    assert claims == ["seeds"]


def test_every_volume_is_mounted_and_every_secret_is_made_by_the_page() -> None:
    page = (DOCS / "kubernetes.md").read_text()
    assert {volume["name"] for volume in VALUES["volumes"]} == {mount["name"] for mount in VALUES["volumeMounts"]}
    names = [volume["secret"]["secretName"] for volume in VALUES["volumes"] if "secret" in volume]
    names += [VALUES["data"]["metadataSecretName"], *(VALUES[f"{name}SecretName"] for name in ("fernetKey", "jwt"))]
    names += [VALUES["apiSecretKeySecretName"], yaml.safe_load(VALUES["extraEnvFrom"])[0]["secretRef"]["name"]]
    for name in names:
        assert f"secret generic {name}" in page, name


def test_no_secret_stands_in_it() -> None:
    for item in VALUES["env"]:
        assert not any(word in item["name"] for word in ("PASSWORD", "SECRET_", "TOKEN", "ACCESS_KEY")) or item[
            "name"
        ].endswith("_FILE"), item


def options(section: str) -> set[str]:
    """The settings of a section of airflow.cfg."""
    from airflow.configuration import conf

    return set(conf.configuration_description[section]["options"])


def test_settings_of_airflow_exist() -> None:
    for section, settings in VALUES["config"].items():
        for name in settings:
            # the provider of the Kubernetes executor brings its own section, and is not installed here
            assert section == "kubernetes_executor" or name in options(section), f"{section}.{name}"
    for item in VALUES["env"]:
        if item["name"].startswith("AIRFLOW__"):
            _, section, name = item["name"].split("__", 2)
            assert name.lower() in options(section.lower()), item["name"]


def test_the_version_is_the_locked_one() -> None:
    dockerfile = (DOCS / "kubernetes" / "Dockerfile").read_text()
    assert f"FROM apache/airflow:{VALUES['airflowVersion']}-" in dockerfile
    assert f"apache-airflow=={VALUES['airflowVersion']} " in (ROOT / "requirements.txt").read_text()


def test_pods_are_ordinary_users_without_privileges() -> None:
    contexts = VALUES["securityContexts"]

    assert contexts["pod"]["runAsNonRoot"] is True
    assert contexts["containers"]["allowPrivilegeEscalation"] is False
    assert contexts["containers"]["capabilities"]["drop"] == ["ALL"]
