//===- ModuleTables.cpp - The tables of ModuleABI.h -----------------------===//

#include "ModuleTables.h"
#include "ABIBuilder.h"
#include "dsflash/Conversion/DSFlashToLLVM.h"
#include "llvm/ADT/StringMap.h"

using namespace mlir;
using namespace mlir::dsflash;

namespace {

/// One field of a structure: a number, or the address of a symbol (null when
/// there is none).
struct Field {
  static Field u32(int64_t value) { return {32, value, {}}; }
  static Field i64(int64_t value) { return {64, value, {}}; }
  static Field address(StringRef symbol) { return {0, 0, symbol.str()}; }
  static Field null() { return {0, 0, {}}; }

  unsigned bits; // 0: an address
  int64_t value;
  std::string symbol;
};

using Row = SmallVector<Field>;

/// Writes structures as internal constants.
class TableWriter {
public:
  /// Names of texts begin with `prefix`.
  TableWriter(ModuleOp module, StringRef prefix)
      : b(module.getLoc(), module.getContext()), prefix(prefix) {
    b.setInsertionPointToEnd(module.getBody());
  }

  /// The address of a text; equal texts share one.
  Field text(StringRef text);
  Field numbers(StringRef name, ArrayRef<int32_t> numbers);
  Field numbers(StringRef name, ArrayRef<int64_t> numbers);
  /// An array of structures; all rows have the same fields.
  Field table(StringRef name, ArrayRef<Row> rows);
  void query(StringRef function, Field result);
  /// The address of bytes that a later pass defines.
  Field external(StringRef name);

private:
  LLVM::GlobalOp constant(StringRef name, Type type, Attribute value = {});
  Type getType(const Field &field);
  Value getValue(const Field &field);
  Value getStructure(const Row &row, Type type);

  ABIBuilder b;
  StringRef prefix;
  llvm::StringMap<std::string> texts; // symbols
};

LLVM::GlobalOp TableWriter::constant(StringRef name, Type type,
                                     Attribute value) {
  return LLVM::GlobalOp::create(b, type, /*isConstant=*/true,
                                LLVM::Linkage::Internal, name, value);
}

Field TableWriter::text(StringRef text) {
  auto [known, isNew] =
      texts.try_emplace(text, (prefix + Twine(texts.size())).str());
  if (isNew) {
    auto type = LLVM::LLVMArrayType::get(b.getI8Type(), text.size() + 1);
    constant(known->second, type, b.getStringAttr(text + StringRef("\0", 1)));
  }
  return Field::address(known->second);
}

Field TableWriter::numbers(StringRef name, ArrayRef<int32_t> numbers) {
  auto type = LLVM::LLVMArrayType::get(b.getI32Type(), numbers.size());
  constant(name, type, b.getI32TensorAttr(numbers));
  return Field::address(name);
}

Field TableWriter::numbers(StringRef name, ArrayRef<int64_t> numbers) {
  auto type = LLVM::LLVMArrayType::get(b.getI64Type(), numbers.size());
  constant(name, type, b.getI64TensorAttr(numbers));
  return Field::address(name);
}

Type TableWriter::getType(const Field &field) {
  return field.bits ? Type(b.getIntegerType(field.bits)) : b.pointer();
}

Value TableWriter::getValue(const Field &field) {
  if (field.bits)
    return LLVM::ConstantOp::create(b, getType(field), field.value);
  if (field.symbol.empty())
    return b.null();
  return LLVM::AddressOfOp::create(b, b.pointer(), field.symbol);
}

Value TableWriter::getStructure(const Row &row, Type type) {
  Value structure = LLVM::PoisonOp::create(b, type);
  for (auto [i, field] : llvm::enumerate(row))
    structure = LLVM::InsertValueOp::create(b, structure, getValue(field), i);
  return structure;
}

Field TableWriter::table(StringRef name, ArrayRef<Row> rows) {
  if (rows.empty())
    return Field::null();
  SmallVector<Type> fields;
  for (const Field &field : rows.front())
    fields.push_back(getType(field));
  Type rowType = LLVM::LLVMStructType::getLiteral(b.getContext(), fields);
  Type type = LLVM::LLVMArrayType::get(rowType, rows.size());
  LLVM::GlobalOp global = constant(name, type);

  OpBuilder::InsertionGuard guard(b);
  b.createBlock(&global.getInitializerRegion());
  Value table = LLVM::PoisonOp::create(b, type);
  for (auto [i, row] : llvm::enumerate(rows))
    table = LLVM::InsertValueOp::create(b, table, getStructure(row, rowType),
                                        ArrayRef<int64_t>{int64_t(i)});
  LLVM::ReturnOp::create(b, table);
  return Field::address(name);
}

Field TableWriter::external(StringRef name) {
  LLVM::GlobalOp::create(b, b.getI8Type(), /*isConstant=*/true,
                         LLVM::Linkage::External, name, Attribute());
  return Field::address(name);
}

void TableWriter::query(StringRef function, Field result) {
  auto type = LLVM::LLVMFunctionType::get(b.pointer(), {});
  auto query = LLVM::LLVMFuncOp::create(b, function, type);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(query.addEntryBlock(b));
  LLVM::ReturnOp::create(b, getValue(result));
}

} // namespace

