"""What all exact searches have in common, whatever they search.

states.py        what a search is made of: states that are open, and what they come to
best_first.py    the loop: the state with the lowest bound goes on, until none lies below the incumbent
frontier.py      what is open, by its bound, within a limit of memory
incumbents.py    the best answers so far, and the cutoff that they set
remembered.py    what an object has worked out, kept by what it was asked
tolerance.py     when a value is better than another one, and when a bound reaches it
"""
