"""Which instances of arrays are at work on what: a step before any tile, and one when a mapping has grown to the array.

array_choices.py  step: arrays, one fanout after the other, before any tile
fanouts.py       bounds on rows of arrays; and putting an array in place when a mapping has grown to it
single_axes.py   an array with one axis, as the search sees it
"""
