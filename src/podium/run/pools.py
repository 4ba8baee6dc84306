"""Where cases are measured: in threads of this process, or by the workers of a Dask cluster."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from importlib import import_module
from queue import Empty, SimpleQueue
from typing import Any, Protocol, TypeVar

from podium.model import InputError

__all__ = ["Pool", "Threads", "dask_pool"]

_PATIENCE = 600.0  # seconds for a scheduler that was started here, and answers once other work lets it
_HANDING_OVER_SECONDS = 0.0005
_LOOKING_UP_SECONDS = 0.2

RETRIES = 3
"""How often a case is tried again when its worker is lost."""


J = TypeVar("J")
D = TypeVar("D")


class Pool(Protocol):
    """Does work case by case, and yields each as soon as it is done, in whatever order."""

    def done(self, work: Callable[[J], D], jobs: Sequence[J]) -> Iterator[D]:
        """Yield what came out of every case."""
        ...


class Threads:
    """Threads of this process; by default as many as there are processors."""

    def __init__(self, count: int | None = None) -> None:
        self._count = count or os.cpu_count() or 1

    def done(self, work: Callable[[J], D], jobs: Sequence[J]) -> Iterator[D]:
        """Yield what came out of every case."""
        with _handing_over_quickly(), ThreadPoolExecutor(self._count) as pool:
            done: SimpleQueue[Future[D]] = SimpleQueue()
            for job in jobs:
                pool.submit(work, job).add_done_callback(done.put)
            try:
                for _ in jobs:
                    yield _next(done).result()
            except BaseException:
                pool.shutdown(cancel_futures=True)
                raise


def _next(done: SimpleQueue[Future[D]]) -> Future[D]:
    """Return what is done next, looking up now and then: Polars has waiting without a time limit survive Ctrl-C."""
    while True:
        with suppress(Empty):
            return done.get(timeout=_LOOKING_UP_SECONDS)


@contextmanager
def _handing_over_quickly() -> Iterator[None]:
    """Let a thread that comes back from a kernel wait for the interpreter no longer than a kernel takes.

    Python's own 5 ms are many times what measuring a small structure takes; with them, a second thread mostly waits.
    """
    before = sys.getswitchinterval()
    sys.setswitchinterval(_HANDING_OVER_SECONDS)
    try:
        yield
    finally:
        sys.setswitchinterval(before)


class Dask:
    """The workers of a Dask cluster, which must see the same files under the same paths."""

    def __init__(self, client: Any) -> None:
        self._client = client

    def done(self, work: Callable[[J], D], jobs: Sequence[J]) -> Iterator[D]:
        """Yield what came out of every case; a case whose worker is lost is tried again elsewhere."""
        dask: Any = import_module("distributed")
        futures = [self._client.submit(work, job, pure=False, retries=RETRIES) for job in jobs]
        try:
            for batch in dask.as_completed(futures, with_results=True, raise_errors=False).batches():
                for future, result in batch:
                    if future.status != "finished":
                        raise result[1] if isinstance(result, tuple) else result
                    yield result
                    future.release()
        except dask.KilledWorker as error:
            raise InputError(
                f"a case cost {RETRIES} workers their life ({error})", advice="Give workers more memory, and resume"
            ) from None
        finally:
            self._client.cancel(futures)


@contextmanager
def dask_pool(
    address: str, *, say: Callable[[str], None] = lambda _: None, timeout_seconds: float = 20.0
) -> Iterator[Pool]:
    """Connect to a scheduler, or start workers on this machine.

    Parameters
    ----------
    address
        tcp://host:port of a running scheduler, or local:N for N workers here.
    say
        Is told where the dashboard is.
    timeout_seconds
        How long a running scheduler may take to answer.
    """
    try:
        dask: Any = import_module("distributed")
    except ImportError:
        raise InputError("Dask is not installed", advice="pip install 'podium[dask]'") from None
    kind, _, count = address.partition(":")
    if kind == "local" and not (count.isdecimal() and int(count) > 0):
        raise InputError(f"--dask {address} is not understood", advice="Say local:4, or tcp://scheduler:8786")
    with import_module("dask").config.set({"distributed.scheduler.allowed-failures": RETRIES}):
        if kind == "local":
            cluster = dask.LocalCluster(
                n_workers=int(count),
                threads_per_worker=1,
                processes=True,
                host="127.0.0.1",
                dashboard_address="127.0.0.1:0",
            )
        try:
            client = (
                dask.Client(cluster, timeout=_PATIENCE)
                if kind == "local"
                else dask.Client(address, timeout=timeout_seconds)
            )
        except (OSError, TimeoutError, ValueError) as error:
            raise InputError(f"no Dask scheduler answers at {address} ({error})") from None
        try:
            say(f"Dask dashboard: {client.dashboard_link}")
            yield Dask(client)
        finally:
            client.close()
            if kind == "local":
                cluster.close()
