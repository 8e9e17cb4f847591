//===- Driver.h - The way through the stages --------------------*- C++ -*-===//

#ifndef DSFLASH_TOOLS_COMPILE_DRIVER_H
#define DSFLASH_TOOLS_COMPILE_DRIVER_H

#include "Options.h"
#include "dsflash/Model/ModelConfig.h"
#include "dsflash/Target/CPUTarget.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/ADT/STLFunctionalExtras.h"

/// Takes one input from its stage to the wanted one. Every error has been
/// reported when a function gives false.
class Driver {
public:
  explicit Driver(const Options &options);

  bool run();

private:
  bool readConfig();
  bool readCheckpoint();
  /// The tokenizer beside the checkpoint must give the Engram map its size.
  bool checkTokenizer();
  bool readModule();
  bool readLLVM();
  bool checkNumerics();
  bool lower(llvm::function_ref<void(mlir::OpPassManager &)> build);
  bool lowerToLLVM(const mlir::dsflash::CPUTarget &target);
  bool writeModel(const mlir::dsflash::CPUTarget &target);

  /// Keeps the text of a stage where it is wanted.
  bool passStage(Stage stage, const std::string &text);
  bool passModule(Stage stage);
  /// Whether a step that ends in `stage` has to run: the input lies before it.
  bool startsBefore(Stage stage) const {
    return !options.from || *options.from < stage;
  }
  bool isDone(Stage stage) const { return options.emit == stage; }

  const Options &options;
  mlir::MLIRContext context;
  dsflash::ModelConfig config;
  /// Folder of weights and path of the tokenizer; empty without a checkpoint.
  std::string checkpoint, tokenizer;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  std::string llvmText;
};

#endif // DSFLASH_TOOLS_COMPILE_DRIVER_H
