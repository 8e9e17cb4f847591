//===- LaunchRequests.h - Bytes that a launch asks for ----------*- C++ -*-===//

#ifndef DSFLASH_TOOLS_COMPILE_LAUNCHREQUESTS_H
#define DSFLASH_TOOLS_COMPILE_LAUNCHREQUESTS_H

#include "dsflash/Dialect/DSFlash/IR/DSFlashDialect.h"
#include <optional>

/// A launch with what it must move.
struct LaunchWork {
  mlir::dsflash::DispatchOp dispatch;
  mlir::function_ref<mlir::SmallVector<int64_t>(mlir::Value)> shapeOf;
  double stateBytes; ///< read
  double written;    ///< bytes
  double keys;       ///< that the rows of an attention see, all together
  double parts;      ///< of the rows of an indexer, that have keys
  double candidates; ///< positions that candidate blocks have room for
};

/// The bytes of global memory that the threads of a device ask for in products,
/// attention and the scan of an indexer: what follows from the tiles of their
/// blocks (docs/Nvptx.md, "What kernels ask for"). Nothing for other kernels
/// and on the host.
std::optional<double> getRequestedBytes(LaunchWork work);

#endif // DSFLASH_TOOLS_COMPILE_LAUNCHREQUESTS_H
