//===- ParseBody.cpp - Statements and operands ----------------------------===//

#include "Parser.h"

namespace dsflash::simt::ptx {

bool Parser::parseBody() {
  unsigned depth = 1;
  while (depth) {
    if (token.kind == Token::Kind::End)
      return fail("'}' is missing");
    if (accept("{")) {
      scopes.push_back({scope, {}});
      scope = int(scopes.size()) - 1;
      ++depth;
    } else if (accept("}")) {
      --depth;
      if (depth)
        scope = scopes[scope].parent;
    } else if (!parseStatement()) {
      return false;
    }
  }
  return true;
}

bool Parser::parseStatement() {
  if (accept(";"))
    return true;
  if (token.is(".reg"))
    return parseRegisters();
  if (token.is(".loc"))
    return parseLocation();
  if (token.is(".pragma")) {
    advance();
    advance();
    return expect(";");
  }
  if (token.kind == Token::Kind::Word && isSpace(token.text))
    return declareVariables(/*local=*/true);
  return parseInstruction();
}

// `.loc file line column[, function_name ..., inlined_at ...]`, to the end of
// the line.
bool Parser::parseLocation() {
  unsigned line = token.line;
  advance();
  uint64_t file = 0, sourceLine = 0, column = 0;
  if (!parseInteger(file) || !parseInteger(sourceLine) || !parseInteger(column))
    return false;
  location = {0, unsigned(file), unsigned(sourceLine), unsigned(column)};
  while (token.kind != Token::Kind::End && token.line == line)
    advance();
  return true;
}

bool Parser::parseLabel(const std::string &name) {
  unsigned line = token.line;
  advance(); // ':'
  if (accept(".branchtargets")) {
    if (!declare(
            name,
            {Operand::Kind::Targets, unsigned(function->targets.size()), true},
            line))
      return false;
    function->targets.emplace_back();
    // The labels of a table come behind it: an instruction of its own keeps
    // their names until they are known.
    Instruction table;
    table.location.line = line;
    table.parts = {".branchtargets"};
    table.opcode = ".branchtargets";
    if (!parseOperandList(table.operands, ";"))
      return false;
    function->instructions.push_back(std::move(table));
    instructionScopes.push_back(scope);
    return true;
  }
  if (token.is(".callprototype"))
    return fail("calls through pointers are not modelled");
  if (!declare(name,
               {Operand::Kind::Label, unsigned(function->labels.size()), true},
               line))
    return false;
  function->labels.push_back({name, function->instructions.size()});
  return true;
}

bool Parser::parseInstruction() {
  Instruction instruction;
  instruction.location = location;
  instruction.location.line = token.line;
  Operand predicate;
  bool predicated = accept("@");
  if (predicated) {
    instruction.negated = accept("!");
    predicate.kind = Operand::Kind::Name;
    predicate.name = token.text;
    advance();
  }
  if (token.kind != Token::Kind::Word || token.text[0] == '.')
    return fail("expected an instruction, found '" + std::string(token.text) +
                "'");
  std::string word(token.text);
  advance();
  if (token.is(":") && !predicated)
    return parseLabel(word);
  if (predicated) {
    if (!resolve(predicate, scope, instruction.location.line))
      return false;
    if (predicate.kind != Operand::Kind::Register)
      return failAt(instruction.location.line, "a predicate is no register");
    instruction.predicate = int(predicate.index);
  }
  instruction.opcode = word;
  for (size_t begin = 0; begin <= word.size();) {
    size_t end = std::min(word.find('.', begin), word.size());
    instruction.parts.push_back(word.substr(begin, end - begin));
    begin = end + 1;
  }
  if (!parseOperandList(instruction.operands, ";"))
    return false;
  function->instructions.push_back(std::move(instruction));
  instructionScopes.push_back(scope);
  return true;
}

bool Parser::parseOperandList(std::vector<Operand> &operands,
                              std::string_view end) {
  if (accept(end))
    return true;
  do {
    if (!parseOperand(operands.emplace_back()))
      return false;
  } while (accept(","));
  return expect(end);
}

bool Parser::parseAddress(Operand &operand) {
  operand.kind = Operand::Kind::Address;
  if (!parseOperand(operand.elements.emplace_back(), /*withPair=*/false))
    return false;
  if (accept("+")) {
    if (!parseInteger(operand.value))
      return false;
  } else if (token.is("-")) {
    if (!parseInteger(operand.value))
      return false;
  }
  while (accept(","))
    if (!parseOperand(operand.elements.emplace_back()))
      return false;
  return expect("]");
}

bool Parser::parseOperand(Operand &operand, bool withPair) {
  if (accept("["))
    return parseAddress(operand);
  if (accept("{")) {
    operand.kind = Operand::Kind::Vector;
    return parseOperandList(operand.elements, "}");
  }
  if (accept("(")) {
    operand.kind = Operand::Kind::List;
    return parseOperandList(operand.elements, ")");
  }
  operand.negated = accept("!");
  bool minus = accept("-");
  if (token.kind == Token::Kind::Integer) {
    operand.kind = Operand::Kind::Integer;
    operand.value = minus ? -token.value : token.value;
  } else if (token.kind == Token::Kind::Float) {
    operand.kind = Operand::Kind::Float;
    operand.bytes = token.bytes;
    operand.value = token.value ^ (uint64_t(minus) << (8 * token.bytes - 1));
  } else if (token.kind == Token::Kind::Word && !minus) {
    operand.kind = token.is("_") ? Operand::Kind::Sink : Operand::Kind::Name;
    operand.name = token.text;
  } else {
    return fail("expected an operand, found '" + std::string(token.text) + "'");
  }
  advance();
  if (withPair && accept("|")) {
    Operand pair;
    pair.kind = Operand::Kind::Pair;
    pair.elements.resize(2);
    pair.elements[0] = std::move(operand);
    operand = std::move(pair);
    return parseOperand(operand.elements[1], /*withPair=*/false);
  }
  // A variable plus an offset: `mov.b64 %rd1, x+4`.
  if (withPair && operand.kind == Operand::Kind::Name && accept("+"))
    return parseInteger(operand.value);
  return true;
}

bool Parser::resolve(Operand &operand, int from, unsigned line) {
  for (Operand &element : operand.elements)
    if (!resolve(element, from, line))
      return false;
  if (operand.kind != Operand::Kind::Name)
    return true;
  if (operand.name == "true" || operand.name == "false") {
    operand.kind = Operand::Kind::Integer;
    operand.value = operand.name == "true";
    return true;
  }
  for (int at = from; at >= 0; at = scopes[at].parent) {
    auto found = scopes[at].names.find(operand.name);
    if (found == scopes[at].names.end())
      continue;
    operand.kind = found->second.kind;
    operand.index = found->second.index;
    operand.local = found->second.local;
    return true;
  }
  if (operand.name[0] == '%' || operand.name == "WARP_SZ") {
    operand.kind = Operand::Kind::Special;
    return true;
  }
  return failAt(line, "'" + operand.name + "' is not declared");
}

// Labels may be used before they are declared, so names of operands are looked
// up at the end of a function.
bool Parser::resolveNames() {
  std::vector<Instruction> kept;
  std::vector<size_t> positions;
  unsigned table = 0;
  for (size_t i = 0; i < function->instructions.size(); ++i) {
    positions.push_back(kept.size());
    Instruction &instruction = function->instructions[i];
    for (Operand &operand : instruction.operands)
      if (!resolve(operand, instructionScopes[i], instruction.location.line))
        return false;
    if (instruction.opcode != ".branchtargets") {
      kept.push_back(std::move(instruction));
      continue;
    }
    for (const Operand &operand : instruction.operands) {
      if (operand.kind != Operand::Kind::Label)
        return failAt(instruction.location.line,
                      "'" + operand.name + "' is no label");
      function->targets[table].push_back(operand.index);
    }
    ++table;
  }
  positions.push_back(kept.size());
  for (Label &label : function->labels)
    label.position = positions[label.position];
  function->instructions = std::move(kept);
  return true;
}

} // namespace dsflash::simt::ptx
