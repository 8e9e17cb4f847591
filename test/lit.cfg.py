"""lit configuration: a test is a text file whose RUN lines call the tools."""

import os
import shutil

import lit.formats

config.name = "dsflash"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir", ".test"]
config.excludes = ["Inputs", "Integration", "golden", "lib"]
config.test_source_root = os.path.dirname(__file__)
config.test_exec_root = config.dsflash_test_dir

search_path = os.pathsep.join([config.dsflash_tools_dir, config.llvm_tools_dir])
tools = ["dsflash-opt", "dsflash-compile", "dsflash-run"]
tools += ["dsflash-lsp-server", "dsflash-reduce"]
tools += ["FileCheck", "not", "split-file", "count"]
missing = [tool for tool in tools if not shutil.which(tool, path=search_path)]
if missing:
    lit_config.fatal(f"not found in {search_path}: {', '.join(missing)}")

config.environment["PATH"] = os.pathsep.join([search_path, os.environ["PATH"]])
config.environment["XDG_CACHE_HOME"] = os.path.join(config.test_exec_root, "cache")
examples = os.path.join(os.path.dirname(config.dsflash_tools_dir), "examples")
config.substitutions.append(("%examples", examples))
config.substitutions.append(("%bin", config.dsflash_tools_dir))
config.environment["FILECHECK_OPTS"] = (
    "-enable-var-scope --allow-unused-prefixes=false"
)
