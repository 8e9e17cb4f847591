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

/// A window's format, and ", positions" where its slots keep them.
static ParseResult parseRingRow(AsmParser &parser, FormatAttr &format,
                                bool &positions) {
  auto parsed = FieldParser<FormatAttr>::parse(parser);
  if (failed(parsed))
    return failure();
  format = *parsed;
  positions = succeeded(parser.parseOptionalComma());
  return positions ? parser.parseKeyword("positions") : success();
}

static void printRingRow(AsmPrinter &printer, FormatAttr format,
                         bool positions) {
  printer.printStrippedAttrOrType(format);
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
