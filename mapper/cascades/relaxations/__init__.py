"""These bound what a part of a tree costs: each leaves something of the true question away.

operation_bounds.py  what single operations take at least, with endless room
part_bounds.py       what parts weigh at least
room_bounds.py       what operations take more in the room that nodes leave them
tensor_bounds.py     what one choice for a tensor takes with these
loop_choices.py      what choices for nodes take at least
loop_bounds.py       what a part weighs at least, for all orders and trips of its loops at once
uneven_shares.py     what such visits take of as many even ones
known_branches.py    answers, and what follows from them
nothing_shared.py    what all trees weigh at least where operations have nothing in common on chip
loop_weights.py      what a part weighs that takes so much more than its operations
"""
