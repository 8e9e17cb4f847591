//===- Report.h - What a compiled model costs -------------------*- C++ -*-===//

#ifndef DSFLASH_TOOLS_COMPILE_REPORT_H
#define DSFLASH_TOOLS_COMPILE_REPORT_H

#include "ContextCost.h"
#include "StageLog.h"
#include "dsflash/Model/ModelConfig.h"
#include "dsflash/Target/DeviceCode.h"
#include "mlir/IR/BuiltinOps.h"
#include <nlohmann/json.hpp>

/// `memory_plan`, `memory` (bytes of the weights, of the workspace of one chunk
/// of a prompt, of a session without tokens and of each of its tokens),
/// `kv_bytes_per_token` and `kernels` of a module at stage "kernels".
///
/// A kernel is listed for each phase of @forward, "decode" (one row behind
/// `tokens_before` others) and "prefill" (one chunk of one sequence), with the
/// number of its launches. `bytes_read` and `bytes_written` are what all
/// launches together must move (LaunchTraffic), `bytes_requested` what threads
/// of a device ask for by the formula of the kernel's tile, null where there is
/// none. Products, and attention and indexers on a device, have `flops`, two
/// for each multiplication; null elsewhere. `buffers` are those of the first
/// launch. The plan lists the pieces of each function's workspace for a chunk.
///
/// `phases` has what a call of each entry multiplies: a step, a chunk of a
/// prompt, the rows that a decoder tail needs. `active_parameters` is half of
/// the operations for a row. `contexts` are those of ContextCost, beside the
/// products of a step; `flops_growth` divides the last by the first, with the
/// products of FP4 queries and keys counted like others, and at half and a
/// quarter of that.
nlohmann::ordered_json describeModule(mlir::ModuleOp module,
                                      const std::string &target,
                                      const std::vector<ContextCost> &contexts);

/// Adds `registers`, `spills` and `shared_memory` of its entry to each kernel
/// of a report.
void addResources(
    const llvm::StringMap<mlir::dsflash::KernelResources> &resources,
    const llvm::StringMap<std::string> &entries,
    nlohmann::ordered_json &report);

/// `parameters` of a config: counts as the model's authors give them.
nlohmann::ordered_json describeParameters(const dsflash::ModelConfig &config);

/// `stages`, with the operations of the module behind each (0 where there is
/// none), the sum of their `seconds`, and `passes`. Ends the log's measuring.
nlohmann::ordered_json describeTimes(StageLog &log,
                                     const nlohmann::ordered_json &operations);

/// The report as a page of HTML that needs nothing else.
std::string makeReportPage(const nlohmann::ordered_json &report,
                           const std::string &title);

#endif // DSFLASH_TOOLS_COMPILE_REPORT_H
