//===- NativeCodeTest.cpp - Compiled modules through the ABI --------------===//

#include "CompiledModule.h"
#include "llvm/Support/MemoryBuffer.h"
#include <cstring>
#include <map>

using namespace dsflash_test;

namespace {

/// A layer scales rows by a bf16 weight of its own, remembers the scaled rows
/// in a ring of four rows a layer, passes them through an observation point,
/// adds an FP8 expert's bytes as integers and scales again.
const char *const kModule = R"(
!kv = !dsflash.window<layers = 2, slots = 4, dim = 4, <f32>>
!keys = !dsflash.index_keys<rows = 3, dim = 32, ratio = 2, <e2m1, e8m0, [1, 32]>>
!scale = !dsflash.weight<[1, 4], <bf16>>
!expert = !dsflash.weight<[3, 1, 4], <e4m3, e8m0, [32, 32]>>
!rows = memref<?x4xf32>
module attributes {dsflash.numerics = "ideal", dsflash.vocab_size = 11 : i64, dsflash.max_positions = 12 : i64,
    dsflash.draft_block = 13 : i64, dsflash.look_back = 14 : i64, dsflash.sliding_window = 15 : i64} {
  dsflash.param @scale "layers.{l}.scale" layers [0, 1] : !scale
  dsflash.param @expert "layers.{l}.{e}.w" scale "layers.{l}.{e}.s" layers [1] : !expert
  dsflash.param @map "map" from_tokenizer : !dsflash.weight<[1, 11], <i32>>

  func.func private @scale_rows(%begin: index, %end: index, %x: !rows, %w: !scale, %y: !rows) {
    %c1 = arith.constant 1 : index
    %c0 = arith.constant 0 : index
    %p = dsflash.weight_data payload %w : !scale -> memref<1x4xbf16>
    scf.for %i = %begin to %end step %c1 {
      %a = vector.load %x[%i, %c0] : !rows, vector<4xf32>
      %b = vector.load %p[%c0, %c0] : memref<1x4xbf16>, vector<4xbf16>
      %c = arith.extf %b : vector<4xbf16> to vector<4xf32>
      %d = arith.mulf %a, %c : vector<4xf32>
      %s = memref.alloca() : memref<4xf32>
      vector.store %d, %s[%c0] : memref<4xf32>, vector<4xf32>
      %e = vector.load %s[%c0] : memref<4xf32>, vector<4xf32>
      vector.store %e, %y[%i, %c0] : !rows, vector<4xf32>
    }
    return
  }

  func.func private @remember(%begin: index, %end: index, %x: !rows, %position: memref<?xi32>,
                              %kv: !kv, %layer: index) {
    %c1 = arith.constant 1 : index
    %c0 = arith.constant 0 : index
    %c4 = arith.constant 4 : index
    %s = dsflash.state_data payload %kv[%c1] : !kv -> memref<8x4xf32>
    scf.for %i = %begin to %end step %c1 {
      %p = memref.load %position[%i] : memref<?xi32>
      %q = arith.index_cast %p : i32 to index
      %r = arith.remui %q, %c4 : index
      %t = arith.muli %layer, %c4 : index
      %u = arith.addi %r, %t : index
      %a = vector.load %x[%i, %c0] : !rows, vector<4xf32>
      vector.store %a, %s[%u, %c0] : memref<8x4xf32>, vector<4xf32>
    }
    return
  }

  func.func private @add_bytes(%begin: index, %end: index, %w: !expert, %keys: !keys, %y: !rows) {
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c0 = arith.constant 0 : index
    %p = dsflash.weight_data payload %w[%c2] : !expert -> memref<1x4xi8>
    %q = dsflash.weight_data scale %w[%c2] : !expert -> memref<1x1xi8>
    %s = dsflash.state_data scale %keys[%c0] : !keys -> memref<3x1xi8>
    scf.for %i = %begin to %end step %c1 {
      %a = vector.load %p[%c0, %c0] : memref<1x4xi8>, vector<4xi8>
      %b = memref.load %q[%c0, %c0] : memref<1x1xi8>
      %c = vector.broadcast %b : i8 to vector<4xi8>
      %d = arith.addi %a, %c : vector<4xi8>
      %e = arith.extui %d : vector<4xi8> to vector<4xi32>
      %f = arith.sitofp %e : vector<4xi32> to vector<4xf32>
      %g = vector.load %y[%i, %c0] : !rows, vector<4xf32>
      %h = arith.addf %f, %g : vector<4xf32>
      vector.store %h, %y[%i, %c0] : !rows, vector<4xf32>
      memref.store %b, %s[%c2, %c0] : memref<3x1xi8>
    }
    return
  }

  func.func private @layer(%layer: index, %x: !rows, %position: memref<?xi32>, %kv: !kv, %y: !rows,
                           %workspace: memref<?xi8>) {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %n = memref.dim %x, %c0 : !rows
    %t = memref.view %workspace[%c64][%n] : memref<?xi8> to !rows
    %w = dsflash.param_ref @scale[%layer] : !scale
    dsflash.dispatch @scale_rows grid(%n) ins(%x, %w : !rows, !scale) outs(%t : !rows)
    dsflash.dispatch @remember grid(%n) ins(%t, %position, %kv, %layer : !rows, memref<?xi32>, !kv, index) {writes_state}
    dsflash.probe "layers.{l}.scaled"[%layer] %t : !rows
    dsflash.dispatch @scale_rows grid(%n) ins(%t, %w : !rows, !scale) outs(%y : !rows)
    return
  }

  func.func @forward(%x: !rows {dsflash.name = "x", dsflash.dim = "rows"},
      %kv: !kv {dsflash.name = "window"},
      %extents: memref<?x2xi32> {dsflash.name = "extents", dsflash.dim = "sequences"},
      %position: memref<?xi32> {dsflash.name = "position", dsflash.dim = "rows"},
      %keys: !keys {dsflash.name = "keys.0"},
      %y: !rows {dsflash.name = "y", dsflash.dim = "rows", dsflash.access = "write"},
      %z: !rows {dsflash.name = "z", dsflash.dim = "outputs"}, %workspace: memref<?xi8>)
      attributes {dsflash.workspace_row_bytes = 16 : i64, dsflash.workspace_fixed_bytes = 64 : i64} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    call @layer(%c0, %x, %position, %kv, %y, %workspace) : (index, !rows, memref<?xi32>, !kv, !rows, memref<?xi8>) -> ()
    call @layer(%c1, %x, %position, %kv, %y, %workspace) : (index, !rows, memref<?xi32>, !kv, !rows, memref<?xi8>) -> ()
    %n = memref.dim %z, %c0 : !rows
    %e = dsflash.param_ref @expert[%c1] : !expert
    dsflash.dispatch @add_bytes grid(%n) ins(%e, %keys : !expert, !keys) outs(%z : !rows) {writes_state}
    return
  }
}
)";

