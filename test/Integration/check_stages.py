"""Checks that a model is the same bytes when its compilation stops at a stage and goes on from the text.

    check_stages.py BIN_DIR WORK_DIR MODEL [FLAG ...]
"""

import pathlib
import sys

from tools import Tools

STAGES = {"config": "0-config.json", "dsflash": "1-dsflash.mlir", "phases": "2-phases.mlir", "kernels": "3-kernels.mlir",
          "llvm": "4-llvm.ll"}


def main():
    bin_dir, work_dir, model, *flags = sys.argv[1:]
    tools = Tools(bin_dir, work_dir)
    direct = tools.compile(model, "direct", "--dump-phases-to", tools.work / "stages", *flags)
    expected = (direct / "model.so").read_bytes()
    failed = 0
    for stage, name in STAGES.items():
        text = tools.work / "stages" / name
        again = tools.compile(text, "again", f"--from={stage}", *flags)
        good = (again / "model.so").read_bytes() == expected
        failed += not good
        print(f"{'ok    ' if good else 'FAIL  '}--from={stage}: model.so {'equals' if good else 'differs from'} the direct way")
        if stage in ("config", "dsflash", "phases"):
            emitted = tools.command("dsflash-compile", model, f"--emit={stage}", *flags).stdout
            good = emitted == text.read_bytes()
            failed += not good
            print(f"{'ok    ' if good else 'FAIL  '}--emit={stage} is what --dump-phases-to wrote")
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
