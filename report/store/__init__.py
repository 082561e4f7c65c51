"""The result store: what was searched once is answered from one embedded database in every later command.

question.py    what a search is about, and the key that it is stored under
answer.py      what a search came to
record.py      an answer as a row of the database, with its checksum
database.py    the database: opening, reading, writing, removing
claims.py      which run is searching for what
location.py    where it is
opening.py     opening it, or going on without it where nobody asked for one
"""

from .answer import Answer, NoMapping, Solution
from .claims import Claims
from .database import Recalled, Store
from .location import store_path
from .question import Question
from .record import Record

__all__ = ["Answer", "Claims", "NoMapping", "Question", "Recalled", "Record", "Solution", "Store", "store_path"]
