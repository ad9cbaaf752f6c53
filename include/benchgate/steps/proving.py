"""Step ``prove_kernel``: what the server said about itself, and whether that is what was asked for."""

from __future__ import annotations

from benchgate import fingerprint
from benchgate.engines import get_engine
from benchgate.errors import GateRefused
from benchgate.records import LaunchRecord, Proof
from benchgate.steps.context import CampaignRun
from benchgate.steps.launching import Say, keep_log, launch_record, started


def prove(run: CampaignRun, launch_key: str, *, say: Say = print) -> LaunchRecord:
    """Read the server's log and API: every fact with its line; then compare with what the arm must prove.

    Raises:
        GateRefused: a fact that the campaign asks for is another one, or is not proven at all.
    """
    handle = started(run, launch_key)
    host, record = run.host(handle.host), launch_record(run, launch_key)
    engine = get_engine(record.engine)
    facts = engine.parse_log(host.log_lines(handle))
    proofs = dict(facts.proofs)
    for proof in engine.api_proofs(lambda path: host.http_get(handle, path)):
        proofs.setdefault(proof.name, proof)
    version = proofs.get("engine_version")
    record = run.update_launch(
        launch_key,
        proofs=list(proofs.values()),
        warnings=facts.warnings,
        engine_version=str(version.value) if version else record.engine_version,
        simulated="simulated" in proofs,
    )
    record = run.update_launch(launch_key, fingerprint=fingerprint.fingerprint(record))
    for proof in proofs.values():
        where = f"line {proof.evidence.line}" if proof.evidence.line else proof.evidence.source
        say(f"{proof.name} = {proof.value}  ({where}: {proof.evidence.text.strip()[:140]})")
    if record.fingerprint is None:
        say(f"fingerprint incomplete: {', '.join(fingerprint.missing(record))} unknown")
    keep_log(run, launch_key, host, handle)
    unproven = unproven_claims(run.campaign.arms[record.arm].prove, proofs)
    if unproven:
        raise GateRefused(f"{launch_key}: {'; '.join(unproven)}", remedy="see the launch's proofs and server log")
    return record


def unproven_claims(claims: dict[str, str | int | float | bool], proofs: dict[str, Proof]) -> list[str]:
    """What the arm claims and its server did not say, in words."""
    problems = []
    for name, wanted in claims.items():
        proof = proofs.get(name)
        if proof is None:
            problems.append(f"{name} should be {wanted} and the server's log does not say")
        elif proof.value != wanted and str(proof.value).casefold() != str(wanted).casefold():
            problems.append(f"{name} should be {wanted} and is {proof.value}: {proof.evidence.text.strip()[:160]}")
    return problems
