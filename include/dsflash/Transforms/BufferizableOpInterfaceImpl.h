//===- BufferizableOpInterfaceImpl.h - Launches on buffers ------*- C++ -*-===//

#ifndef DSFLASH_TRANSFORMS_BUFFERIZABLEOPINTERFACEIMPL_H
#define DSFLASH_TRANSFORMS_BUFFERIZABLEOPINTERFACEIMPL_H

namespace mlir {
class DialectRegistry;
} // namespace mlir

namespace mlir::dsflash {

/// Lets one-shot bufferization see through `dsflash.dispatch` (ins are read,
/// outs are read and written in place) and `dsflash.probe` (in place).
void registerBufferizableOpInterfaceExternalModels(DialectRegistry &registry);

} // namespace mlir::dsflash

#endif // DSFLASH_TRANSFORMS_BUFFERIZABLEOPINTERFACEIMPL_H
