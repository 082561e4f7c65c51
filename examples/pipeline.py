"""A schedule for every dense operator of an ONNX graph: python examples/pipeline.py model.onnx eyeriss schedules

Each operator gets a folder with its mapping.json, its loop nest, and programs in numpy and C. Operators that differ in
nothing but their names are searched once; what is in the store beside the folders is not searched again.
"""

import sys
from pathlib import Path

import tilewright as tw


def main(model: str, machine: str, folder: str) -> None:
    """Search all operators of a model, and write a folder for each."""
    layers = tw.load_network(model).layers
    problems = [layer.problem for layer in layers]
    found = tw.search_many(problems, machine, store=Path(folder) / "results.sqlite3")
    for layer, result in zip(layers, found, strict=True):
        print(f"{', '.join(layer.nodes)}: {result}")
        for operator in layer.nodes if isinstance(result, tw.SearchResult) else ():
            place = Path(folder) / operator.strip("/").replace("/", ".")
            result.save(place)
            (place / "kernel.c").write_text(result.emit("c"))


if __name__ == "__main__":
    main(*sys.argv[1:])
