//===- Tokenizer.cpp - Text to token ids and back -------------------------===//

#include "dsflash/Tokens/Tokenizer.h"
#include "TokenizerTables.h"

using namespace dsflash;

//===----------------------------------------------------------------------===//
// AddedTokens
//===----------------------------------------------------------------------===//

void AddedTokens::add(std::string_view content, int32_t id) {
  firstBytes.set(uint8_t(content[0]));
  uint32_t node = 0;
  for (char byte : content) {
    uint32_t child = children.find(node, uint8_t(byte));
    if (child == PairTable::None) {
      child = idAtNode.size();
      idAtNode.push_back(-1);
      children.insert(node, uint8_t(byte), child);
    }
    node = child;
  }
  idAtNode[node] = id;
}

AddedTokens::Match AddedTokens::longest(std::string_view text) const {
  Match match;
  uint32_t node = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    node = children.find(node, uint8_t(text[i]));
    if (node == PairTable::None)
      break;
    if (idAtNode[node] >= 0)
      match = {idAtNode[node], i + 1};
  }
  return match;
}

//===----------------------------------------------------------------------===//
// Tokenizer
//===----------------------------------------------------------------------===//

Tokenizer::Tokenizer(std::shared_ptr<const Tables> tables)
    : tables(std::move(tables)) {}

Result<std::vector<int32_t>> Tokenizer::encode(std::string_view text,
                                               bool parseAdded) const {
  Result<std::vector<uint8_t>> classes = classifyText(text);
  if (!classes)
    return classes.status();
  std::vector<int32_t> ids;
  std::vector<size_t> pieceEnds;
  auto encodePlain = [&](size_t begin, size_t end) {
    pieceEnds.clear();
    splitText(tables->splitRule, text, *classes, begin, end, pieceEnds);
    for (size_t pieceEnd : pieceEnds) {
      tables->bytePairs.encode(text.substr(begin, pieceEnd - begin), ids);
      begin = pieceEnd;
    }
  };

  size_t plainBegin = 0;
  for (size_t at = 0; parseAdded && at < text.size();) {
    AddedTokens::Match match;
    if (tables->addedTokens.mayStartWith(text[at]))
      match = tables->addedTokens.longest(text.substr(at));
    if (match.length == 0) {
      ++at;
      continue;
    }
    encodePlain(plainBegin, at);
    ids.push_back(match.id);
    plainBegin = at += match.length;
  }
  encodePlain(plainBegin, text.size());
  return ids;
}

std::optional<int32_t> Tokenizer::idOf(std::string_view text) const {
  return tables->addedTokens.idOf(text);
}

int32_t Tokenizer::vocabSize() const { return tables->isAdded.size(); }

std::string_view Tokenizer::bytes(int32_t id) const {
  size_t begin = tables->offsets[id];
  return std::string_view(tables->bytes)
      .substr(begin, tables->offsets[id + 1] - begin);
}

bool Tokenizer::isAdded(int32_t id) const { return tables->isAdded[id]; }
