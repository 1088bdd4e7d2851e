"""Settings of all tests."""

import os
import sys

from hypothesis import settings

# How long an example takes says how busy the machine is, and nothing of the example.
settings.register_profile("linkwright", deadline=None)
settings.load_profile("linkwright")

# Commands find out themselves how wide their terminal is; workers of parallel runs are told one.
os.environ.pop("COLUMNS", None)

# Where bytecode is not kept, each process that a test starts compiles the package anew.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False
