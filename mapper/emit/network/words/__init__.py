"""What words of a network are, how they are stored, and what is done with them.

known_words.py    between which numbers words are
stored.py         types in which words are stored in C programs of quantized networks
stored_values.py  words that a model states
operands.py       what groups are given: tensors and parameters
finishes.py       what is done with words as they are written
parameters.py     all parameters, one after the other
kinds.py          which type each tensor has
widths.py         how wide words are stored, asked before the search
steps.py          tables of whole numbers at equal distances
"""
