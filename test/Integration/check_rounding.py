"""Takes away one rounding point or quantizer after another and sees which goldens notice (docs/Numerics.md).

    check_rounding.py BIN_DIR WORK_DIR GOLDEN_DIR PART PARTS    each point of a part against the first golden of its line
    check_rounding.py BIN_DIR WORK_DIR GOLDEN_DIR --table       all points against all goldens, as the table
"""

import pathlib
import re
import sys

from check_golden import Report, check_reference, read_golden
from tools import Tools

GOLDENS = ["window", "wide", "csa2", "candidates", "engram", "full"]  # the fastest first
STATES = {"state.window": "dsflash.window<", "state.global_kv": "dsflash.global_kv<", "state.index_keys": "dsflash.index_keys<"}
TABLE = pathlib.Path(__file__).resolve().parents[2] / "docs" / "Numerics.md"


def points_of(text):
    """The rounding points and quantizers in a model's IR."""
    found = list(dict.fromkeys(re.findall(r'point = "([^"]+)"', text)))
    found += ["probabilities"] * ("round_probabilities" in text)
    return found + [point for point, kind in STATES.items() if kind in text]


def notices(tools, model, text, point):
    """Whether the golden fails without this point."""
    source, changed = tools.work / "model.mlir", tools.work / "changed.mlir"
    source.write_text(text)
    # The golden reads its prompt with `forward` alone.
    tools.command("dsflash-opt", f"--dsflash-test-drop-rounding=points={point}",
                  "--dsflash-phases-pipeline=numerics=reference probes=true phases=false", source, "-o", changed)
    artifact = tools.work / "changed.dsflash"
    tools.command("dsflash-compile", "--from=phases", changed, "-o", artifact, "--probes")
    report = Report(quiet=True)
    check_reference(tools, model, read_golden(model, "reference"), report, (artifact, "--weights", model))
    return report.failed > 0


def read_table():
    """{point: [goldens that notice]} from the lines of the table in the docs."""
    rows = re.findall(r"^\| `([^`]+)` \|[^|]*\| ([^|]*) \|$", TABLE.read_text(), re.M)
    return {point: [name for name in names.split(", ") if name in GOLDENS] for point, names in rows}


def main():
    bin_dir, work_dir, goldens = sys.argv[1:4]
    tools, goldens = Tools(bin_dir, work_dir), pathlib.Path(goldens)
    texts = {name: tools.command("dsflash-compile", goldens / name, "--emit=dsflash").stdout.decode() for name in GOLDENS}
    points = list(dict.fromkeys(point for text in texts.values() for point in points_of(text)))
    if sys.argv[4:] == ["--table"]:
        for point in points:
            having = [name for name in GOLDENS if point in points_of(texts[name])]
            seen = [name for name in having if notices(tools, goldens / name, texts[name], point)]
            print(f"| `{point}` | | {', '.join(seen) or 'none'} |", flush=True)
        return
    part, parts = map(int, sys.argv[4:])
    table, failed = read_table(), 0
    for point in points[part::parts]:
        if point not in table:
            failed += 1
            print(f"FAIL  {point}: not in the table")
        elif table[point]:
            name = table[point][0]
            good = notices(tools, goldens / name, texts[name], point)
            failed += not good
            print(f"{'ok    ' if good else 'FAIL  '}{point}: {name} {'fails' if good else 'still passes'} without it")
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
