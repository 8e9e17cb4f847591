//===- TensorProductTest.cpp - Products of a device on simt ---------------===//
//
// Every kernel of a product is run with all checks, for a table of shapes, and
// compared with the sum in f64 of what the formats stand for.
//
//===----------------------------------------------------------------------===//

#include "dsflash/ABI/ModuleABI.h"
#include "dsflash/ABI/QuantFormats.h"
#include "dsflash/Dialect/DSFlash/IR/DSFlashDialect.h"
#include "dsflash/InitAll.h"
#include "dsflash/Pipelines/Pipelines.h"
#include "dsflash/Simt/Simt.h"
#include "dsflash/Transforms/AttributeNames.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/Support/MathExtras.h"
#include <cstdlib>
#include <gtest/gtest.h>
#include <new>
#include <random>

namespace dsf = mlir::dsflash;
using namespace dsflash;

namespace {

/// Memory at multiples of 256 bytes, as a GPU's driver gives it.
template <typename T> struct DeviceAllocator {
  using value_type = T;
  static constexpr std::align_val_t kAlignment{256};

  DeviceAllocator() = default;
  template <typename U> DeviceAllocator(const DeviceAllocator<U> &) {}

  T *allocate(size_t count) {
    return static_cast<T *>(::operator new(count * sizeof(T), kAlignment));
  }
  void deallocate(T *memory, size_t) { ::operator delete(memory, kAlignment); }

  bool operator==(const DeviceAllocator &) const { return true; }
  bool operator!=(const DeviceAllocator &) const { return false; }
};
template <typename T> using Buffer = std::vector<T, DeviceAllocator<T>>;

/// Who computes a tile: a block on tensor cores, a block without, a thread.
enum class Path { TensorCores, Block, Thread };

/// A product of the model, or one of each expert.
struct Product {
  const char *format; // as in the dialect
  int64_t outputs, columns;
  int64_t groups = 1;
  int64_t experts = 0; // 0: one matrix
  Path path = Path::TensorCores;

  int64_t tileOutputs() const {
    if (path == Path::Block)
      return outputs / groups >= 256 ? 4 : 1;
    return path == Path::Thread ? 8 : 64;
  }
  int64_t tileRows() const { return path == Path::Block ? 4 : 64; }
  bool isE2M1() const { return std::string(format).find("e2m1") == 1; }
  bool isBF16() const { return std::string(format) == "<bf16>"; }
  int64_t blockRows() const { return isE2M1() ? 1 : 32; }
};

constexpr int64_t kChoices = 2;

std::string makeModel(const Product &p) {
  std::string out = std::to_string(p.outputs), in = std::to_string(p.columns);
  std::string extents = p.experts ? std::to_string(p.experts) + ", " : "";
  std::string width = std::to_string(p.groups * p.columns);
  std::string weight =
      "!dsflash.weight<[" + extents + out + ", " + in + "], " + p.format + ">";
  std::string x = "tensor<?x" + width + "xf32>";
  std::string y =
      p.experts ? "tensor<?x2x" + out + "xf32>" : "tensor<?x" + out + "xf32>";
  std::string text = "dsflash.param @w \"w." +
                     std::string(p.experts ? "{e}" : "") + "\"" +
                     (p.isBF16()  ? ""
                      : p.experts ? " scale \"s.{e}\""
                                  : " scale \"s\"") +
                     " : " + weight + "\n";
  text += "func.func @forward(%x: " + x +
          " {dsflash.name = \"x\", dsflash.dim = \"rows\"}, %ids: "
          "tensor<?x2xi32> {dsflash.name = \"ids\", dsflash.dim = \"rows\"}) "
          "-> (" +
          y + " {dsflash.name = \"y\", dsflash.dim = \"rows\"}) {\n";
  text += "%r = dsflash.round %x {point = \"x\"} : " + x + "\n";
  text += "%w = dsflash.param_ref @w : " + weight + "\n";
  std::string types = "(" + x + ", " + weight;
  if (p.experts) {
    std::string offsets = "tensor<" + std::to_string(p.experts + 1) + "xi32>";
    text += "%order, %offsets = dsflash.group_by_expert %ids : "
            "(tensor<?x2xi32>) -> (tensor<?x2xi32>, " +
            offsets + ")\n";
    text +=
        "%y = dsflash.expert_linear %r, %w order %order, %offsets : " + types +
        ", tensor<?x2xi32>, " + offsets + ") -> " + y + "\n";
  } else {
    text += "%y = dsflash.grouped_linear %r, %w {groups = " +
            std::to_string(p.groups) + " : i64} : " + types + ") -> " + y +
            "\n";
  }
  return text + "return %y : " + y + "\n}\n";
}

/// The architecture whose PTX is run, from DSFLASH_TEST_PTX as "nvptx:sm_90a".
std::string getTarget() {
  const char *wanted = std::getenv("DSFLASH_TEST_PTX");
  return wanted ? wanted : "nvptx:sm_80";
}

/// The kernel of a product on a simt device.
class ProductKernel {
public:
  explicit ProductKernel(const Product &p) : product(p) {
    mlir::DialectRegistry registry;
    dsf::registerAllDialects(registry);
    mlir::MLIRContext context(registry);
    auto source =
        mlir::parseSourceString<mlir::ModuleOp>(makeModel(p), &context);
    EXPECT_TRUE(bool(source));
    mlir::PassManager kernels(&context), code(&context);
    dsf::KernelsPipelineOptions options;
    options.device = getTarget();
    options.tensorCores = p.path == Path::TensorCores;
    dsf::buildKernelsPipeline(kernels, options);
    EXPECT_TRUE(mlir::succeeded(kernels.run(*source)));
    source->walk([&](dsf::DispatchOp dispatch) {
      if (dispatch.getKernel().contains("linear"))
        name = dispatch.getKernel().str();
    });
    auto kernel = source->lookupSymbol<mlir::func::FuncOp>(name);
    if (auto block =
            kernel->getAttrOfType<dsf::BlockAttr>(dsf::blockAttrName)) {
      threads = uint32_t(block.getThreads());
      sharedBytes = uint32_t(block.getSharedBytes());
    }
    dsf::LLVMPipelineOptions llvmOptions;
    llvmOptions.device = options.device;
    dsf::buildLLVMPipeline(code, llvmOptions);
    EXPECT_TRUE(mlir::succeeded(code.run(*source)));
    std::string chip = getTarget().substr(getTarget().find(':') + 1);
    auto bytes = mlir::cast<mlir::StringAttr>(
        source->lookupSymbol<mlir::LLVM::GlobalOp>("dsf.ptx." + chip)
            .getValueAttr());
    auto loaded = simt::Module::load(device, bytes.getValue().drop_back().str(),
                                     "product.ptx");
    EXPECT_TRUE(bool(loaded)) << loaded.status().str();
    module = std::move(*loaded);
  }

