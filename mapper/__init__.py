"""The search: the proven best mapping of a problem on an architecture.

exact/           the exact search; `exact/from_scratch.py` describes the algorithm
cascades/        the exact search over trees of several operations
fusing.py        the best tree beside the best one with nothing fused
fusings.py       the best few trees that are fused in different ways
fusing_reasons.py why fusing wins nothing
cpsat/           the same space as a model that knows nothing of the search
simplest.py      mappings that need no search
heuristics/      random sampling, annealing, a genetic search: to compare with
strategies.py    all of them under one roof
question.py      what a search is about
answer.py        what it comes to: a mapping, its cost, its certificate
several.py       the best few, one objective after another, the Pareto front
means.py         the time and the memory that a search may take
effort.py        what decides how long searches take, and not what they find
progress.py      how far a search has come, for whoever watches it
garbage.py       how often garbage is looked for while one runs
certificate.py   what a search proves, and what it did
space/           which mappings there are, even and uneven, and how many
tilings.py       trip counts worth trying: perfect and ragged
constraints/     which part of the space is asked for; dataflows
diagnosis.py     why nothing fits
ski_slope.py     the least traffic to one buffer, against its size
layout_plan/     where the tensors of a network lie, and what is converted
lined_cascades.py  trees of cascades on machines with lines
lowering.py      convolutions as products (im2col)
segmentation/    which operations of a network are mapped as one
sharding/        one network on several devices: splits and shardings
memory_plan/     addresses for buffers with lifetimes, the least height proven
legality.py      that a mapping is a legal schedule, proven by integer sets
mapping_files.py mappings that users write
timeloop/        Timeloop's files, read
importers/       machines of other tools, read
canonical.py     what has equal costs under different names
kernel/          what all exact searches have in common
pareto/          fronts of energy and latency: weighted sums, supported points
emit/            programs that run a mapping, and other tools' files
model_version.py the number of the cost model and the spaces
"""
