//===- Parser.cpp - Modules, functions and declarations -------------------===//

#include "Parser.h"

#include <algorithm>
#include <cstring>

namespace dsflash::simt::ptx {

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
      return failAt(variable.line,
                    "'" + variable.name + "' is defined in another module");
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
                 {Operand::Kind::Variable, unsigned(function->variables.size()),
                  true},
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
        !declare(
            result.name,
            {Operand::Kind::Variable, unsigned(parsed.variables.size()), true},
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
