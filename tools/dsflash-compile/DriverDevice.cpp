//===- DriverDevice.cpp - The code of GPUs --------------------------------===//
//
// What is printed and reported is that of the first target.
//
//===----------------------------------------------------------------------===//

#include "Driver.h"
#include "Report.h"
#include "dsflash/Target/DeviceCode.h"

using namespace mlir;
using namespace mlir::dsflash;

/// Reports an error; always false.
static bool fail(llvm::Error error) {
  reportError(llvm::toString(std::move(error)));
  return false;
}

bool Driver::choosePtxas() {
  bool embedsCubins = goesOn(Stage::Kernels) && !isDone(Stage::PTX) &&
                      startsBefore(Stage::LLVM);
  if (!isDone(Stage::Cubin) && (!embedsCubins || options.ptxas == "none"))
    return true;
  auto found = findPtxas(options.ptxas);
  if (found) {
    reportNote("cubins are made with " + *found);
    ptxas = *found;
    if (!isDone(Stage::Cubin))
      llvmOptions.ptxas = ptxas;
    return true;
  }
  std::string why = llvm::toString(found.takeError());
  if (isDone(Stage::Cubin) || !options.ptxas.empty()) {
    reportError("--ptxas: " + why);
    return false;
  }
  reportNote("PTX without cubins: " + why);
  return true;
}

bool Driver::writeDeviceCode() {
  auto ptx = findPTX(llvmText, options.input, devices.front());
  if (!ptx)
    return fail(ptx.takeError());
  if (!passStage(Stage::PTX, *ptx) || !isDone(Stage::Cubin))
    return !isDone(Stage::Cubin);
  return log.run(Stage::Cubin, [&](TimingScope &) {
    auto cubin = assemblePTX(ptxas, *ptx, devices.front());
    return cubin ? passStage(Stage::Cubin, *cubin) : fail(cubin.takeError());
  });
}

bool Driver::addResources() {
  auto ptx = findPTX(llvmText, options.input, devices.front());
  if (!ptx)
    return fail(ptx.takeError());
  auto resources = getKernelResources(ptxas, *ptx, devices.front());
  if (!resources)
    return fail(resources.takeError());
  auto entries = findEntries(llvmText, options.input);
  if (!entries)
    return fail(entries.takeError());
  ::addResources(*resources, *entries, report);
  return true;
}
