"""Gates: rules that decide what may be published. Great Expectations decides; one rule a small thing.

``run_gates(campaign, ledger, launches, cells, report_dir=..)``   verdicts, quarantine, end states: a ``GateResult``
``expected_outcome(campaign, ledger, outcomes)``                  did every arm end as its ``expect`` says
``token_totals(parquet)``                                         what a client sent, for the measuring step
"""

from benchgate.gates.decide import run_gates
from benchgate.gates.outcome import expected_outcome
from benchgate.gates.totals import token_totals

__all__ = ["expected_outcome", "run_gates", "token_totals"]
