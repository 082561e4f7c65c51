"""The commands: names, what each does in a line, and where it is. Each is imported and built when it is first used."""

from __future__ import annotations

import ast
import inspect
import sys
from collections import UserDict
from contextlib import suppress
from functools import cache
from importlib import import_module
from types import ModuleType
from typing import Any

import typer
from typer.main import get_command, get_group

COMMANDS = {
    "search": ("search", "search", "Find the best mapping of a layer, with proof."),
    "space": ("space", "space_size", "Count the mappings of a layer."),
    "compare": ("compare", "compare", "Compare dataflows across architectures for networks."),
    "compile": ("compile", "compile_network", "Map a whole network, operations fused where it pays."),
    "layouts": ("layouts", "layouts", "Find the best layouts of a network's tensors."),
    "explore": ("explore", "explore", "Explore a space of architectures for a network."),
    "bound": ("bound", "bound", "Find the least traffic to one buffer, by its size."),
    "evaluate": ("mappings", "evaluate", "Compute what a mapping costs."),
    "explain": ("explain", "explain", "Explain a mapping, and what would help."),
    "verify": ("mappings", "verify", "Run the numpy program of a mapping and compare."),
    "emit": ("emit", "emit", "Print a mapping as a program or as another tool's file."),
    "list": ("names", "list_names", "List architectures, systems, networks, layers, dataflows or GPUs."),
    "show": ("names", "show", "Show an architecture, a system, a network, a layer or a dataflow."),
    "roofline": ("roofline", "roofline", "Show layers under the roofs of a machine."),
    "network": ("network", "network", "Print the layers of a network with their figures."),
    "collective": ("collective", "collective", "Show what a collective costs on a system of devices."),
    "plan": ("plan", "plan", "Plan the addresses of buffers with lifetimes."),
    "results": ("results", "app", "List, show, export and remove stored results."),
    "import": ("imports", "imports", "Read other tools' files and evaluate."),
    "gpu": ("gpu", "gpu_commands", "Model matrix products on GPUs."),
}
"""Name -> the module in this folder, the function or group of commands in it, and a line for the list of commands."""


class LazyCommands(UserDict[str, Any]):
    """Name -> command, built when it is asked for; the names alone cost nothing."""

    def __init__(self) -> None:
        super().__init__(dict.fromkeys(COMMANDS))

    def __getitem__(self, name: str) -> Any:
        built = super().__getitem__(name)
        if built is None:
            built = self.data[name] = _built(name)
        return built


def keep_descriptions(module: ModuleType) -> None:
    """Give the functions of a module the descriptions that `python -OO` takes from them, as its source has them."""
    if sys.flags.optimize < 2:
        return
    with suppress(OSError):  # no source
        for node in ast.parse(inspect.getsource(module)).body:
            if isinstance(node, ast.FunctionDef):
                getattr(module, node.name).__doc__ = ast.get_docstring(node)


@cache
def _built(name: str) -> Any:
    """The command as typer runs it; it keeps nothing of one run for the next."""
    place, attribute, short_help = COMMANDS[name]
    module = import_module(f".{place}", __package__)
    keep_descriptions(module)
    found = getattr(module, attribute)
    if isinstance(found, typer.Typer):
        command: Any = get_group(found)
        command.name = name
        return command
    alone = typer.Typer(add_completion=False, rich_markup_mode=None)
    alone.command(name, short_help=short_help)(found)
    return get_command(alone)
