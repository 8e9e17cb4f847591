//===- Parser.cpp - Modules, functions and declarations -------------------===//

#include "Parser.h"

#include <algorithm>
#include <cstring>

namespace dsflash::simt::ptx {

// Above this a declaration is not believed.
static constexpr uint64_t kMaxRegisters = 1 << 20;
static constexpr uint64_t kMaxVariableBytes = uint64_t(1) << 32;

Type parseType(std::string_view name) {
  if (name == "pred")
    return {'p', 1, 1};
  unsigned lanes = 1;
  if (size_t x = name.rfind('x'); x != std::string_view::npos && x > 0) {
    std::string_view count = name.substr(x + 1);
    if (count != "2" && count != "4")
      return {};
    lanes = count[0] - '0';
    name = name.substr(0, x);
  }
  if (name == "bf16")
    return {'B', 16, lanes};
  if (name.size() < 2 || !std::strchr("busf", name[0]))
    return {};
  static constexpr std::pair<std::string_view, unsigned> widths[] = {
      {"8", 8}, {"16", 16}, {"32", 32}, {"64", 64}, {"128", 128}};
  for (auto [text, bits] : widths)
    if (name.substr(1) == text && (name[0] != 'f' || (bits > 8 && bits < 128)))
      return {name[0], bits, lanes};
  return {};
}

bool Parser::failAt(unsigned line, const std::string &why) {
  if (failure.ok())
    failure = Status::error(module.name + ":" + std::to_string(line), why);
  return false;
}

bool Parser::accept(std::string_view text) {
  if (!token.is(text))
    return false;
  advance();
  return true;
}

bool Parser::expect(std::string_view text) {
  if (accept(text))
    return true;
  return fail("expected '" + std::string(text) + "', found '" +
              std::string(token.text) + "'");
}

bool Parser::parseInteger(uint64_t &value) {
  bool negative = accept("-");
  if (token.kind != Token::Kind::Integer)
    return fail("expected an integer, found '" + std::string(token.text) + "'");
  value = negative ? -token.value : token.value;
  advance();
  return true;
}

bool Parser::skipBraces() {
  if (!expect("{"))
    return false;
  for (unsigned depth = 1; depth; advance()) {
    if (token.kind == Token::Kind::End)
      return fail("'}' is missing");
    depth += token.is("{");
    depth -= token.is("}");
  }
  return true;
}

Result<Module> Parser::run() {
  while (token.kind != Token::Kind::End)
    if (!parseTopLevel())
      return failure;
  if (module.target.empty())
    failAt(1, "no '.target': this is no PTX module");
  if (!failure.ok())
    return failure;
  return std::move(module);
}

bool Parser::parseTopLevel() {
  unsigned line = token.line;
  if (accept(".version") || accept(".address_size")) {
    advance();
    return true;
  }
  if (accept(".target")) {
    module.target = token.text;
    while (token.kind == Token::Kind::Word && token.line == line) {
      advance();
      accept(",");
    }
    return true;
  }
  if (token.is(".file"))
    return parseFile();
  if (accept(".section")) {
    advance();
    return skipBraces();
  }
  if (accept(".pragma")) {
    advance();
    return expect(";");
  }
  bool external = false;
  while (token.is(".visible") || token.is(".extern") || token.is(".weak") ||
         token.is(".common")) {
    external |= token.is(".extern");
    advance();
  }
  if (token.is(".entry") || token.is(".func"))
    return parseFunction();
  if (!isSpace(token.text))
    return fail("unknown directive '" + std::string(token.text) + "'");
  size_t first = module.variables.size();
  if (!declareVariables(/*local=*/false))
    return false;
  for (size_t i = first; i < module.variables.size(); ++i) {
    Variable &variable = module.variables[i];
    variable.external = external;
    if (external && variable.space != Space::Shared)
      return failAt(variable.line, "'" + variable.name +
                                       "' is defined in another module");
  }
  return true;
}

bool Parser::parseFile() {
  advance();
  unsigned line = token.line;
  uint64_t index = 0;
  if (!parseInteger(index))
    return false;
  module.files[unsigned(index)] = token.text;
  while (token.kind != Token::Kind::End && token.line == line)
    advance();
  return true;
}

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
  Type type = parseType(token.text.substr(std::min<size_t>(
      token.text.size(), token.text.empty() ? 0 : 1)));
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
  for (; token.kind == Token::Kind::Word && token.text[0] == '.'; ) {
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
      {".param", Space::Param},   {".global", Space::Global},
      {".shared", Space::Shared}, {".local", Space::Local},
      {".const", Space::Const}};
  Space space = spaces.at(token.text);
  advance();
  do {
    Variable variable;
    variable.space = space;
    if (!parseVariable(variable))
      return false;
    // A variable of a function that outlives its call is the module's.
    bool frame =
        local && (space == Space::Param || space == Space::Local);
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

bool Parser::parseParameters(unsigned &count) {
  if (!accept("("))
    return true;
  if (accept(")"))
    return true;
  do {
    if (token.is(".reg"))
      return fail("parameters in registers are not modelled");
    if (!expect(".param"))
      return false;
    Variable variable;
    variable.space = Space::Param;
    if (!parseVariable(variable))
      return false;
    if (variable.name != "_" &&
        !declare(variable.name,
                 {Operand::Kind::Variable,
                  unsigned(function->variables.size()), true},
                 variable.line))
      return false;
    function->variables.push_back(std::move(variable));
    ++count;
  } while (accept(","));
  return expect(")");
}

bool Parser::parseTuning() {
  while (token.kind == Token::Kind::Word && token.text[0] == '.') {
    bool threads = token.is(".maxntid") || token.is(".reqntid");
    advance();
    uint64_t extent[3] = {1, 1, 1};
    for (unsigned i = 0; token.kind == Token::Kind::Integer; ++i) {
      if (!parseInteger(extent[std::min(i, 2u)]))
        return false;
      if (!accept(","))
        break;
    }
    if (threads)
      function->maxThreads = {uint32_t(extent[0]), uint32_t(extent[1]),
                              uint32_t(extent[2])};
  }
  return true;
}

bool Parser::parseFunction() {
  Function parsed;
  parsed.isKernel = token.is(".entry");
  parsed.line = token.line;
  advance();
  function = &parsed;
  scopes.push_back({0, {}});
  scope = int(scopes.size()) - 1;
  instructionScopes.clear();
  location = {};

  std::vector<Variable> results;
  if (!parseParameters(parsed.results))
    return false;
  parsed.variables.swap(results);
  // Results stand behind the parameters; their indices move there.
  parsed.name = token.text;
  if (token.kind != Token::Kind::Word)
    return fail("expected the name of a function");
  advance();
  scopes[scope].names.clear();
  if (!parseParameters(parsed.parameters))
    return false;
  for (Variable &result : results) {
    if (result.name != "_" &&
        !declare(result.name,
                 {Operand::Kind::Variable, unsigned(parsed.variables.size()),
                  true},
                 result.line))
      return false;
    parsed.variables.push_back(std::move(result));
  }
  if (!parseTuning())
    return false;

  int body = scope;
  scope = 0;
  auto [known, isNew] = scopes[0].names.try_emplace(
      parsed.name, Entity{Operand::Kind::Function,
                          unsigned(module.functions.size()), false});
  bool redeclares = !isNew && known->second.kind == Operand::Kind::Function &&
                    module.functions[known->second.index].isDeclaration;
  if (!isNew && !redeclares)
    return failAt(parsed.line, "'" + parsed.name + "' is declared twice");
  unsigned index = known->second.index;
  if (isNew)
    module.functions.emplace_back();

  scope = body;
  if (accept(";"))
    parsed.isDeclaration = true;
  else if (!expect("{") || !parseBody() || !resolveNames())
    return false;
  scope = 0;
  function = nullptr;
  module.functions[index] = std::move(parsed);
  return true;
}

Result<Module> parse(std::string_view text, std::string name) {
  return Parser(text, std::move(name)).run();
}

} // namespace dsflash::simt::ptx
