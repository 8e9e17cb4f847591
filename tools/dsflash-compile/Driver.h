//===- Driver.h - The way through the stages --------------------*- C++ -*-===//

#ifndef DSFLASH_TOOLS_COMPILE_DRIVER_H
#define DSFLASH_TOOLS_COMPILE_DRIVER_H

#include "Diagnostics.h"
#include "Options.h"
#include "StageLog.h"
#include "dsflash/CompileCache/CompileCache.h"
#include "dsflash/Model/ModelConfig.h"
#include "dsflash/Pipelines/Pipelines.h"
#include "dsflash/Target/CPUTarget.h"
#include "dsflash/Target/NVPTXTarget.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include <nlohmann/json.hpp>

/// Takes one input from its stage to the wanted one. Every error has been
/// reported when a function gives false.
class Driver {
public:
  explicit Driver(const Options &options);

  bool run();

private:
  bool chooseTarget();
  /// Finds the program that makes cubins; a model can do without one.
  bool choosePtxas();
  bool read();
  bool readConfig();
  bool readCheckpoint();
  /// The tokenizer beside the checkpoint must give the Engram map its size.
  bool checkTokenizer();
  bool readModule();
  /// Leaves the function that the user named.
  bool exportFunction();
  bool readLLVM();
  bool checkNumerics();
  /// Those that the text has, else those of the command line.
  std::string getNumerics();

  /// All that the code depends on, or nothing when there is no linker.
  std::optional<::dsflash::CacheKey> makeKey();
  /// Takes the code from the cache, if it may and can.
  void findInCache();
  void storeInCache(const std::string &path);

  /// Goes on to the wanted stage, a text or code.
  bool compile();
  bool lower(Stage stage,
             llvm::function_ref<void(mlir::OpPassManager &)> build);
  /// Counts the module's operations, behind `stage`; always true.
  bool noteSize(Stage stage);
  bool translate();
  bool writeAssembly();
  bool writeDeviceCode();
  bool writeModel();
  /// Writes model.so to `path`.
  dsflash::Status writeCode(const std::string &path, mlir::TimingScope &scope);
  bool addResources();
  bool writeReport();

  /// Keeps the text of a stage where it is wanted.
  bool passStage(Stage stage, const std::string &text);
  bool passModule(Stage stage);
  std::string printModule();
  /// Whether a step that ends in `stage` has to run: the input lies before it.
  bool startsBefore(Stage stage) const {
    return !options.from || *options.from < stage;
  }
  bool isDone(Stage stage) const { return options.emit == stage; }
  /// Whether the wanted stage lies behind `stage`.
  bool goesOn(Stage stage) const { return options.emit > stage; }

  const Options &options;
  StageLog log;
  DiagnosticPrinter printer;
  mlir::MLIRContext context;
  mlir::dsflash::CPUTarget target;
  /// Of GPUs; empty: kernels run on the host.
  std::vector<mlir::dsflash::NVPTXTarget> devices;
  std::string ptxas; ///< that makes cubins; empty: none are made
  mlir::dsflash::PhasesPipelineOptions phasesOptions;
  mlir::dsflash::KernelsPipelineOptions kernelsOptions;
  mlir::dsflash::LLVMPipelineOptions llvmOptions;
  dsflash::ModelConfig config;
  /// Folder of weights and path of the tokenizer; empty without a checkpoint.
  std::string checkpoint, tokenizer;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  std::string llvmText;
  /// Of the code; none when it is not kept.
  std::optional<::dsflash::CacheKey> key;
  std::optional<std::string> cachedCode;
  /// Of the IR behind each stage, by its name.
  nlohmann::ordered_json operations = nlohmann::ordered_json::object();
  nlohmann::ordered_json report;
};

#endif // DSFLASH_TOOLS_COMPILE_DRIVER_H