/// Runs tasks piece by piece from the last item to the first.
struct Environment {
  static void parallelFor(void *user, dsf_task task, void *context,
                          int64_t count) {
    ++static_cast<Environment *>(user)->launches;
    for (int64_t i = count; i > 0; --i)
      task(context, i - 1, i);
  }
  static void probe(void *user, int32_t probe, int64_t layer, void *data,
                    int64_t rows) {
    auto &self = *static_cast<Environment *>(user);
    EXPECT_EQ(probe, 0);
    auto *values = static_cast<float *>(data);
    self.seen[layer].assign(values, values + rows * 4);
    if (self.replacement)
      std::fill(values, values + rows * 4, *self.replacement);
  }

  int launches = 0;
  std::map<int64_t, std::vector<float>> seen;
  std::optional<float> replacement;
};

class NativeCode : public testing::TestWithParam<const char *> {
protected:
  /// Calls the entry for the rows in x and two outputs.
  int32_t run(bool probes) {
    dsf_env env{&environment,
                Environment::parallelFor,
                probes ? Environment::probe : nullptr,
                nullptr,
                nullptr,
                nullptr};
    void *tensors[] = {x.data(), nullptr, position.data(), y.data(), z.data()};
    workspace.assign(16 * std::max<size_t>(position.size(), 2) + 64, 0);
    dsf_call call{&env,
                  weights,
                  states,
                  tensors,
                  workspace.data(),
                  {int64_t(position.size()), 2, int64_t(z.size() / 4)}};
    return code.module().entries[0].function(&call);
  }

