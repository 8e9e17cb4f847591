//===- Parser.h - PTX tokens to a module ------------------------*- C++ -*-===//

#ifndef DSFLASH_SIMT_PARSER_H
#define DSFLASH_SIMT_PARSER_H

#include "Lexer.h"
#include "PTX.h"

#include <unordered_map>

namespace dsflash::simt::ptx {

/// Recursive descent over statements. The first error ends it: every parse
/// function returns false once `failure` is set.
class Parser {
public:
  Parser(std::string_view text, std::string name) : lexer(text) {
    module.name = std::move(name);
    advance();
  }
  Result<Module> run();

private:
  struct Entity {
    Operand::Kind kind;
    unsigned index;
    bool local;
  };
  struct Scope {
    int parent;
    std::unordered_map<std::string, Entity> names;
  };

  // Tokens.
  void advance() { token = lexer.next(); }
  bool accept(std::string_view text);
  bool expect(std::string_view text);
  bool fail(const std::string &why) { return failAt(token.line, why); }
  bool failAt(unsigned line, const std::string &why);
  bool parseInteger(uint64_t &value);
  bool skipBraces();

  // Module level.
  bool parseTopLevel();
  bool parseFile();
  bool parseFunction();
  bool parseParameters(unsigned &count);
  bool parseTuning();
  bool parseBody();

  // Declarations.
  bool isSpace(std::string_view word) const;
  bool parseRegisters();
  bool parseVariable(Variable &variable);
  bool parseInitializer(Variable &variable, Type element);
  bool declareVariables(bool local);
  bool declare(const std::string &name, Entity entity, unsigned line);

  // Statements of a body.
  bool parseStatement();
  bool parseLocation();
  bool parseLabel(const std::string &name);
  bool parseInstruction();
  bool parseOperand(Operand &operand, bool withPair = true);
  bool parseOperandList(std::vector<Operand> &operands, std::string_view end);
  bool parseAddress(Operand &operand);
  bool resolveNames();
  bool resolve(Operand &operand, int scope, unsigned line);

  Lexer lexer;
  Token token;
  Module module;
  Status failure;

  std::vector<Scope> scopes{{-1, {}}}; ///< 0: the module
  int scope = 0;
  Function *function = nullptr;
  std::vector<int> instructionScopes;
  Location location;
};

} // namespace dsflash::simt::ptx

#endif // DSFLASH_SIMT_PARSER_H
