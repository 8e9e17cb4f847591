//===- FileFault.h - When a mapped file can no longer be read ---*- C++ -*-===//

#ifndef DSFLASH_TOOLS_DSFLASH_RUN_FILEFAULT_H
#define DSFLASH_TOOLS_DSFLASH_RUN_FILEFAULT_H

namespace dsflash::run {

/// Weights are read where they are mapped. From now on a page that cannot be
/// read, of a file that was cut short or on a disk that fails, ends the process
/// with exit code 1 and a message that names the file.
void reportFileFaults();

} // namespace dsflash::run

#endif // DSFLASH_TOOLS_DSFLASH_RUN_FILEFAULT_H
