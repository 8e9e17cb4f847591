//===- ModuleTables.h - Entries and the tables of a module ------*- C++ -*-===//

#ifndef DSFLASH_LIB_CONVERSION_DSFLASHTOLLVM_MODULETABLES_H
#define DSFLASH_LIB_CONVERSION_DSFLASHTOLLVM_MODULETABLES_H

#include "ModuleLayout.h"
#include "SharedEntries.h"
#include "dsflash/Conversion/Passes.h"

namespace mlir::dsflash {

/// Name of an entry's wrapper of type dsf_entry_function.
std::string getEntryName(func::FuncOp function);

/// Adds the wrappers, which make a function's buffers from the call.
void addEntryWrappers(const ModuleLayout &layout);

/// Adds the tables of ModuleABI.h and dsf_module_query. That of kernels is only
/// named.
void addModuleTables(ModuleOp module, const ModuleLayout &layout,
                     const ConvertDSFlashToLLVMPassOptions &options);

/// Adds the table of kernels, each with its code.
void addKernelTable(ModuleOp module, const ModuleLayout &layout,
                    ArrayRef<KernelCode> codes);

} // namespace mlir::dsflash

#endif // DSFLASH_LIB_CONVERSION_DSFLASHTOLLVM_MODULETABLES_H
