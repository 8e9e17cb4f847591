/*===- DeviceABI.h - What a device's library and the runtime agree on
------===*\
 *
 * A device that needs more than the runtime links is a library of its own,
 * libdsflash-NAME.so, with one symbol, dsf_device_open. Plain C.
 *
\*===----------------------------------------------------------------------===*/

#ifndef DSFLASH_ABI_DEVICEABI_H
#define DSFLASH_ABI_DEVICEABI_H

#include "dsflash/ABI/ModuleABI.h"

#ifdef __cplusplus
extern "C" {
#endif

#define DSF_DEVICE_ABI_VERSION 2u
#define DSF_DEVICE_OPEN_SYMBOL "dsf_device_open"

/* A device whose memory is the host's, used by one thread at a time. Functions
 * give null, or what went wrong: a text that lives until the next call. */
typedef struct dsf_device {
  uint32_t abi_version;
  void *user;
  /* Takes the device code of a module (dsf_module.device_code). */
  const char *(*load)(void *user, const char *code);
  /* Runs all items of a kernel to their end; see dsf_env.launch. */
  const char *(*launch)(void *user, const dsf_kernel *kernel, int64_t items,
                        const void *arguments, int64_t argument_bytes);
  void (*close)(void *user);
} dsf_device;

/* The exported symbol. Null: no memory. */
typedef const dsf_device *(*dsf_device_open_function)(void);

#ifdef __cplusplus
}
#endif

#endif /* DSFLASH_ABI_DEVICEABI_H */