  CompiledModule code{kModule, GetParam()};
  Environment environment;
  // bf16: 2, 1, 0.5, -1 and 3, 3, 3, 3.
  uint16_t scale0[4] = {0x4000, 0x3f80, 0x3f00, 0xbf80};
  uint16_t scale1[4] = {0x4040, 0x4040, 0x4040, 0x4040};
  uint8_t bytes[4] = {1, 2, 3, 250}, exponent = 4;
  // Slots: scale 0-1, expert 2-13 (layers 0 and 1), map 14.
  const void *weights[15] = {scale0,  scale1,  nullptr, nullptr,   nullptr,
                             nullptr, nullptr, nullptr, nullptr,   nullptr,
                             nullptr, nullptr, bytes,   &exponent, nullptr};
  alignas(64) uint8_t state0[4096] = {}, state1[4096] = {};
  void *states[2] = {state0, state1};
  std::vector<float> x, y, z;
  std::vector<int32_t> position;
  std::vector<uint8_t> workspace;
};

TEST_P(NativeCode, Tables) {
  const dsf_module &module = code.module();
  EXPECT_EQ(module.magic, DSF_ABI_MAGIC);
  EXPECT_EQ(module.abi_version, DSF_ABI_VERSION);
  EXPECT_STREQ(module.compiler, "test");
  EXPECT_STREQ(module.target, "x86_64-unknown-linux-gnu");
  EXPECT_STREQ(module.numerics, "ideal");
  EXPECT_EQ(module.vocab_size, 11);
  EXPECT_EQ(module.max_positions, 12);
  EXPECT_EQ(module.draft_block, 13);
  EXPECT_EQ(module.look_back, 14);
  EXPECT_EQ(module.sliding_window, 15);

  ASSERT_EQ(module.entry_count, 1);
  const dsf_entry &entry = module.entries[0];
  EXPECT_STREQ(entry.name, "forward");
  EXPECT_EQ(entry.workspace_row_bytes, 16);
  EXPECT_EQ(entry.workspace_fixed_bytes, 64);
  struct {
    const char *name;
    uint32_t type, dim, access;
    int64_t elements;
  } tensors[] = {{"x", DSF_F32, DSF_DIM_ROWS, DSF_READ, 4},
                 {"extents", DSF_I32, DSF_DIM_SEQUENCES, DSF_READ, 2},
                 {"position", DSF_I32, DSF_DIM_ROWS, DSF_READ, 1},
                 {"y", DSF_F32, DSF_DIM_ROWS, DSF_WRITE, 4},
                 {"z", DSF_F32, DSF_DIM_OUTPUTS, DSF_READ_WRITE, 4}};
  ASSERT_EQ(entry.tensor_count, 5);
  for (int i = 0; i < 5; ++i) {
    EXPECT_STREQ(entry.tensors[i].name, tensors[i].name);
    EXPECT_EQ(entry.tensors[i].type, tensors[i].type);
    EXPECT_EQ(entry.tensors[i].dim, tensors[i].dim);
    EXPECT_EQ(entry.tensors[i].access, tensors[i].access);
    EXPECT_EQ(entry.tensors[i].row_elements, tensors[i].elements);
  }

  ASSERT_EQ(module.weight_count, 3);
  EXPECT_EQ(module.weight_slots, 15);
  const dsf_weight &expert = module.weights[1];
  EXPECT_STREQ(expert.tensor, "layers.{l}.{e}.w");
  EXPECT_STREQ(expert.scale, "layers.{l}.{e}.s");
  EXPECT_EQ(expert.type, uint32_t(DSF_E4M3));
  EXPECT_EQ(expert.scale_type, uint32_t(DSF_E8M0));
  EXPECT_EQ(expert.rows, 1);
  EXPECT_EQ(expert.columns, 4);
  EXPECT_EQ(expert.block_rows, 32u);
  EXPECT_EQ(expert.block_columns, 32u);
  ASSERT_EQ(expert.layer_count, 1u);
  EXPECT_EQ(expert.layers[0], 1);
  EXPECT_EQ(expert.layer_span, 2u);
  EXPECT_EQ(expert.experts, 3u);
  EXPECT_EQ(expert.planes, 2u);
  EXPECT_EQ(expert.slot, 2u);
  EXPECT_EQ(expert.source, uint32_t(DSF_FROM_CHECKPOINT));
  const dsf_weight &map = module.weights[2];
  EXPECT_EQ(map.scale, nullptr);
  EXPECT_EQ(map.scale_type, uint32_t(DSF_NONE));
  EXPECT_EQ(map.layers, nullptr);
  EXPECT_EQ(map.slot, 14u);
  EXPECT_EQ(map.source, uint32_t(DSF_FROM_TOKENIZER));

  ASSERT_EQ(module.state_count, 3);
  EXPECT_EQ(module.state_bytes, 4096);
  struct {
    const char *name;
    int64_t offset, rowBytes, rows, positions;
  } states[] = {{"window", 0, 16, 8, 0},
                {"keys.0", 128, 16, 3, 2},
                {"keys.0.scale", 192, 1, 3, 2}};
  for (int i = 0; i < 3; ++i) {
    EXPECT_STREQ(module.states[i].name, states[i].name);
    EXPECT_EQ(module.states[i].offset, states[i].offset);
    EXPECT_EQ(module.states[i].row_bytes, states[i].rowBytes);
    EXPECT_EQ(module.states[i].rows, states[i].rows);
    EXPECT_EQ(module.states[i].positions_per_row, states[i].positions);
  }

  ASSERT_EQ(module.probe_count, 1);
  EXPECT_STREQ(module.probes[0].name, "layers.{l}.scaled");
  EXPECT_EQ(module.probes[0].type, uint32_t(DSF_F32));
  EXPECT_EQ(module.probes[0].rank, 1u);
  EXPECT_EQ(module.probes[0].extents[0], 4);
  EXPECT_EQ(module.probes[0].positions_per_row, 1);
}

