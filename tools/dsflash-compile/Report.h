//===- Report.h - What a compiled model costs -------------------*- C++ -*-===//

#ifndef DSFLASH_TOOLS_COMPILE_REPORT_H
#define DSFLASH_TOOLS_COMPILE_REPORT_H

#include "StageLog.h"
#include "dsflash/Model/ModelConfig.h"
#include "mlir/IR/BuiltinOps.h"
#include <nlohmann/json.hpp>

/// `memory` (bytes of the weights, of the workspace of one chunk of a prompt,
/// of a session without tokens and of each of its tokens), `kv_bytes_per_token`
/// and `kernels` of a module at stage "kernels".
///
/// A kernel is listed for each phase of @forward, "decode" (one row) and
/// "prefill" (one chunk of one sequence), with the number of its launches.
/// Matrix products also have `flops`, two for each multiplication, and
/// `bytes_read` and `bytes_written` of all launches together, weights as the
/// checkpoint packs them; of experts at most as many as rows choose are read.
nlohmann::ordered_json describeModule(mlir::ModuleOp module,
                                      const std::string &target);

/// `parameters` of a config: counts as the model's authors give them.
nlohmann::ordered_json describeParameters(const dsflash::ModelConfig &config);

/// `stages` and their sum, `seconds`.
nlohmann::ordered_json describeTimes(const StageLog &log);

#endif // DSFLASH_TOOLS_COMPILE_REPORT_H
