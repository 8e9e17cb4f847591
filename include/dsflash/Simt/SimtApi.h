/*===- SimtApi.h - The PTX device by dlopen -------------------------------===*\
 *
 * libdsflash-simt.so exports dsf_simt_api alone. Semantics as in Simt.h. A
 * function that can fail returns null, or a text "where: why" a line that is
 * valid until the next failure in this thread.
 *
\*===----------------------------------------------------------------------===*/

#ifndef DSFLASH_SIMT_SIMTAPI_H
#define DSFLASH_SIMT_SIMTAPI_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define DSF_SIMT_API_VERSION 1

typedef struct dsf_simt_device dsf_simt_device;
typedef struct dsf_simt_module dsf_simt_module;

typedef struct dsf_simt_options {
  int32_t checks;   /* 0 or 1 */
  int32_t counters; /* 0 or 1 */
  int32_t order;    /* 0 forward, 1 reverse, 2 random */
  int32_t threads;  /* 0: one a core */
  uint64_t seed;
} dsf_simt_options;

/* Bytes and alignment of one parameter of a kernel. */
typedef struct dsf_simt_parameter {
  uint32_t bytes, alignment;
} dsf_simt_parameter;

typedef struct dsf_simt_functions {
  uint32_t version; /* DSF_SIMT_API_VERSION */
  const char *(*create_device)(const dsf_simt_options *options,
                               dsf_simt_device **device);
  /* Modules of the device must be unloaded before. Null is allowed. */
  void (*destroy_device)(dsf_simt_device *device);
  void (*set_options)(dsf_simt_device *device, const dsf_simt_options *options);
  const char *(*allocate)(dsf_simt_device *device, size_t bytes,
                          const char *name, uint64_t *address);
  const char *(*release)(dsf_simt_device *device, uint64_t address);
  const char *(*map_host)(dsf_simt_device *device, const void *data,
                          size_t bytes, int32_t writable, const char *name);
  const char *(*write)(dsf_simt_device *device, uint64_t address,
                       const void *data, size_t bytes);
  const char *(*read)(dsf_simt_device *device, uint64_t address, void *data,
                      size_t bytes);
  const char *(*load)(dsf_simt_device *device, const char *ptx, size_t length,
                      const char *name, dsf_simt_module **module);
  void (*unload)(dsf_simt_module *module);
  /* Writes at most `capacity` parameters; `count` becomes their number. */
  const char *(*parameters)(const dsf_simt_module *module, const char *kernel,
                            dsf_simt_parameter *parameters, size_t capacity,
                            size_t *count);
  /* The address of a `.global` or `.const` variable, or 0. */
  uint64_t (*variable)(const dsf_simt_module *module, const char *name);
  const char *(*launch)(dsf_simt_module *module, const char *kernel,
                        const uint32_t grid[3], const uint32_t block[3],
                        uint32_t dynamic_shared_bytes,
                        const void *const *arguments);
} dsf_simt_functions;

/* Null if the library does not know this version. */
const dsf_simt_functions *dsf_simt_api(uint32_t version);

#ifdef __cplusplus
}
#endif

#endif /* DSFLASH_SIMT_SIMTAPI_H */
