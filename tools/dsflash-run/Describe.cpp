//===- Describe.cpp - What a compiled model holds and needs ---------------===//

#include "Describe.h"

#include <sstream>

using namespace dsflash;
using namespace dsflash::run;
using nlohmann::json;

namespace {

const char *dimName(uint32_t dim) {
  static const char *const names[] = {"rows", "sequences", "outputs"};
  return dim < DSF_DIM_COUNT ? names[dim] : "?";
}

const char *accessName(uint32_t access) {
  static const char *const names[] = {"?", "read", "write", "read_write"};
  return access <= DSF_READ_WRITE ? names[access] : "?";
}

int64_t planeBytes(uint32_t type, int64_t rows, int64_t columns) {
  switch (type) {
  case DSF_F32:
  case DSF_I32:
    return rows * columns * 4;
  case DSF_BF16:
    return rows * columns * 2;
  case DSF_I64:
    return rows * columns * 8;
  case DSF_E2M1:
    return rows * columns / 2;
  default:
    return rows * columns;
  }
}

int64_t weightCopies(const dsf_weight &weight) {
  return (weight.layers ? int64_t(weight.layer_count) : 1) * weight.experts;
}

int64_t weightBytes(const dsf_weight &weight) {
  int64_t bytes = planeBytes(weight.type, weight.rows, weight.columns);
  if (weight.planes == 2 && weight.block_rows && weight.block_columns)
    bytes += planeBytes(
        weight.scale_type,
        (weight.rows + weight.block_rows - 1) / weight.block_rows,
        (weight.columns + weight.block_columns - 1) / weight.block_columns);
  return bytes * weightCopies(weight);
}

json describeEntry(const dsf_entry &entry) {
  json tensors = json::array();
  for (int64_t i = 0; i < entry.tensor_count; ++i) {
    const dsf_tensor &tensor = entry.tensors[i];
    tensors.push_back({{"name", tensor.name},
                       {"type", abiTypeName(tensor.type)},
                       {"dim", dimName(tensor.dim)},
                       {"access", accessName(tensor.access)},
                       {"row_elements", tensor.row_elements}});
  }
  return {{"name", entry.name},
          {"tensors", tensors},
          {"workspace_row_bytes", entry.workspace_row_bytes},
          {"workspace_fixed_bytes", entry.workspace_fixed_bytes},
          {"last_rows", entry.last_rows}};
}

json describeWeight(const dsf_weight &weight) {
  json value = {
      {"tensor", weight.tensor},       {"type", abiTypeName(weight.type)},
      {"rows", weight.rows},           {"columns", weight.columns},
      {"count", weightCopies(weight)}, {"bytes", weightBytes(weight)}};
  if (weight.planes == 2)
    value["scale"] = weight.scale;
  return value;
}

json describeProbe(const dsf_probe &probe) {
  return {{"name", probe.name},
          {"type", abiTypeName(probe.type)},
          {"shape",
           std::vector<int64_t>(probe.extents, probe.extents + probe.rank)},
          {"positions_per_row", probe.positions_per_row}};
}

template <typename Row, typename Function>
json describeAll(const Row *rows, int64_t count, Function describe) {
  json list = json::array();
  for (int64_t i = 0; i < count; ++i)
    list.push_back(describe(rows[i]));
  return list;
}

/// What waits in a session between encoder and decoder tail.
int64_t boundaryBytes(const Model &model) {
  const dsf_entry *tail = model.findEntry("tail");
  int64_t rowElements = 0;
  for (int64_t i = 0; tail && i < tail->tensor_count; ++i) {
    std::string name = tail->tensors[i].name;
    if (name == "stream" || name == "pre")
      rowElements += tail->tensors[i].row_elements;
  }
  return tail ? tail->last_rows * rowElements * int64_t(sizeof(float)) : 0;
}

json describeMemory(const Model &model) {
  const dsf_module &module = model.module();
  int64_t weights = 0, fixed = boundaryBytes(model), rowBytes = 0,
          fixedBytes = 0;
  for (int64_t i = 0; i < module.weight_count; ++i)
    weights += weightBytes(module.weights[i]);
  for (int64_t i = 0; i < module.state_count; ++i)
    if (module.states[i].positions_per_row == 0)
      fixed += module.states[i].row_bytes * module.states[i].rows;
  for (int64_t i = 0; i < module.entry_count; ++i) {
    rowBytes = std::max(rowBytes, module.entries[i].workspace_row_bytes);
    fixedBytes = std::max(fixedBytes, module.entries[i].workspace_fixed_bytes);
  }
  return {{"weights", weights},
          {"session_fixed", fixed},
          {"session_per_token", model.kvBytesPerToken()},
          {"session_address_range", module.state_bytes},
          {"workspace_per_row", rowBytes},
          {"workspace_fixed", fixedBytes}};
}

} // namespace