TEST_P(NativeCode, Runs) {
  x = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
  position = {2, 3, 4};
  y.assign(12, -1);
  z.assign(8, 0.5f);
  ASSERT_EQ(run(/*probes=*/false), 0);
  for (size_t i = 0; i < x.size(); ++i)
    EXPECT_EQ(y[i], 9 * x[i]);
  for (size_t i = 0; i < z.size(); ++i)
    EXPECT_EQ(z[i], float(uint8_t(bytes[i % 4] + exponent)) + 0.5f);
  EXPECT_EQ(environment.launches, 7);
  EXPECT_EQ(state0[192 + 2], exponent);

  // Layer l, position p: row l * 4 + p % 4 of the second sequence.
  float rings[8][4];
  std::memcpy(rings, state1, sizeof rings);
  const float scales[2][4] = {{2, 1, 0.5f, -1}, {3, 3, 3, 3}};
  for (int layer = 0; layer < 2; ++layer)
    for (int row = 0; row < 3; ++row)
      for (int i = 0; i < 4; ++i)
        EXPECT_EQ(rings[layer * 4 + position[row] % 4][i],
                  scales[layer][i] * x[row * 4 + i]);
}

TEST_P(NativeCode, ProbesSeeAndReplace) {
  x = {1, 2, 3, 4};
  position = {0};
  y.assign(4, 0);
  ASSERT_EQ(run(/*probes=*/true), 0);
  EXPECT_EQ(y, (std::vector<float>{9, 18, 27, 36}));
  EXPECT_EQ(environment.seen[0], (std::vector<float>{2, 2, 1.5f, -4}));
  EXPECT_EQ(environment.seen[1], (std::vector<float>{3, 6, 9, 12}));
  environment.replacement = 7;
  ASSERT_EQ(run(/*probes=*/true), 0);
  EXPECT_EQ(y, (std::vector<float>{21, 21, 21, 21}));
}

