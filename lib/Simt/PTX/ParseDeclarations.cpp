//===- ParseDeclarations.cpp - Registers and variables --------------------===//

#include "Parser.h"

#include <algorithm>

namespace dsflash::simt::ptx {

// Above this a declaration is not believed.
static constexpr uint64_t kMaxRegisters = 1 << 20;
static constexpr uint64_t kMaxVariableBytes = uint64_t(1) << 32;

bool Parser::isSpace(std::string_view word) const {
  return word == ".param" || word == ".global" || word == ".shared" ||
         word == ".local" || word == ".const";
}

bool Parser::declare(const std::string &name, Entity entity, unsigned line) {
  if (!scopes[scope].names.try_emplace(name, entity).second)
    return failAt(line, "'" + name + "' is declared twice");
  return true;
}

bool Parser::parseRegisters() {
  advance();
  std::string_view word = token.text;
  Type type = word.empty() ? Type() : parseType(word.substr(1));
  if (!type)
    return fail("no register type: '" + std::string(token.text) + "'");
  advance();
  do {
    std::string name(token.text);
    unsigned line = token.line;
    if (token.kind != Token::Kind::Word)
      return fail("expected the name of a register");
    advance();
    uint64_t count = 0;
    bool range = accept("<");
    if (range && (!parseInteger(count) || !expect(">")))
      return false;
    if (count + function->registers.size() > kMaxRegisters)
      return failAt(line, "too many registers");
    for (uint64_t i = 0; i < (range ? count : 1); ++i) {
      std::string full = range ? name + std::to_string(i) : name;
      if (!declare(full,
                   {Operand::Kind::Register,
                    unsigned(function->registers.size()), true},
                   line))
        return false;
      function->registers.push_back({full, type});
    }
  } while (accept(","));
  return expect(";");
}

// `.space [.align n] .type name[n][m]`, the space already known.
bool Parser::parseVariable(Variable &variable) {
  Type type;
  unsigned vector = 1;
  bool aligned = false;
  for (; token.kind == Token::Kind::Word && token.text[0] == '.';) {
    std::string_view word = token.text;
    advance();
    if (word == ".align") {
      uint64_t alignment = 0;
      if (!parseInteger(alignment))
        return false;
      if (alignment == 0 || alignment > 65536 || (alignment & (alignment - 1)))
        return fail("no alignment: " + std::to_string(alignment));
      variable.alignment = uint32_t(alignment);
      aligned = true;
    } else if (word == ".v2" || word == ".v4") {
      vector = word[2] - '0';
    } else if (word == ".ptr") {
      // `.ptr .space .align n`, a note on what a parameter points at.
      if (isSpace(token.text))
        advance();
      uint64_t ignored;
      if (accept(".align") && !parseInteger(ignored))
        return false;
    } else if (word == ".attribute") {
      while (token.kind != Token::Kind::End && !accept(")"))
        advance();
    } else if (!(type = parseType(word.substr(1)))) {
      return fail("no type: '" + std::string(word) + "'");
    }
  }
  if (!type || type.kind == 'p')
    return fail("a variable needs a type");
  if (token.kind != Token::Kind::Word)
    return fail("expected the name of a variable");
  variable.name = token.text;
  variable.line = token.line;
  advance();
  variable.bytes = uint64_t(type.totalBits() / 8) * vector;
  if (!aligned)
    variable.alignment = uint32_t(variable.bytes);
  while (accept("[")) {
    uint64_t extent = 0;
    if (!token.is("]") && !parseInteger(extent))
      return false;
    if (extent > kMaxVariableBytes / std::max<uint64_t>(variable.bytes, 1))
      return fail("'" + variable.name + "' is too large");
    variable.bytes *= extent;
    if (!expect("]"))
      return false;
  }
  return !accept("=") || parseInitializer(variable, type);
}

bool Parser::parseInitializer(Variable &variable, Type element) {
  unsigned bytes = element.totalBits() / 8;
  auto append = [&] {
    bool negative = accept("-");
    bool number =
        token.kind == Token::Kind::Integer || token.kind == Token::Kind::Float;
    if (!number)
      return fail("'" + variable.name + "': an initial value is no number");
    uint64_t value = negative ? -token.value : token.value;
    for (unsigned i = 0; i < bytes; ++i)
      variable.initial.push_back(i < 8 ? uint8_t(value >> (8 * i)) : 0);
    advance();
    return true;
  };
  if (!accept("{"))
    return append();
  for (unsigned depth = 1; depth;) {
    if (accept("{"))
      ++depth;
    else if (accept("}"))
      --depth;
    else if (!accept(",") && !append())
      return false;
    if (token.kind == Token::Kind::End)
      return fail("'}' is missing");
  }
  if (variable.initial.size() > variable.bytes)
    return fail("'" + variable.name + "' has too many initial values");
  return true;
}

bool Parser::declareVariables(bool local) {
  static const std::map<std::string_view, Space> spaces = {
      {".param", Space::Param},
      {".global", Space::Global},
      {".shared", Space::Shared},
      {".local", Space::Local},
      {".const", Space::Const}};
  Space space = spaces.at(token.text);
  advance();
  do {
    Variable variable;
    variable.space = space;
    if (!parseVariable(variable))
      return false;
    // A variable of a function that outlives its call is the module's.
    bool frame = local && (space == Space::Param || space == Space::Local);
    std::vector<Variable> &list =
        frame ? function->variables : module.variables;
    if (!declare(variable.name,
                 {Operand::Kind::Variable, unsigned(list.size()), frame},
                 variable.line))
      return false;
    list.push_back(std::move(variable));
  } while (accept(","));
  return expect(";");
}

} // namespace dsflash::simt::ptx
