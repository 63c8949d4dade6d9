# ruff: noqa: F401, I001
from labkit.runtime.drive import advance, approvals, arun, begin, reject, run, stream
from labkit.runtime.machine import Agent, Budget
from labkit.runtime.saved import dump, load
from labkit.runtime.states import TRANSITIONS, Authorising, Deciding, Done, Event, Executing, Observing
from labkit.runtime.states import Reconciling, State, Stopped, Validating, Waiting, step
