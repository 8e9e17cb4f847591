"""Checks the reference that TableGen writes: every operation says its shapes and its source, and its example parses.

    check_reference.py BUILD_DIR
"""

import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
LLVM = pathlib.Path("/usr/lib/llvm-22")
# Operations without tensors of their own.
SHAPELESS = {"dsflash.param", "dsflash.param_ref", "dsflash.encoder", "dsflash.decoder", "dsflash.yield",
             "dsflash.layer", "dsflash.probe", "dsflash.dispatch", "dsflash.report", "dsflash.await_rows"}
NAME = re.compile(r"%\w+")
MISMATCH = re.compile(r"use of value '(%\w+)' expects different type than prior uses: '(.*)' vs '")


def reference():
    """{operation: its section}"""
    text = subprocess.run([LLVM / "bin/mlir-tblgen", "-gen-dialect-doc", "-dialect=dsflash", f"-I{ROOT}/include",
                           f"-I{LLVM}/include", ROOT / "include/dsflash/Dialect/DSFlash/IR/DSFlashOps.td"],
                          check=True, capture_output=True, text=True).stdout
    operations = text[text.index("\n## Operations"):text.index("\n## Attributes")]
    sections = re.split(r"^### `", operations, flags=re.M)[1:]
    return {section.split("`")[0]: section for section in sections}


def outer(types):
    """Splits a list of types at its own commas."""
    parts, depth = [""], 0
    for c in types:
        depth += (c in "<[(") - (c in ">])")
        if c == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += c
    return [part.strip() for part in parts]


def operands(example):
    """{value: guessed type} of what an example uses and does not make."""
    made = {name for names in re.findall(r"^\s*((?:%[\w:]+(?:, )?)+) =", example, re.M) for name in NAME.findall(names)}
    types = {name: "index" for name in NAME.findall(example) if name not in made}
    signature = re.search(r"(.*?)\s:\s*\((.*?)\)\s*->", example, re.S)
    if signature:
        used = NAME.findall(signature[1].split(" = ", 1)[-1])
        given = outer(" ".join(signature[2].split()))
        if len(used) == len(given):
            types.update((name, type) for name, type in zip(used, given) if name in types)
    return types


def parse(opt, operation, example):
    """The message of dsflash-opt, empty when the example parses for operands of some types."""
    types = operands(example)
    while True:
        values = "".join(f'{name} = "test.value"() : () -> {type}\n' for name, type in types.items())
        body = f'"test.wrap"() ({{\n{values}{example}}}) : () -> ()\n'
        if operation == "dsflash.yield":
            body = f"{values}%end = dsflash.encoder : tensor<?x4x64xf32> {{\n{example}}}\n"
        elif operation == "dsflash.param":
            body = example
        done = subprocess.run([opt, "--allow-unregistered-dialect", "--mlir-very-unsafe-disable-verifier-on-parsing"],
                              input=body, capture_output=True, text=True)
        mismatch = MISMATCH.search(done.stderr)
        if done.returncode == 0 or not mismatch or types.get(mismatch[1]) in (None, mismatch[2]):
            return done.stderr if done.returncode else ""
        types[mismatch[1]] = mismatch[2]


def main():
    opt = pathlib.Path(sys.argv[1]) / "bin/dsflash-opt"
    faults = []
    for operation, section in reference().items():
        text = " ".join(section.split())
        wanted = ["SPEC section|docs/Rationale.md", "Example:"] + ["Shapes:"] * (operation not in SHAPELESS)
        faults += [f"{operation}: no '{word}' in its description" for word in wanted if not re.search(word, text)]
        for example in re.findall(r"Example:\s*```mlir\n(.*?)```", section, re.S):
            message = parse(opt, operation, example)
            faults += [f"{operation}: its example does not parse\n{message}"] * bool(message)
    print("\n".join(faults))
    sys.exit(bool(faults))


if __name__ == "__main__":
    main()
