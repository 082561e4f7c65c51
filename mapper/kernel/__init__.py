"""What all exact searches have in common, whatever they search.

- `tolerance.py`: when a value is better than another one, and when a bound reaches it.
"""
