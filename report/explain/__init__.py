"""Why a mapping costs what it costs: facts about it, each with the sentence that says it.

    energy.py       where the energy goes, largest part first
    latency.py      what bounds the latency, how near the next limit is
    utilization.py  why MACs idle: axes that are not full, ragged edges, waiting
    reuse.py        how often every memory uses a word that it was filled with
    loops.py        what each loop moves, keeps and shares
    distance.py     how far all of this is from what no mapping can do without
    changes.py      changes of the machine that may help
    ranking.py      what they gain, and their order
    facts.py        all of them together
    page.py         the page of text
    picture.py      the picture of the nest (marks.py: what stands at the loops)
    explanation.py  the facts with their page and picture
    tree_picture.py the tree, and what memories hold while each operation works

Facts are plain data in base units (words, pJ, cycles); `Explanation.as_dict` is what `--json` prints.
"""
