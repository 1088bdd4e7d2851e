"""Performs one run in a worker: takes parameters as JSON, and returns the result as JSON.

An error that a run raises comes back as data. An exception need not survive pickling. One that does
not would look as if its worker were lost.
"""

from __future__ import annotations

import json
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from linkwright import __version__

__all__ = ["Failure", "Outcome", "perform"]


@dataclass(frozen=True)
class Failure:
    """Holds the error that a run raised.

    Attributes:
        message: The exception's name and text, in one line.
        traceback: Where it came from, as Python prints it.
    """

    message: str
    traceback: str


@dataclass(frozen=True)
class Outcome:
    """Says how a run ended.

    Attributes:
        result: Its result as JSON; empty if it failed.
        cpu_seconds: The processor time of the worker's process while it lasted.
        failure: The error that it raised.
    """

    result: str
    cpu_seconds: float
    failure: Failure | None = None


def perform(function: Callable[..., Any], parameters: str, version: str) -> Outcome:
    """Calls the function with the parameters, a JSON object, by keyword.

    Args:
        function: The function that a run of the sweep calls.
        parameters: Its parameters as JSON.
        version: Of Linkwright, that the sweep is of: a cluster's worker may have another.

    Returns:
        The result, or what was raised.

    Raises:
        KeyboardInterrupt: If the worker was interrupted.
    """
    begun = time.process_time()
    if version != __version__:
        message = f"the worker has linkwright {__version__}, the sweep is of {version}"
        return Outcome("", 0.0, Failure(f"{message}; install the same on both", ""))
    try:
        result = json.dumps(function(**json.loads(parameters)), allow_nan=False)
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        # A panic of the extension is no Exception, and is a run's failure all the same.
        message = f"{type(error).__name__}: {' '.join(str(error).split())}"
        failure = Failure(message, traceback.format_exc())
        return Outcome("", time.process_time() - begun, failure)
    return Outcome(result, time.process_time() - begun)
