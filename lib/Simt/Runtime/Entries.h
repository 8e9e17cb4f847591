//===- Entries.h - Functions that translated code calls ---------*- C++ -*-===//

#ifndef DSFLASH_SIMT_ENTRIES_H
#define DSFLASH_SIMT_ENTRIES_H

#include "Arithmetic.h"

namespace dsflash::simt {

extern const RuntimeSymbol kThreadSymbols[];
extern const unsigned kThreadSymbolCount;
extern const RuntimeSymbol kMatrixSymbols[];
extern const unsigned kMatrixSymbolCount;
extern const RuntimeSymbol kAsyncSymbols[];
extern const unsigned kAsyncSymbolCount;

} // namespace dsflash::simt

#endif // DSFLASH_SIMT_ENTRIES_H
