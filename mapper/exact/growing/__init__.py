"""How a partial mapping grows by one step, from nothing decided to a complete nest.

preparing.py      columns, bounds and context, before anything is decided
context.py        what all steps of a search have in common
batch.py          partial mappings that have taken the same steps
placements.py     step: which memories keep which tensor
array_choices.py  step: arrays, one fanout after the other, before any tile
fanouts.py        bounds on rows of arrays; and putting an array in place when a mapping has grown to it
loops.py          step: loops one after the other, innermost first, and what each of them charges
loop_band.py      the rows of a stage of these loops, and how their tiles grow
first_tiles.py    the innermost tiles, for many arrays at once
known_rows.py     dominance: a row that was queued prunes those that come to the same by other steps at no less cost
nest_builder.py   from a complete row to a mapping
"""
