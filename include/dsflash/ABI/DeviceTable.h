//===- DeviceTable.h - A class behind the device ABI ------------*- C++ -*-===//

#ifndef DSFLASH_ABI_DEVICETABLE_H
#define DSFLASH_ABI_DEVICETABLE_H

#include "dsflash/ABI/DeviceABI.h"
#include "dsflash/Support/Status.h"

#include <new>
#include <string>

namespace dsflash {

/// The functions of a dsf_device (DeviceABI.h), answered by an object of
/// DeviceT: its members have their names and parameters but for the first, and
/// give a Status; `statistics` gives a text, empty for null.
template <typename DeviceT> class DeviceTable {
public:
  /// For dsf_device_open; null: no memory.
  static const dsf_device *open(const char *options) {
    auto *opened = new (std::nothrow) DeviceTable(options);
    return opened ? &opened->table : nullptr;
  }

private:
  explicit DeviceTable(const char *options) : device(options) {
    table = {DSF_DEVICE_ABI_VERSION,
             this,
             Call<&DeviceT::load>::run,
             Call<&DeviceT::allocate>::run,
             Call<&DeviceT::allocateShared>::run,
             Call<&DeviceT::reserve>::run,
             Call<&DeviceT::commit>::run,
             Call<&DeviceT::release>::run,
             Call<&DeviceT::copy>::run,
             Call<&DeviceT::launch>::run,
             Call<&DeviceT::prefetch>::run,
             Call<&DeviceT::awaitPrefetch>::run,
             Call<&DeviceT::beginRecording>::run,
             Call<&DeviceT::endRecording>::run,
             Call<&DeviceT::replay>::run,
             Call<&DeviceT::releaseRecording>::run,
             Call<&DeviceT::wait>::run,
             statistics,
             close};
  }

  template <auto Member> struct Call;
  template <typename... Args, Status (DeviceT::*Member)(Args...)>
  struct Call<Member> {
    static const char *run(void *user, Args... args) {
      auto *self = static_cast<DeviceTable *>(user);
      Status status = (self->device.*Member)(args...);
      return status ? nullptr : self->keep(status.str());
    }
  };

  static const char *statistics(void *user) {
    auto *self = static_cast<DeviceTable *>(user);
    std::string counted = self->device.statistics();
    return counted.empty() ? nullptr : self->keep(std::move(counted));
  }
  static void close(void *user) { delete static_cast<DeviceTable *>(user); }

  /// A text that lives until the next call.
  const char *keep(std::string answer) {
    text = std::move(answer);
    return text.c_str();
  }

  DeviceT device;
  std::string text;
  dsf_device table;
};

} // namespace dsflash

#endif // DSFLASH_ABI_DEVICETABLE_H
