"""Checks that a block of drafts leaves no trace but the accepted ones, for every width and accepted length.

    check_rollback.py BIN_DIR WORK_DIR MODEL ideal|reference CHECK_ROLLBACK
"""

import pathlib
import subprocess
import sys

from check_drafts import WIDE_BLOCK
from tools import Tools


def main():
    bin_dir, work_dir, model, mode, check = sys.argv[1:]
    model = pathlib.Path(model)
    tools = Tools(bin_dir, work_dir)
    wide = tools.changed(model, "wide", dspark_block_size=WIDE_BLOCK)
    for folder, name in ((model, "block"), (wide, f"block of {WIDE_BLOCK}")):
        artifact = tools.compile(folder, name.replace(" ", "-"), f"--numerics={mode}")
        subprocess.run([check, artifact], check=True)
        print("ok    " + name)


if __name__ == "__main__":
    main()
