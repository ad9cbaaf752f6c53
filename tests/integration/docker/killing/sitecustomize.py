"""Imported at the start of every Python process of a test's Airflow: kills a task with SIGKILL at a chosen moment.

``BENCHGATE_TEST_KILLS`` maps an arm to ``[step, function, when]``: in that step, before or after the first call of
``module:function``; with an empty function, as the step begins (before) or once it has done all its work (after).
"""

import importlib
import importlib.abc
import importlib.machinery
import json
import os
import signal
import sys
from pathlib import Path

KILLS = json.loads(os.environ.get("BENCHGATE_TEST_KILLS", "{}"))


def die():
    """Nothing of this process runs any further."""
    os.kill(os.getpid(), signal.SIGKILL)


def at(place, when):
    """Wrap a function of the library, so that its first call is the end of this process."""
    name, _, function = place.partition(":")
    owner = importlib.import_module(name)
    while "." in function:
        first, _, function = function.partition(".")
        owner = getattr(owner, first)
    real = getattr(owner, function)

    def doomed(*args, **kwargs):
        if when == "after":
            real(*args, **kwargs)
        die()

    setattr(owner, function, doomed)


def arm(task_steps):
    """Let the one function that every task calls look whether its task is to be killed."""
    real = task_steps.run

    def run(task, context):
        importlib.import_module("benchgate.hosts.docker_direct").INTERFACES = Path("/nowhere")  # ask through the probe
        step, place, when = KILLS.get((task.launch or "").partition("@")[0], (None, "", ""))
        if step != task.step:
            return real(task, context)
        if place:
            at(place, when)
        elif when == "before":
            die()
        result = real(task, context)
        if not place:
            die()
        return result

    task_steps.run = run


class Finder(importlib.abc.MetaPathFinder):
    """Arms the module when it is imported."""

    def find_spec(self, name, path, target=None):
        """See the base class."""
        if name != "benchgate.airflow.task_steps":
            return None
        spec = importlib.machinery.PathFinder.find_spec(name, path)
        load = spec.loader.exec_module

        def exec_module(module):
            load(module)
            arm(module)

        spec.loader.exec_module = exec_module
        return spec


if KILLS:
    sys.meta_path.insert(0, Finder())
