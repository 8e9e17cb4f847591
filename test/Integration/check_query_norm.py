"""Puts a norm on the query heads, which the model does not have, and expects the goldens to notice.

    check_query_norm.py BIN_DIR WORK_DIR MODEL
"""

import json
import pathlib
import re
import sys

from check_golden import Report, check_ideal, check_reference, read_golden
from tools import Tools

POINT = re.compile(r'^( *)(%\S+) = dsflash\.round (%\S+) \{point = "attn\.wq_b"\} : (tensor<\?x(\d+)xf32>)\n', re.M)

# One row of queries, head by head: x / sqrt(mean(x^2) + eps), as the earlier model had it.
KERNEL = """
  func.func private @test_query_norm(%begin: index, %end: index, %x: memref<?x{width}xf32>, %y: memref<?x{width}xf32>)
      attributes {{dsflash.kernel}} {{
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %heads = arith.constant {heads} : index
    %dim = arith.constant {dim} : index
    %zero = arith.constant 0.0 : f32
    %eps = arith.constant 1.0e-20 : f32
    %count = arith.constant {dim}.0 : f32
    scf.for %row = %begin to %end step %c1 {{
      scf.for %head = %c0 to %heads step %c1 {{
        %first = arith.muli %head, %dim : index
        %sum = scf.for %i = %c0 to %dim step %c1 iter_args(%s = %zero) -> f32 {{
          %column = arith.addi %first, %i : index
          %v = memref.load %x[%row, %column] : memref<?x{width}xf32>
          %square = arith.mulf %v, %v : f32
          %next = arith.addf %s, %square : f32
          scf.yield %next : f32
        }}
        %mean = arith.divf %sum, %count : f32
        %safe = arith.addf %mean, %eps : f32
        %root = math.sqrt %safe : f32
        scf.for %i = %c0 to %dim step %c1 {{
          %column = arith.addi %first, %i : index
          %v = memref.load %x[%row, %column] : memref<?x{width}xf32>
          %normed = arith.divf %v, %root : f32
          memref.store %normed, %y[%row, %column] : memref<?x{width}xf32>
        }}
      }}
    }}
    return
  }}
"""


def with_query_norm(text, heads, dim):
    """The model IR with a launch of the kernel behind every projection of the queries."""
    width = heads * dim

    def launch(match):
        indent, name, value, kind, _ = match.groups()
        return (f'{indent}%qn{name[1:]} = dsflash.round {value} {{point = "attn.wq_b"}} : {kind}\n'
                f"{indent}%qc{name[1:]} = arith.constant 0 : index\n"
                f"{indent}%qd{name[1:]} = tensor.dim %qn{name[1:]}, %qc{name[1:]} : {kind}\n"
                f"{indent}%qe{name[1:]} = tensor.empty(%qd{name[1:]}) : {kind}\n"
                f"{indent}{name} = dsflash.dispatch @test_query_norm grid(%qd{name[1:]}) ins(%qn{name[1:]} : {kind}) "
                f"outs(%qe{name[1:]} : {kind}) -> {kind}\n")

    changed, places = POINT.subn(launch, text)
    if not places:
        raise SystemExit("no projection of the queries found")
    return changed.rstrip().removesuffix("}") + KERNEL.format(width=width, heads=heads, dim=dim) + "}\n"


def main():
    bin_dir, work_dir, model = sys.argv[1:]
    tools, model = Tools(bin_dir, work_dir), pathlib.Path(model)
    config = json.loads((model / "config.json").read_text())
    config = config.get("text_config", config)
    text = tools.command("dsflash-compile", model, "--emit=dsflash").stdout.decode()
    source = tools.work / "query-norm.mlir"
    source.write_text(with_query_norm(text, config["num_attention_heads"], config["head_dim"]))
    failed = 0
    for mode, check in (("ideal", check_ideal), ("reference", check_reference)):
        artifact = tools.compile(source, mode, "--from=dsflash", f"--numerics={mode}", "--probes")
        report = Report(quiet=True)
        check(tools, model, read_golden(model, mode), report, (artifact, "--weights", model))
        failed += not report.failed
        print(f"{'ok    ' if report.failed else 'FAIL  '}{mode}: {report.failed} comparisons notice a norm on the query heads")
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