json run::describeJson(const Model &model) {
  const dsf_module &module = model.module();
  return {
      {"compiler", module.compiler},
      {"abi", module.abi_version},
      {"target", module.target},
      {"cpu_features", module.cpu_features},
      {"numerics", module.numerics},
      {"vocab_size", module.vocab_size},
      {"max_positions", module.max_positions},
      {"sliding_window", module.sliding_window},
      {"draft_block", module.draft_block},
      {"look_back", module.look_back},
      {"memory", describeMemory(model)},
      {"entries",
       describeAll(module.entries, module.entry_count, describeEntry)},
      {"states", describeAll(module.states, module.state_count,
                             [](const dsf_state &state) -> json {
                               return {{"name", state.name},
                                       {"offset", state.offset},
                                       {"row_bytes", state.row_bytes},
                                       {"rows", state.rows},
                                       {"positions_per_row",
                                        state.positions_per_row}};
                             })},
      {"weights",
       describeAll(module.weights, module.weight_count, describeWeight)},
      {"probes", describeAll(module.probes, module.probe_count, describeProbe)},
      {"checks", module.check_count}};
}

std::string run::describeText(const Model &model) {
  const dsf_module &module = model.module();
  json memory = describeMemory(model);
  std::ostringstream out;
  out << model.path() << ": " << module.compiler << ", ABI "
      << module.abi_version << ", numerics " << module.numerics << "\n"
      << "target: " << module.target << "\n"
      << "CPU features: " << module.cpu_features << "\n"
      << "vocabulary " << module.vocab_size << ", at most "
      << module.max_positions << " positions, window " << module.sliding_window
      << ", draft block " << module.draft_block << "\n"
      << "memory in bytes:\n";
  for (const auto &[name, bytes] : memory.items())
    out << "  " << name << ": " << bytes << "\n";
  out << "entries:\n";
  for (int64_t i = 0; i < module.entry_count; ++i) {
    const dsf_entry &entry = module.entries[i];
    out << "  " << entry.name << "(";
    for (int64_t t = 0; t < entry.tensor_count; ++t) {
      const dsf_tensor &tensor = entry.tensors[t];
      out << (t ? ", " : "") << tensor.name << ": " << abiTypeName(tensor.type)
          << "[" << dimName(tensor.dim) << ", " << tensor.row_elements << "]";
    }
    out << ")\n";
  }
  out << "state of a sequence:\n";
  for (int64_t i = 0; i < module.state_count; ++i) {
    const dsf_state &state = module.states[i];
    out << "  " << state.name << ": " << state.rows << " rows of "
        << state.row_bytes << " bytes";
    if (state.positions_per_row)
      out << ", one for each " << state.positions_per_row << " positions";
    out << "\n";
  }
  out << "weights: " << module.weight_count << " kinds in "
      << module.weight_slots << " slots\n"
      << "observation points: " << module.probe_count << "\n";
  if (module.check_count)
    out << "checked: " << module.check_count << " kinds of checks\n";
  return out.str();
}
