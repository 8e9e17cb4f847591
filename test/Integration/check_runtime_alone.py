"""Builds the runtime and dsflash-run with the compiler switched off; dsflash-run must link no LLVM.

    check_runtime_alone.py BIN_DIR WORK_DIR SOURCE_DIR C_COMPILER CXX_COMPILER
"""

import pathlib
import subprocess
import sys


def run(*command):
    done = subprocess.run(list(map(str, command)), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))}\n{done.stdout}")
    return done.stdout


def main():
    _, work_dir, source, c_compiler, cxx_compiler = sys.argv[1:]
    build = pathlib.Path(work_dir)
    # An LLVM package must not be needed: nothing may look for one.
    run("cmake", "-G", "Ninja", "-S", source, "-B", build, "-DDSFLASH_BUILD_COMPILER=OFF", "-DDSFLASH_BUILD_TESTS=OFF",
        "-DCMAKE_BUILD_TYPE=Debug", f"-DCMAKE_C_COMPILER={c_compiler}", f"-DCMAKE_CXX_COMPILER={cxx_compiler}",
        "-DCMAKE_DISABLE_FIND_PACKAGE_LLVM=ON", "-DCMAKE_DISABLE_FIND_PACKAGE_MLIR=ON")
    run("cmake", "--build", build, "-j", 1)
    tool = build / "bin" / "dsflash-run"
    linked = run("ldd", tool)
    print(linked)
    print(run(tool, "--version"))
    sys.exit("LLVM" in linked or "MLIR" in linked)


if __name__ == "__main__":
    main()