//===----------------------------------------------------------------------===//
// Rows in the order of the structures' members
//===----------------------------------------------------------------------===//

static Field addEntries(TableWriter &w, const ModuleLayout &layout) {
  SmallVector<Row> rows;
  for (const Entry &entry : layout.entries) {
    func::FuncOp function = entry.function;
    SmallVector<Row> tensors;
    for (const EntryTensor &tensor : entry.tensors) {
      int64_t elements = 1;
      for (int64_t extent : tensor.type.getShape().drop_front())
        elements *= extent;
      tensors.push_back(
          {w.text(tensor.name),
           Field::u32(*ModuleLayout::getType(tensor.type.getElementType())),
           Field::u32(tensor.dim), Field::u32(tensor.access),
           Field::u32(tensor.hostReads), Field::i64(elements)});
    }
    std::string name = ("dsf.tensors." + function.getName()).str();
    rows.push_back(
        {w.text(function.getName()), Field::address(getEntryName(function)),
         w.table(name, tensors), Field::i64(tensors.size()),
         Field::i64(entry.workspaceRowBytes),
         Field::i64(entry.workspaceFixedBytes), Field::i64(entry.lastRows)});
  }
  return w.table("dsf.entries", rows);
}

static Field addWeights(TableWriter &w, ModuleOp module,
                        const ModuleLayout &layout) {
  SmallVector<Row> rows;
  for (auto param : module.getOps<ParamOp>()) {
    WeightType type = param.getWeightType();
    FormatAttr format = type.getFormat();
    auto layers = param.getLayers();
    std::string layersName = ("dsf.layers." + param.getSymName()).str();
    rows.push_back(
        {w.text(param.getTensor()),
         param.getScale() ? w.text(*param.getScale()) : Field::null(),
         Field::u32(int64_t(format.getElement())),
         Field::u32(int64_t(format.getScale())), Field::i64(type.getRows()),
         Field::i64(type.getColumns()), Field::u32(format.getBlockRows()),
         Field::u32(format.getBlockColumns()),
         layers ? w.numbers(layersName, *layers) : Field::null(),
         Field::u32(layers ? layers->size() : 0),
         Field::u32(param.getLayerSpan()), Field::u32(type.getExperts()),
         Field::u32(type.getPlanes()),
         Field::u32(layout.slots.lookup(param.getSymNameAttr())),
         Field::u32(param.getFromTokenizer() ? DSF_FROM_TOKENIZER
                                             : DSF_FROM_CHECKPOINT)});
  }
  return w.table("dsf.weights", rows);
}

/// A row for the payload, where a format has scales one for them, with
/// ".scale" behind the name, and where slots keep positions one for these.
static SmallVector<Row> getStates(TableWriter &w, const ModuleLayout &layout) {
  SmallVector<Row> rows;
  for (const auto &[name, state] : layout.states) {
    StateTypeInterface type = state.type;
    FormatAttr format = type.getRowFormat();
    auto add = [&](Field name, int64_t offset, int64_t rowBytes) {
      rows.push_back({name, Field::i64(offset), Field::i64(rowBytes),
                      Field::i64(type.getRowCount()),
                      Field::i64(type.getPositionsPerRow())});
    };
    int64_t elements = type.getRowElements();
    add(w.text(name), state.offset, format.getPayloadBytes(elements));
    if (format.hasScale())
      add(w.text((name.getValue() + ".scale").str()),
          state.offset + ModuleLayout::getScaleOffset(type),
          format.getScaleCount(elements));
    if (keepsPositions(type))
      add(w.text((name.getValue() + ".position").str()),
          state.offset + ModuleLayout::getPositionOffset(type),
          sizeof(int32_t));
  }
  return rows;
}

