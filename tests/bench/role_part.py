"""The first part: a role of forty operations by Stoker and by others, nothing to be changed."""

import argparse
from pathlib import Path

from . import aims, machine, node, plan, report, rows, sandbox, with_ansible
from .report import Part
from .session import Session

TITLE = "A role of forty operations"


def measured(arguments: argparse.Namespace, work: Path, cache: Path) -> Part:
    """On a sandbox of its own; `arguments` are the command line's."""
    others: plan.Others = plan.FULL if arguments.full else plan.SHORT
    if arguments.quick:
        others = dict.fromkeys(plan.SHORT, ())
    ansible = with_ansible.installed(cache)
    with sandbox.up(arguments.name, plan.CONTAINERS, arguments.keep) as state:
        session = Session(state, work, ansible)
        node.count_pct_starts(state)
        session.say(f"one start of pct costs {node.pct_cost_s(state):.2f} CPU-seconds")
        session.prepare()
        firsts = session.first_runs() if arguments.full else []
        for cell in plan.cells(others):
            session.measure(cell)
        session.check(session.containers)
        table = rows.compared(rows.medians(session.measured))
        found = [*aims.of(session, table), *firsts]
    tables = (report.of_rows(table), report.of_aims(found))
    return Part(TITLE, _ABOUT, machine.told_with_tools(), tables)


_ABOUT = """\
A role of forty operations (2 packages, a group, a user, 6 directories, 7 files, 9 templates, 3
lines, 2 links, 2 marks, 2 virtual environments, 5 services) is written twice with the same effect:
as a pyinfra deploy and as an Ansible playbook. It is applied first, by Ansible to one container and
by Stoker to the others; then every tool runs it where nothing is to be changed, and must report no
change in what the other made. testinfra checks the end state before and after.

Seconds are those of the whole process, from its start to its end; with several runs, the median.
Stoker runs before, between and after the others, since such machines drift. pct's starts were
counted on the node, whose pct is a stand-in that costs the CPU time of a real one.
"""
