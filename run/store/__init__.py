"""The result store: what was searched once is answered from one embedded database in every later command.

key.py         the key that an answer is stored under
result.py      what a search came to
record.py      an answer as a row of the database, with its checksum
known_trees.py what searches of a group of a network have found out so far
database.py    the database: opening, reading, writing, removing
claims.py      which run is searching for what
opening.py     opening it, or going on without it where nobody asked for one
"""

from .claims import Claims
from .database import Recalled, Store
from .key import stored_key
from .known_trees import KnownTrees, was_interrupted
from .opening import store_path
from .record import Record, record_of
from .result import NoMapping, Result, Searches

__all__ = [
    "Claims",
    "KnownTrees",
    "NoMapping",
    "Recalled",
    "Record",
    "Result",
    "Searches",
    "Store",
    "record_of",
    "store_path",
    "stored_key",
    "was_interrupted",
]
