"""A plan for several devices as one numpy program.

program.py        the whole text
verify.py         runs it, and reports
runtime_words.py  which words of a tensor a device has
runtime_work.py   operations, whole or a block of them
runtime_links.py  schedules of collectives, step by step: what moves over every link
runtime_mesh.py   the plan's steps on all devices, and the check
"""

from .program import sharded_program
from .verify import ShardedVerification, verify_sharded

__all__ = ["ShardedVerification", "sharded_program", "verify_sharded"]