static Field addProbes(TableWriter &w, const ModuleLayout &layout) {
  SmallVector<Row> rows;
  for (auto [key, op] : layout.probes) {
    ProbeOp probe = op;
    auto type = cast<ShapedType>(probe.getInput().getType());
    ArrayRef<int64_t> row = type.getShape().drop_front();
    auto extent = [&](size_t i) { return i < row.size() ? row[i] : 1; };
    rows.push_back(
        {w.text(probe.getName()),
         Field::u32(ModuleLayout::getType(type.getElementType()).value()),
         Field::u32(row.size()), Field::i64(extent(0)), Field::i64(extent(1)),
         Field::i64(probe.getPositionsPerRow())});
  }
  return w.table("dsf.probes", rows);
}

static Field addChecks(TableWriter &w, const ModuleLayout &layout) {
  SmallVector<Row> rows;
  for (auto [key, op] : layout.checks) {
    ReportOp report = op;
    rows.push_back({w.text(report.getName()),
                    Field::u32(int64_t(report.getKind())), Field::u32(0)});
  }
  return w.table("dsf.checks", rows);
}

void mlir::dsflash::addKernelTable(ModuleOp module, const ModuleLayout &layout,
                                   ArrayRef<KernelCode> codes) {
  TableWriter w(module, "dsf.kernel.text.");
  SmallVector<Row> rows;
  for (auto [kernel, code] : llvm::zip_equal(layout.kernels, codes)) {
    const auto &[name, launch] = kernel;
    std::string constants = ("dsf.constants." + name.getValue()).str();
    rows.push_back({w.text(name), Field::u32(launch.threads),
                    Field::u32(launch.sharedBytes),
                    Field::i64(launch.itemsPerBlock), w.text(code.entry),
                    code.constants.empty()
                        ? Field::null()
                        : w.numbers(constants, code.constants),
                    Field::i64(code.constants.size())});
  }
  w.table(kernelTableSymbol, rows);
}

static Field getNumber(ModuleOp module, StringRef name) {
  auto number = module->getAttrOfType<IntegerAttr>(name);
  return Field::i64(number ? number.getInt() : 0);
}

void mlir::dsflash::addModuleTables(
    ModuleOp module, const ModuleLayout &layout,
    const ConvertDSFlashToLLVMPassOptions &options) {
  TableWriter w(module, "dsf.text.");
  auto numerics = module->getAttrOfType<StringAttr>("dsflash.numerics");
  SmallVector<Row> states = getStates(w, layout);
  int64_t params = llvm::range_size(module.getOps<ParamOp>());
  Row row{Field::u32(DSF_ABI_MAGIC),
          Field::u32(DSF_ABI_VERSION),
          w.text(options.compiler),
          w.text(options.triple),
          w.text(options.features),
          w.text(numerics ? numerics.getValue() : "reference"),
          addEntries(w, layout),
          Field::i64(layout.entries.size()),
          addWeights(w, module, layout),
          Field::i64(params),
          Field::i64(layout.slotCount),
          w.table("dsf.states", states),
          Field::i64(states.size()),
          Field::i64(layout.stateBytes),
          addProbes(w, layout),
          Field::i64(layout.probes.size())};
  for (StringRef name :
       {"dsflash.vocab_size", "dsflash.max_positions", "dsflash.draft_block",
        "dsflash.look_back", "dsflash.sliding_window"})
    row.push_back(getNumber(module, name));
  row.push_back(addChecks(w, layout));
  row.push_back(Field::i64(layout.checks.size()));
  if (layout.device.empty())
    row.append({Field::null(), Field::i64(0), Field::null(), Field::i64(0)});
  else
    row.append({w.external(deviceCodesSymbol),
                Field::i64(StringRef(layout.device).count(',') + 1),
                layout.kernels.empty() ? Field::null()
                                       : Field::address(kernelTableSymbol),
                Field::i64(layout.kernels.size())});
  w.query(DSF_MODULE_QUERY_SYMBOL, w.table("dsf.module", {row}));
}
