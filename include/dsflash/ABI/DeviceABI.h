/*===- DeviceABI.h - What a device's library and the runtime agree on -----===*\
 *
 * A device that needs more than the runtime links is a library of its own,
 * libdsflash-NAME.so, with one symbol, dsf_device_open. Plain C.
 *
\*===----------------------------------------------------------------------===*/

#ifndef DSFLASH_ABI_DEVICEABI_H
#define DSFLASH_ABI_DEVICEABI_H

#include "dsflash/ABI/ModuleABI.h"

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define DSF_DEVICE_ABI_VERSION 6u
#define DSF_DEVICE_OPEN_SYMBOL "dsf_device_open"

/* Puts something into memory; calls nothing of a device. */
typedef void (*dsf_fill)(void *context);

/* A device, used by one thread at a time. Functions give null, or what went
 * wrong: a text that lives until the next call. Launches and copies happen in
 * the order of the calls, but perhaps later: what goes wrong in a kernel may be
 * told by any call behind it, at the latest by wait. */
typedef struct dsf_device {
  uint32_t abi_version;
  void *user;
  /* Takes that code of a module that fits the device best, and tells which. */
  const char *(*load)(void *user, const dsf_module *module,
                      const dsf_device_code **chosen);
  /* New memory, 256-byte aligned and undefined, cheap enough for every call.
   * `access` (dsf_access) is what kernels do with it, `name` is for texts. */
  const char *(*allocate)(void *user, const char *name, int64_t bytes,
                          uint32_t access, void **address);
  /* New memory, undefined, that the host and kernels use at one address. */
  const char *(*allocate_shared)(void *user, const char *name, int64_t bytes,
                                 void **address);
  /* Room for `bytes`, of which commit makes parts real, zero at first. */
  const char *(*reserve)(void *user, const char *name, int64_t bytes,
                         void **address);
  const char *(*commit)(void *user, void *address, int64_t offset,
                        int64_t bytes);
  /* Gives back what allocate, allocate_shared or reserve gave, once the
   * launches so far are done with it. */
  const char *(*release)(void *user, void *address);
  /* From the host to the device or back, or within the device. Memory of the
   * host is read and written before this returns. */
  const char *(*copy)(void *user, void *to, const void *from, int64_t bytes);
  /* Runs all items of a kernel; see dsf_env.launch. The call's address in
   * `arguments` is one of the device. */
  const char *(*launch)(void *user, const dsf_kernel *kernel, int64_t items,
                        const void *arguments, int64_t argument_bytes);
  /* Beside the launches, in the order of these calls: runs `fill`, on any
   * thread, then copies `bytes` from memory of allocate_shared to memory of the
   * device. Launches behind await_prefetch of the same number find them there;
   * the host waits in neither. In a recording it is the latest prefetch before
   * each replay that is awaited. */
  const char *(*prefetch)(void *user, int64_t number, dsf_fill fill,
                          void *context, void *to, const void *from,
                          int64_t bytes);
  const char *(*await_prefetch)(void *user, int64_t number);
  /* From here to end_recording launches are kept instead of run, and nothing
   * else but await_prefetch may be called. *recording is 0 where the device
   * cannot: nothing has begun then, launches run as ever. */
  const char *(*begin_recording)(void *user, int32_t *recording);
  /* What was kept, for replay; null where one of its launches failed. */
  const char *(*end_recording)(void *user, void **recorded);
  /* Starts all that was kept, with the same arguments; what these point to may
   * have changed. */
  const char *(*replay)(void *user, void *recorded);
  const char *(*release_recording)(void *user, void *recorded);
  /* Returns when all that was launched is done. */
  const char *(*wait)(void *user);
  /* What kernels did so far: a JSON array of an object for each, that has its
   * "name"; null: the device does not count. Lives until the next call. */
  const char *(*statistics)(void *user);
  void (*close)(void *user);
} dsf_device;

/* The exported symbol. `options` is what --device has behind the name and ':',
 * or empty; load says what is wrong with it. Null: no memory. */
typedef const dsf_device *(*dsf_device_open_function)(const char *options);

#ifdef __cplusplus
}
#endif

#endif /* DSFLASH_ABI_DEVICEABI_H */
