"""A network as one numpy program.

network.py  the whole text
runtime.py  what all such programs have in common
"""