  bool isBlock() const { return sharedBytes != 0; }

  /// Results of the rows `x`; of experts, of each choice.
  Buffer<float> run(const Buffer<float> &x, const std::vector<int32_t> &ids);

  /// What the weights stand for: [experts, outputs, columns].
  Buffer<float> weights;
  simt::Device device;

private:
  void makeWeights();
  template <typename T> void map(const T &data, bool writable) {
    if (!data.empty())
      EXPECT_TRUE(device.mapHost(data.data(), data.size() * sizeof(data[0]),
                                 writable, "operand"));
  }
  template <typename T> void unmap(const T &data) {
    if (!data.empty())
      EXPECT_TRUE(device.release(reinterpret_cast<uint64_t>(data.data())));
  }

  Product product;
  std::string name;
  uint32_t threads = 32, sharedBytes = 0;
  std::optional<simt::Module> module;
  std::vector<Buffer<uint8_t>> planes;
  std::vector<const void *> slots;
};

void ProductKernel::makeWeights() {
  std::minstd_rand random(1);
  const Product &p = product;
  for (int64_t expert = 0; expert < std::max(p.experts, int64_t(1)); ++expert) {
    int64_t scaleColumns = llvm::divideCeil(p.columns, 32);
    Buffer<uint8_t> scales(llvm::divideCeil(p.outputs, p.blockRows()) *
                           scaleColumns);
    for (uint8_t &scale : scales)
      scale = uint8_t(120 + random() % 8);
    Buffer<uint8_t> payload;
    for (int64_t o = 0; o < p.outputs; ++o)
      for (int64_t k = 0; k < p.columns; ++k) {
        float scale =
            dsf_e8m0_decode(scales[o / p.blockRows() * scaleColumns + k / 32]);
        uint8_t code = uint8_t(random() >> 8);
        if (p.isBF16()) {
          uint16_t value = dsf_bf16_encode(float(int(code) - 128) / 64);
          payload.insert(payload.end(), {uint8_t(value), uint8_t(value >> 8)});
          weights.push_back(dsf_bf16_decode(value));
        } else if (p.isE2M1()) {
          code &= 15;
          if (k % 2)
            payload.back() |= uint8_t(code << 4);
          else
            payload.push_back(code);
          weights.push_back(dsf_e2m1_decode(code) * scale);
        } else {
          code &= 0xbf; // no NaN
          payload.push_back(code);
          weights.push_back(dsf_e4m3_decode(code) * scale);
        }
      }
    planes.push_back(payload);
    if (!p.isBF16())
      planes.push_back(scales);
  }
  for (const Buffer<uint8_t> &plane : planes) {
    map(plane, false);
    slots.push_back(plane.data());
  }
  map(slots, false);
}

Buffer<float> ProductKernel::run(const Buffer<float> &x,
                                 const std::vector<int32_t> &ids) {
  if (slots.empty())
    makeWeights();
  const Product &p = product;
  int64_t rows = int64_t(x.size()) / (p.groups * p.columns), weight = 0;
  int64_t results = p.experts ? rows * kChoices : rows;
  Buffer<float> y(results * p.outputs, NAN);
  std::vector<dsf_call> call(1);
  call[0].weights = slots.data();
  std::vector<int32_t> order, offsets;
  for (int32_t expert = 0; expert <= p.experts; ++expert) {
    offsets.push_back(int32_t(order.size()));
    for (size_t slot = 0; slot < ids.size(); ++slot)
      if (ids[slot] == expert)
        order.push_back(int32_t(slot));
  }
  int64_t tiles =
      p.groups * llvm::divideCeil(p.outputs / p.groups, p.tileOutputs());
  int64_t items = p.experts   ? tiles * p.experts
                  : isBlock() ? tiles * llvm::divideCeil(rows, p.tileRows())
                              : tiles;
  const void *callData = call.data(), *xData = x.data(), *yData = y.data(),
             *orderData = order.data(), *offsetsData = offsets.data();
  std::vector<const void *> arguments{&callData, &items, &xData, &rows,
                                      &weight};
  if (p.experts)
    arguments.insert(arguments.end(), {&orderData, &rows, &offsetsData});
  arguments.insert(arguments.end(), {&yData, &rows});
  map(x, false);
  map(y, true);
  map(call, false);
  map(order, false);
  map(offsets, false);
  simt::Dim3 grid, block;
  grid.x = uint32_t(isBlock() ? items : llvm::divideCeil(items, threads));
  block.x = threads;
  if (grid.x) {
    Status status =
        module->launch(name, grid, block, sharedBytes, arguments.data());
    EXPECT_TRUE(bool(status)) << status.str();
  }
  unmap(x);
  unmap(y);
  unmap(call);
  unmap(order);
  unmap(offsets);
  return y;
}

Buffer<float> makeRows(int64_t rows, int64_t features) {
  std::minstd_rand random(7);
  Buffer<float> x(rows * features);
  for (float &value : x)
    value = dsf_bf16_round(float(int(random() >> 8) % 2001 - 1000) / 300);
  return x;
}

void check(const Product &p, std::initializer_list<int64_t> rowCounts) {
  ProductKernel kernel(p);
  EXPECT_EQ(kernel.isBlock(), p.path != Path::Thread);
  int64_t features = p.groups * p.columns;
  int64_t most = std::max(rowCounts);
  Buffer<float> x = makeRows(most, features);
  std::vector<int32_t> ids;
  for (int64_t slot = 0; p.experts && slot < most * kChoices; ++slot)
    ids.push_back(int32_t(slot * slot % 7 % (p.experts - 1)));
  Buffer<float> first;
  for (int64_t rows : rowCounts) {
    SCOPED_TRACE(testing::Message()
                 << p.format << " " << p.outputs << "x" << p.columns << ", "
                 << p.groups << " groups, " << rows << " rows");
    kernel.device.options().order =
        rows % 2 ? simt::Order::Reverse : simt::Order::Forward;
    std::vector<int32_t> chosen(
        ids.begin(), ids.begin() + (p.experts ? rows * kChoices : 0));
    Buffer<float> y =
        kernel.run({x.begin(), x.begin() + rows * features}, chosen);
    int64_t wrong = 0, results = int64_t(y.size()) / p.outputs;
    for (int64_t slot = 0; slot < results; ++slot)
      for (int64_t o = 0; o < p.outputs; ++o) {
        int64_t row = p.experts ? slot / kChoices : slot;
        int64_t group = o / (p.outputs / p.groups);
        const float *in = &x[row * features + group * p.columns];
        const float *w =
            &kernel.weights[((p.experts ? ids[slot] : 0) * p.outputs + o) *
                            p.columns];
        double sum = 0, size = 0;
        for (int64_t k = 0; k < p.columns; ++k) {
          sum += double(in[k]) * w[k];
          size += std::abs(double(in[k]) * w[k]);
        }
        float got = y[slot * p.outputs + o];
        if (std::abs(got - sum) <= size * 0x1p-20)
          continue;
        if (!wrong++)
          ADD_FAILURE() << "result " << slot << ", " << o << " is " << got
                        << ", not " << sum;
      }
    EXPECT_EQ(wrong, 0) << "of " << y.size();
    if (wrong)
      return;
    // A row has the same bits whatever is computed with it.
    first.resize(std::max(first.size(), y.size()), NAN);
    for (size_t i = 0; i < y.size(); ++i) {
      if (std::isnan(first[i]))
        first[i] = y[i];
      ASSERT_EQ(first[i], y[i]);
    }
  }
}

constexpr const char *kE4M3 = "<e4m3, e8m0, [32, 32]>";
constexpr const char *kE2M1 = "<e2m1, e8m0, [1, 32]>";

TEST(TensorProduct, E4M3) {
  check({kE4M3, 2, 32}, {0, 1, 17});
  check({kE4M3, 66, 1056}, {1, 64, 65});
  check({kE4M3, 140, 128, /*groups=*/2}, {1, 3, 66});
}

TEST(TensorProduct, BF16) {
  check({"<bf16>", 50, 8}, {1, 16});
  check({"<bf16>", 70, 328}, {1, 15, 65});
}

TEST(TensorProduct, E2M1OfExperts) {
  check({kE2M1, 36, 32, 1, 8}, {1, 5, 70});
  // More columns than scales of a row are there at a time.
  check({kE2M1, 130, 1120, 1, 8}, {1, 40});
}

TEST(TensorProduct, Blocks) {
  check({"<bf16>", 50, 8, 1, 0, Path::Block}, {0, 1, 16});
  check({"<bf16>", 514, 68, 2, 0, Path::Block}, {1, 3, 4, 5});
}

TEST(TensorProduct, PlainPath) {
  check({kE4M3, 66, 224, 1, 0, Path::Thread}, {0, 1, 65});
  check({"<bf16>", 50, 6, 1, 0, Path::Thread}, {1, 16});
  check({kE2M1, 130, 288, 1, 8, Path::Thread}, {1, 40});
}

// What a block asks for follows from its tile: of the columns that it
// multiplies, all of its rows as f32 and its outputs as they are stored, with
// their scales (docs/Nvptx.md).
void checkCounters(const char *format, int64_t rows) {
  SCOPED_TRACE(format);
  constexpr int64_t outputs = 128, columns = 512, tile = 64;
  ProductKernel kernel({format, outputs, columns});
  kernel.device.options().counters = true;
  kernel.run(makeRows(rows, columns), {});
  ASSERT_EQ(kernel.device.counters().size(), 1u);
  const simt::Counters &counted = kernel.device.counters().begin()->second;
  EXPECT_EQ(counted.tensorFlops, uint64_t(2 * rows * outputs * columns));

  bool isE2M1 = format == kE2M1;
  double input = rows * columns * 4, weights = outputs * columns;
  double weight = isE2M1 ? weights / 2 : weights,
         scales = weights / (isE2M1 ? 32 : 32 * 32);
  double result = rows * outputs * 4, rowTiles = std::ceil(rows / double(tile));
  EXPECT_LE(counted.uniqueReadBytes, 1.02 * (input + weight + scales));
  EXPECT_EQ(counted.uniqueWrittenBytes, result);
  // Every thread looks up the table of weights and two addresses in it.
  double lookUps = outputs / double(tile) * rowTiles * 128 * 3 * 8;
  double requested =
      input * outputs / tile + (weight + scales) * rowTiles + lookUps;
  EXPECT_NEAR(counted.globalReadBytes, requested, 0.05 * requested);
  EXPECT_LE(counted.globalSectors, 1.05 * counted.idealSectors);
  EXPECT_LE(counted.sharedPasses, 1.1 * counted.idealPasses);
}

TEST(TensorProduct, CountersFollowFromTheTile) {
  checkCounters(kE4M3, 64);
  checkCounters(kE2M1, 16);
}

} // namespace
