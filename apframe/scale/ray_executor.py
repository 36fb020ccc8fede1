"""Ray with the interface of `concurrent.futures`, which Ray itself lacks."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from socket import gethostname
from typing import Any, TypeVar

from apframe.exceptions import ApframeError, ShardError, import_optional
from apframe.threads import threads
from apframe.wording import first_line, option_name

Made = TypeVar("Made")
_ATTEMPTS = 3  # how often a task starts if its worker dies
_AHEAD, _LEAST = 4, 64  # waiting tasks per CPU, and their minimum in all, because a cluster may grow


class RayExecutor(Executor):
    """An executor that runs Ray tasks with one CPU and one thread each, up to three times if the worker dies.

    If Ray runs in this process, because `ray.init` was called, its cluster is used. Otherwise RAY_ADDRESS names a cluster, or
    Ray is started on this machine with as many CPUs as apframe has threads, until the process ends or calls `ray.shutdown`.

    Every node needs the same versions of Python, Ray and apframe, and must be able to read the shards.

    Raises
    ------
    ParameterError
        Ray is missing
    ShardError
        raised by the result of a task: its worker died three times
    """

    def __init__(self) -> None:
        self._ray = running_ray()
        n_cpus = int(self._ray.cluster_resources().get("CPU", 1))
        self._waiting = ThreadPoolExecutor(max(_LEAST, _AHEAD * n_cpus), "apframe-ray")
        self._task = self._ray.remote(num_cpus=1, max_retries=_ATTEMPTS - 1)(_work())

    @property
    def is_on_this_machine(self) -> bool:
        """Return True if all workers see the files of this machine."""
        return {node["NodeManagerHostname"] for node in self._ray.nodes() if node["Alive"]} == {gethostname()}

    def submit(self, function: Callable[..., Made], /, *arguments: Any, **options: Any) -> Future[Made]:
        """Have a task do the work; it raises the same errors as in this process.

        Raises
        ------
        ShardError
            raised by `result`: the worker died three times
        """
        return self._waiting.submit(self._result, function, arguments, options)

    def _result(self, function: Callable[..., Made], arguments: tuple[Any, ...], options: dict[str, Any]) -> Made:
        try:
            done: Made = self._ray.get(self._task.remote(self._ray.cloudpickle.dumps((function, arguments, options))))
            return done
        except self._ray.exceptions.RayTaskError as error:
            if isinstance(error.cause, (ApframeError, ModuleNotFoundError)):
                raise error.cause from error  # the text of `error` has the traceback of the worker
            raise
        except self._ray.exceptions.RayError as error:
            problem = f"its Ray worker died {_ATTEMPTS} times ({first_line(error)})"
            raise ShardError(problem, "did it run out of memory? Write smaller shards") from error

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Accept no more work, and wait for none, so that Ctrl-C ends at once. Ray keeps running."""
        del wait
        self._waiting.shutdown(wait=False, cancel_futures=cancel_futures)


def running_ray() -> Any:
    """Return Ray, and start it if it does not run."""
    ray = import_optional("ray", f"{option_name('engine', 'ray')} needs Ray", "ray", "ray")
    if not ray.is_initialized():
        for name in ("RAY_USAGE_STATS_ENABLED", "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO"):  # the latter causes a warning
            os.environ.setdefault(name, "0")
        quietly = {"log_to_driver": False, "logging_level": logging.ERROR}
        if os.environ.get("RAY_ADDRESS"):
            ray.init(**quietly)
        else:  # do not join another Ray on this machine, which would end with the process that started it
            ray.init("local", num_cpus=threads(), include_dashboard=False, **quietly)
    return ray


def _work() -> Callable[[bytes], Any]:
    """Return the function of a task, pickled as a whole so that Polars is imported after its number of threads is set."""

    def run(pickled: bytes) -> Any:
        import os
        import pickle

        os.environ["POLARS_MAX_THREADS"] = "1"  # Ray assigns one CPU
        function, arguments, options = pickle.loads(pickled)
        return function(*arguments, **options)

    return run