TEST_P(NativeCode, NoRowsLaunchNothing) {
  ASSERT_EQ(run(/*probes=*/false), 0);
  EXPECT_EQ(environment.launches, 0);
}

TEST_P(NativeCode, WantsNothingFromItsProcess) {
  auto symbols =
      llvm::cantFail(mlir::dsflash::getUndefinedSymbols(code.file()));
  for (const std::string &symbol : symbols)
    EXPECT_TRUE(llvm::is_contained(mlir::dsflash::getAllowedExternalFunctions(),
                                   symbol))
        << symbol;
}

INSTANTIATE_TEST_SUITE_P(Targets, NativeCode,
                         testing::Values("cpu", "cpu:generic"),
                         [](const auto &info) {
                           return std::string(info.index ? "Generic" : "Host");
                         });

//===----------------------------------------------------------------------===//
// Texts and files
//===----------------------------------------------------------------------===//

std::string readFile(const std::string &path) {
  auto buffer = llvm::MemoryBuffer::getFile(path);
  return buffer ? (*buffer)->getBuffer().str() : "";
}

std::string getFault(const char *llvmIR, const std::string &path) {
  llvm::Error error = mlir::dsflash::emitSharedObject(llvmIR, "x.ll", path);
  return llvm::toString(std::move(error));
}

TEST(NativeCodeFiles, EqualTextsGiveEqualBytes) {
  std::string text = getLLVMIR(kModule, "cpu:x86-64-v3");
  EXPECT_EQ(text, getLLVMIR(kModule, "cpu:x86-64-v3"));
  std::string first = getTemporaryPath(), second = getTemporaryPath();
  llvm::cantFail(mlir::dsflash::emitSharedObject(text, "a.ll", first));
  llvm::cantFail(mlir::dsflash::emitSharedObject(text, "b.ll", second));
  EXPECT_FALSE(readFile(first).empty());
  EXPECT_TRUE(readFile(first) == readFile(second));
  llvm::sys::fs::remove(first);
  llvm::sys::fs::remove(second);
}

TEST(NativeCodeFiles, AssemblyNamesTheTarget) {
  auto text =
      mlir::dsflash::emitAssembly(getLLVMIR(kModule, "cpu:x86-64-v3"), "a.ll");
  ASSERT_TRUE(bool(text));
  EXPECT_NE(text->find("vmulps"), std::string::npos);
  EXPECT_NE(text->find("dsf_module_query"), std::string::npos);
}

TEST(NativeCodeFiles, FaultsLeaveNoFile) {
  std::string path = getTemporaryPath();
  EXPECT_EQ(getFault("define void @f( {", path), "x.ll:1:18: expected type");
  EXPECT_EQ(getFault(R"(target triple = "x86_64-unknown-linux-gnu"
declare float @expf(float)
define float @f(float %x) {
  %y = call float @expf(float %x)
  ret float %y
})",
                     path),
            "x.ll: generated code needs functions that no runtime offers: "
            "expf");
  EXPECT_FALSE(llvm::sys::fs::exists(path));
  // No error tells a name that nobody gave.
  EXPECT_EQ(getFault(R"(target triple = "x86_64-unknown-linux-gnu")",
                     "/nonexistent/folder/model.so"),
            "cannot make a temporary file: No such file or directory");
}

} // namespace
