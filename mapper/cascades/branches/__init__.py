"""The exact search of one operation answers branches, and isomorphic branches share an answer.

shared_branches.py  what searches of several cascades know of equal operations
isomorphic.py       operations that differ in names alone, and mirror images
oracle.py           branches answered by the exact search of one operation
branch_search.py    which search that is
"""
