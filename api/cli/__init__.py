"""The command line: `tilewright search resnet50:layer1.0.conv2 --arch eyeriss`.

    entry.py                the program as a whole, and how it fails
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
    machines.py             --arch
    problems.py             LAYER, --conv, --gemm, --einsum, --dim
    constraint_options.py   --dataflow, --constraints, --constraint
    options.py              the options that several commands take
    several.py              the answer of --top, --pareto
    progress.py             the progress of a batch
    terminal.py             messages

Everything heavy is imported inside the command that needs it, so that `--help` and `list` answer at once.
"""

from .bound import bound
from .compare import compare
from .emit import emit
from .entry import app, main
from .explain import explain
from .explore import explore
from .gpu import gpu_commands
from .imports import imports
from .mappings import evaluate, verify
from .names import list_names, show
from .network import network
from .results import app as results
from .roofline import roofline
from .search import search
from .space import space_size

__all__ = ["app", "main"]

app.command(short_help="Find the best mapping of a layer, with proof.")(search)
app.command("space", short_help="Count the mappings of a layer.")(space_size)
app.command(short_help="Compare dataflows across architectures for networks.")(compare)
app.command(short_help="Explore a space of architectures for a network.")(explore)
app.add_typer(results, name="results", short_help="List, show, export and remove stored results.")
app.command(short_help="Find the least traffic to one buffer, by its size.")(bound)
app.command(short_help="Compute what a mapping costs.")(evaluate)
app.command(short_help="Explain a mapping, and what would help.")(explain)
app.command(short_help="Run the numpy program of a mapping and compare.")(verify)
app.command(short_help="Print a mapping as a program or as another tool's file.")(emit)
app.command("list", short_help="List architectures, networks, layers, dataflows or GPUs.")(list_names)
app.add_typer(imports, name="import", short_help="Read other tools' files and evaluate.")
app.command(short_help="Show an architecture, a network, a layer or a dataflow.")(show)
app.command(short_help="Show layers under the roofs of a machine.")(roofline)
app.add_typer(gpu_commands, name="gpu", help="Model matrix products on GPUs.")
app.command(short_help="Print the layers of a network with their figures.")(network)
