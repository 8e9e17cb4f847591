//===- DSFlashDialect.cpp - Registration of the dsflash dialect -----------===//

#include "dsflash/Dialect/DSFlash/IR/DSFlashDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::dsflash;

#include "dsflash/Dialect/DSFlash/IR/DSFlashDialect.cpp.inc"
#include "dsflash/Dialect/DSFlash/IR/DSFlashEnums.cpp.inc"
#include "dsflash/Dialect/DSFlash/IR/DSFlashOpInterfaces.cpp.inc"
#include "dsflash/Dialect/DSFlash/IR/DSFlashTypeInterfaces.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "dsflash/Dialect/DSFlash/IR/DSFlashAttrs.cpp.inc"

/// ", positions" where a window's slots keep them.
static ParseResult parsePositions(AsmParser &parser, bool &positions) {
  positions = succeeded(parser.parseOptionalComma());
  return positions ? parser.parseKeyword("positions") : success();
}

static void printPositions(AsmPrinter &printer, bool positions) {
  if (positions)
    printer << ", positions";
}

#define GET_TYPEDEF_CLASSES
#include "dsflash/Dialect/DSFlash/IR/DSFlashTypes.cpp.inc"

/// The type of an operand that is passed on: a tensor is the result as well.
static ParseResult parsePassedOn(OpAsmParser &parser, Type &input,
                                 Type &result) {
  if (parser.parseType(input))
    return failure();
  if (isa<RankedTensorType>(input))
    result = input;
  return success();
}

static void printPassedOn(OpAsmPrinter &printer, Operation *, Type input,
                          Type) {
  printer << input;
}

#define GET_OP_CLASSES
#include "dsflash/Dialect/DSFlash/IR/DSFlashOps.cpp.inc"

void DSFlashDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "dsflash/Dialect/DSFlash/IR/DSFlashAttrs.cpp.inc"
      >();
  addTypes<
#define GET_TYPEDEF_LIST
#include "dsflash/Dialect/DSFlash/IR/DSFlashTypes.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "dsflash/Dialect/DSFlash/IR/DSFlashOps.cpp.inc"
      >();
}
