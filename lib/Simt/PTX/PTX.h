//===- PTX.h - A parsed PTX module ------------------------------*- C++ -*-===//
//
// Plain structs that a Parser fills: names are resolved, every instruction
// knows its line. PTX ISA, sections 4 and 5.
//
//===----------------------------------------------------------------------===//

#ifndef DSFLASH_SIMT_PTX_H
#define DSFLASH_SIMT_PTX_H

#include "dsflash/Simt/Simt.h"

namespace dsflash::simt::ptx {

/// Where an instruction stands: in the PTX, and by `.loc` in the source.
struct Location {
  unsigned line = 0;
  unsigned file = 0, sourceLine = 0, sourceColumn = 0; ///< file 0: unknown
};

enum class Space { Generic, Param, Global, Shared, Local, Const };

/// A fundamental type: letter ('b', 'u', 's', 'f', 'p' for .pred or 'B' for
/// the bf16 family), bits of one element and number of packed elements.
struct Type {
  char kind = 0;
  unsigned bits = 0;
  unsigned lanes = 1;

  explicit operator bool() const { return kind; }
  unsigned totalBits() const { return bits * lanes; }
  bool isFloat() const { return kind == 'f' || kind == 'B'; }
  bool isSigned() const { return kind == 's'; }
};
/// The type named by "f32", "bf16x2", ...; none if there is no such type.
Type parseType(std::string_view name);

struct Operand {
  enum class Kind {
    Register, ///< index
    Special,  ///< name: "%tid.x"
    Integer,  ///< value
    Float,    ///< value: bits of a float (bytes 4) or a double (bytes 8)
    Variable, ///< index into Module or Function (local), plus value
    Label,    ///< index
    Function, ///< index
    Targets,  ///< index of a branch table
    Address,  ///< [elements[0] + value], more elements: coordinates
    Vector,   ///< {elements}
    Pair,     ///< elements[0] | elements[1]
    List,     ///< (elements) of a call
    Sink,     ///< _
    Name,     ///< not resolved yet
  };
  Kind kind = Kind::Sink;
  std::string name;
  uint64_t value = 0;
  unsigned index = 0;
  unsigned bytes = 0;
  bool local = false;   ///< Variable: of the function
  bool negated = false; ///< !register
  std::vector<Operand> elements;
};

struct Instruction {
  Location location;
  int predicate = -1; ///< register index
  bool negated = false;
  std::string opcode;             ///< "ld.global.v4.f32"
  std::vector<std::string> parts; ///< "ld", "global", "v4", "f32"
  std::vector<Operand> operands;
};

struct Variable {
  std::string name;
  Space space = Space::Generic;
  uint32_t alignment = 1;
  uint64_t bytes = 0;
  bool external = false; ///< `.extern .shared x[]`: the dynamic shared memory
  std::vector<uint8_t> initial;
  unsigned line = 0;
};

struct Register {
  std::string name;
  Type type;
};

struct Label {
  std::string name;
  size_t position = 0; ///< index of the instruction behind it
};

struct Function {
  std::string name;
  bool isKernel = false;
  bool isDeclaration = false;
  unsigned line = 0;
  std::vector<Variable> variables; ///< parameters, results, then all others
  unsigned parameters = 0, results = 0;
  std::vector<Register> registers;
  std::vector<Instruction> instructions;
  std::vector<Label> labels;
  std::vector<std::vector<unsigned>> targets; ///< labels of branch tables
  Dim3 maxThreads = {0, 0, 0};
};

struct Module {
  std::string name;
  std::string target; ///< "sm_80"
  std::map<unsigned, std::string> files;
  std::vector<Variable> variables;
  std::vector<Function> functions;
};

/// Errors: "name:line: why".
Result<Module> parse(std::string_view text, std::string name);

} // namespace dsflash::simt::ptx

#endif // DSFLASH_SIMT_PTX_H
