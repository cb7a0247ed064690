"""The twenty tasks, in the order in which they are run."""

from ..task import Task
from . import changing, minding, reading, working

TASKS: tuple[Task, ...] = (*reading.TASKS, *changing.TASKS, *working.TASKS, *minding.TASKS)
