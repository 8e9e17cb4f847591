"""The runtime and its tools without the compiler: they build where there is no LLVM, and link none.

    check_runtime_alone.py BIN_DIR WORK_DIR SOURCE_DIR C_COMPILER CXX_COMPILER

Configures a build with the compiler switched off. What it would compile was compiled by this build already, with the same
macros: that is taken for it where the dependencies of the object show no header of LLVM or MLIR, and none that is made for
one build. The others are compiled.
"""

import json
import pathlib
import re
import subprocess
import sys

NOT_ALONE = re.compile(r"/(llvm|llvm-c|mlir|mlir-c)/|lib(LLVM|MLIR)")


def run(*command):
    done = subprocess.run(list(map(str, command)), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))}\n{done.stdout}")
    return done.stdout


def commands(build):
    """Command lines by output."""
    return {entry["output"]: entry["command"] for entry in json.loads(run("ninja", "-C", build, "-t", "compdb"))}


def macros(command):
    return set(re.findall(r"-DDSFLASH\S*", command))


def libraries(command):
    """Of a link."""
    return set(re.findall(r"\S+\.(?:a|so)\b|\s-l\S+", command))


def dependencies(build, objects):
    """Files by object."""
    found, current = {}, None
    for line in run("ninja", "-C", build, "-t", "deps", *objects).splitlines():
        if line.startswith("    "):
            found[current].append(line.strip())
        elif line:
            current = line.split(":")[0]
            found[current] = []
    return found


def main():
    bin_dir, work_dir, source, c_compiler, cxx_compiler = sys.argv[1:]
    whole, alone = pathlib.Path(bin_dir).parent, pathlib.Path(work_dir)
    # An LLVM package must not be needed: nothing may look for one.
    run("cmake", "-G", "Ninja", "-S", source, "-B", alone, "-DDSFLASH_BUILD_COMPILER=OFF", "-DDSFLASH_BUILD_TESTS=OFF",
        "-DCMAKE_BUILD_TYPE=Debug", f"-DCMAKE_C_COMPILER={c_compiler}", f"-DCMAKE_CXX_COMPILER={cxx_compiler}",
        "-DCMAKE_DISABLE_FIND_PACKAGE_LLVM=ON", "-DCMAKE_DISABLE_FIND_PACKAGE_MLIR=ON")
    here, there = commands(alone), commands(whole)
    objects = [output for output in here if output.endswith(".o")]
    same = [output for output in objects if output in there and macros(here[output]) == macros(there[output])]
    made = f"{whole.resolve()}/include"
    taken = {output for output, files in dependencies(whole, same).items()
             if files and not any(NOT_ALONE.search(path) or path.startswith(("include/", made)) for path in files)}
    left = [output for output in objects if output not in taken]
    print(f"{len(objects)} objects, {len(left)} compiled here:", *left, sep="\n  ")
    if left:
        run("ninja", "-C", alone, "-j", 1, *left)
    links = [output for output in here if f" -o {output} " in here[output] and not output.endswith(".o")]
    for output in links:
        if libraries(here[output]) != libraries(there[output]):
            sys.exit(f"{output}: links {sorted(libraries(here[output]))}, else {sorted(libraries(there[output]))}")
        linked = run("ldd", whole / output)
        print(output, linked, sep="\n")
        if NOT_ALONE.search(linked):
            sys.exit(f"{output} is linked with the compiler")
    print(run(whole / "bin" / "dsflash-run", "--version"))
    sys.exit("bin/dsflash-run" not in links or not objects)


if __name__ == "__main__":
    main()
