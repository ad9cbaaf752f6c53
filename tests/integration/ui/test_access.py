"""Who sees what: nobody without a login, nobody what is not theirs to read, and nothing by a guessed address."""

from __future__ import annotations

import html
import json
import re
from urllib.parse import quote

import pytest

from tests.integration.ui.conftest import pages_of_a_night, run_path
from tests.integration.ui.server import AirflowServer
from tests.unit.pages.fabricated import run_id_of

pytestmark = [pytest.mark.browser, pytest.mark.slow]
ADDRESSES = [*pages_of_a_night(3).values(), "/benchgate/assets/pages.css", f"{run_path(3)}/task/plan"]


def _api(address: str) -> str:
    return address.replace("/benchgate/", "/benchgate/api/", 1)


@pytest.mark.parametrize("address", ADDRESSES)
def test_without_a_login_there_is_no_page_and_no_json(airflow: AirflowServer, address: str) -> None:
    assert airflow.get(address)[0] == 401
    assert airflow.get(address, "not.a.token")[0] in (401, 403)


@pytest.mark.parametrize("address", ["/benchgate/docs", "/benchgate/redoc", "/benchgate/openapi.json"])
def test_the_pages_do_not_describe_themselves_to_strangers(airflow: AirflowServer, address: str) -> None:
    assert airflow.get(address)[0] == 404


def test_a_browser_without_a_login_is_told_where_to_log_in(airflow: AirflowServer) -> None:
    status, body = airflow.get("/benchgate/compare", accept="text/html")

    assert status == 401
    assert "/auth/login?next=" in body


@pytest.mark.parametrize("address", ADDRESSES)
def test_an_admin_sees_every_page(airflow: AirflowServer, address: str) -> None:
    assert airflow.get(address, airflow.token("admin"))[0] == 200


def test_every_link_of_a_page_leads_to_a_page(airflow: AirflowServer) -> None:
    admin, links = airflow.token("admin"), set()
    for address in pages_of_a_night(3).values():
        found = re.findall(r'href="(/benchgate/[^"#]*)', airflow.get(address, admin)[1])
        links |= {html.unescape(link) for link in found}

    cells = {link for link in links if "/cell/" in link}
    followed = sorted((links - cells) | set(sorted(cells)[::8]))  # cells are many and alike
    dead = {link: status for link in followed if (status := airflow.get(link, admin)[0]) != 200}

    assert len(links) > 100
    assert dead == {}


def test_a_guest_sees_only_the_campaign_that_he_may_read(airflow: AirflowServer) -> None:
    guest = airflow.token("guest")

    for address in ("/benchgate/", "/benchgate/compare", "/benchgate/did-not-run", "/benchgate/hosts"):
        status, page = airflow.get(address, guest)
        assert status == 200
        assert not {"kernels", "secret", "hostile"} & set(page.replace("<", " ").replace(">", " ").split())
        status, data = airflow.get(_api(address), guest)
        assert status == 200
        assert all(name not in data for name in ("kernels", "secret", "hostile"))
    listed = json.loads(airflow.get("/benchgate/api/", guest)[1])["campaigns"]
    assert [one["campaign"] for one in listed] == ["watched"]


@pytest.mark.parametrize("address", [a for a in ADDRESSES if "kernels" in a and "compare" not in a])
def test_a_guest_reaches_nothing_of_another_campaign_by_its_address(airflow: AirflowServer, address: str) -> None:
    guest = airflow.token("guest")

    assert airflow.get(address, guest)[0] == 404
    assert airflow.get(_api(address), guest)[0] == 404


@pytest.mark.parametrize(
    "query",
    [
        "campaign=kernels",
        f"campaign=kernels&run={quote(run_id_of(3))}",
        "campaign=kernels&by=nights",
        "campaign=secret",
    ],
)
def test_a_guest_compares_nothing_of_another_campaign(airflow: AirflowServer, query: str) -> None:
    view = json.loads(airflow.get(f"/benchgate/api/compare?{query}", airflow.token("guest"))[1])

    assert view["campaign"] == "watched"
    assert {one["campaign"] for one in view["comparisons"]} <= {"watched"}
    assert all("kernels" not in json.dumps(view[name]) for name in view)


def test_a_run_is_not_reached_under_the_name_of_a_campaign_that_one_may_read(airflow: AirflowServer) -> None:
    guest = airflow.token("guest")

    assert airflow.get(f"/benchgate/run/watched/{quote(run_id_of(3))}", guest)[0] == 404


@pytest.mark.parametrize(
    "address",
    [
        "/benchgate/run/..%2f..%2f..%2fetc/passwd",
        "/benchgate/run/kernels/..%2F..%2F..%2Fetc%2Fpasswd",
        "/benchgate/assets/..%2f..%2frender.py",
        "/benchgate/assets/pages.css%00",
        f"{run_path(3)}/log/../../../../etc/passwd",
        f"{run_path(3)}/launch/%00",
        "/benchgate/run/kernels/x%27%20OR%201%3D1--",
        "/benchgate/campaign/%27%3B%20DROP%20TABLE%20cell%3B--",
    ],
)
def test_no_path_and_no_sql_comes_out_of_an_address(airflow: AirflowServer, address: str) -> None:
    status, body = airflow.get(address, airflow.token("admin"))

    assert status == 404
    assert "root:" not in body


@pytest.mark.parametrize(
    ("query", "status"),
    [
        ("campaign/kernels?metric=1;DROP%20TABLE%20cell&choice=%27", 200),
        ("campaign/kernels?page=0", 422),
        ("campaign/kernels?page=99999999999", 422),
        ("campaign/kernels?page=90000", 200),
        ("campaign/kernels?page=x", 422),
        ("compare?by=everything", 422),
        ("compare?campaign=kernels&arm=%27&baseline=%3Cscript%3E&run=%FF%FE", 200),
        ("compare?campaign=kernels&run=%00", 422),
        ("compare?campaign=&run=&arm=&campaign=kernels&campaign=hostile", 200),
        ("compare?by=", 422),
        ("hosts?%00=1", 422),
        (f"run/kernels/{'x' * 300}", 422),
        (f"{run_path(3).removeprefix('/benchgate/')}/log/triton@h200/quad-a?line=-1", 422),
        (f"{run_path(3).removeprefix('/benchgate/')}?show=" + "x" * 10_000, 422),
        ("did-not-run?everything=perhaps", 422),
        ("did-not-run?campaign=" + "x" * 600, 422),
    ],
)
def test_a_query_that_makes_no_sense_is_refused_or_ignored(airflow: AirflowServer, query: str, status: int) -> None:
    assert airflow.get(f"/benchgate/{query}", airflow.token("admin"))[0] == status
    assert airflow.get(f"/benchgate/api/{query}", airflow.token("admin"))[0] == status
