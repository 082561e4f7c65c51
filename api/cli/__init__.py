"""The command line: `tilewright search resnet50:layer1.0.conv2 --arch eyeriss`.

    entry.py                the program as a whole, its streams, and how it fails
    commands.py             the table of commands
    search.py               search
    space.py                space
    compare.py              compare
    explore.py              explore
    results.py              results
    bound.py                bound
    explain.py              explain
    mappings.py             evaluate, verify (--sets: the proof of legality)
    emit.py                 emit
    imports.py              import
    names.py                list, show
    roofline.py             roofline
    gpu.py                  gpu sweep, gpu advise, gpu compare
    network.py              network
    layouts.py              layouts
    plan.py                 plan
    collective.py           collective
    machines.py             --arch
    sources.py              MAPPING: which kind of mapping a file holds
    problems.py             LAYER, CASCADE, --conv, --gemm, --einsum, --op, --dim, --density
    options.py              the options that several commands take, and groups of them
    groups.py               groups of options as parameters of commands
    completions.py          what a shell may complete
    progress.py             the progress of a batch
    terminal.py             messages

Everything heavy is imported inside the command that needs it, so that `--help` and `list` answer at once.
"""

from .entry import app, main

__all__ = ["app", "main"]
