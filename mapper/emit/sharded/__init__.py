"""A plan for several devices as one numpy program.

runtime_links.py  schedules of collectives, step by step: what moves over every link
"""
