/*===- ModuleABI.h - What a compiled model and its runtime agree on --------===*\
 *
 * The one header that the compiler and the runtime share. A compiled model
 * exports one symbol, dsf_module_query; everything else hangs off the table
 * that it returns. Plain C, nothing included but <stdint.h>, every structure
 * size asserted. Any change here raises DSF_ABI_VERSION: versions must be equal.
 *
\*===----------------------------------------------------------------------===*/

#ifndef DSFLASH_ABI_MODULEABI_H
#define DSFLASH_ABI_MODULEABI_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#define DSF_STATIC_ASSERT(condition, text) static_assert(condition, text)
#else
#define DSF_STATIC_ASSERT(condition, text) _Static_assert(condition, text)
#endif

#define DSF_ABI_MAGIC 0x00465344u /* "DSF" */
#define DSF_ABI_VERSION 9u
#define DSF_MODULE_QUERY_SYMBOL "dsf_module_query"

/* Element types of tensors, weights and probes. */
typedef enum dsf_type {
  DSF_F32 = 0,
  DSF_BF16 = 1,
  DSF_E4M3 = 2, /* one byte an element */
  DSF_E2M1 = 3, /* two elements a byte, the even one in the low nibble */
  DSF_E8M0 = 4, /* power-of-two scales */
  DSF_I32 = 5,
  DSF_I64 = 6,
  DSF_NONE = 7 /* no scale plane */
} dsf_type;

/* What the leading extent of a tensor counts. */
typedef enum dsf_dim {
  DSF_DIM_ROWS = 0,      /* (sequence, position) pairs of this call */
  DSF_DIM_SEQUENCES = 1, /* sequences of this call */
  DSF_DIM_OUTPUTS = 2,   /* rows whose logits are wanted */
  DSF_DIM_COUNT = 3
} dsf_dim;

typedef enum dsf_access {
  DSF_READ = 1,
  DSF_WRITE = 2,
  DSF_READ_WRITE = 3
} dsf_access;

/* One piece of parallel work: items begin (inclusive) to end (exclusive). */
typedef void (*dsf_task)(void *context, int64_t begin, int64_t end);

/* What compiled code may call. */
typedef struct dsf_env {
  void *user;
  /* Runs task over [0, count) in disjoint pieces, on any threads, and returns
   * when all are done. The result may not depend on the pieces. */
  void (*parallel_for)(void *user, dsf_task task, void *context, int64_t count);
  /* An observation point: `data` holds `rows` rows of probe number `probe`, in
   * the order of the call's rows; they may be replaced. Null when unused. */
  void (*probe)(void *user, int32_t probe, int64_t layer, void *data,
                int64_t rows);
  /* A check of a checked model failed: number `check`, in a layer or -1, for
   * the row of a position or -1. May come from several threads at once. The
   * numbers are those of dsf_check_kind. Null: nobody is told. */
  void (*report)(void *user, int32_t check, int64_t layer, int64_t position,
                 int64_t found, int64_t expected, int64_t slot);
  /* Runs kernel number `kernel` of the module's device code, all of `items`
   * items, after the kernels launched before. `arguments` are the bytes of the
   * entry's parameters before the kernel's constants, the call's address and
   * `items` first; they are read before this returns. Null on a host, where
   * parallel_for runs kernels. */
  void (*launch)(void *user, int32_t kernel, int64_t items,
                 const void *arguments, int64_t argument_bytes);
  /* The rows that this call reads of the table in weight slot `slot` are needed
   * now: returns when they are in memory. On the calling thread, before each
   * look-up. Null: all tables are in memory. */
  void (*await_rows)(void *user, int64_t slot);
} dsf_env;
DSF_STATIC_ASSERT(sizeof(dsf_env) == 48, "dsf_env");

/* The argument of every entry. Rows of one sequence are adjacent, their
 * positions ascend by one. */
typedef struct dsf_call {
  const dsf_env *env;
  const void *const *weights; /* [module.weight_slots] */
  void *const *states;        /* [sequences], module.state_bytes each */
  void *const *tensors;       /* [entry.tensor_count] */
  void *workspace; /* 64-byte aligned, see dsf_entry.workspace_* */
  int64_t dims[DSF_DIM_COUNT];
} dsf_call;
DSF_STATIC_ASSERT(sizeof(dsf_call) == 64, "dsf_call");

typedef int32_t (*dsf_entry_function)(const dsf_call *call);

/* A tensor argument: `row_elements` elements for each unit of `dim`. */
typedef struct dsf_tensor {
  const char *name;
  uint32_t type;   /* dsf_type */
  uint32_t dim;    /* dsf_dim */
  uint32_t access; /* dsf_access */
  /* With kernels on a device: 1 if the entry's code on the host reads it too,
   * to know how much to launch. Then it lies where both can read it. */
  uint32_t host_reads;
  int64_t row_elements;
} dsf_tensor;
DSF_STATIC_ASSERT(sizeof(dsf_tensor) == 32, "dsf_tensor");

/* An entry. Its workspace is workspace_row_bytes * max(dims) +
 * workspace_fixed_bytes; compiled code allocates nothing else. */
typedef struct dsf_entry {
  const char *name;
  dsf_entry_function function;
  const dsf_tensor *tensors;
  int64_t tensor_count;
  int64_t workspace_row_bytes;
  int64_t workspace_fixed_bytes;
  int64_t last_rows; /* of a sequence, all that it needs; 0: any number */
} dsf_entry;
DSF_STATIC_ASSERT(sizeof(dsf_entry) == 56, "dsf_entry");

/* A parameter: one checkpoint tensor for each of its layers and experts.
 *
 * `tensor` and `scale` are checkpoint names in which "{l}" stands for the layer
 * and "{e}" for the expert. Layer l, expert e has its payload address in slot
 *   slot + (l * experts + e) * planes
 * and, when planes is 2, its scale address in the slot behind it. */
typedef struct dsf_weight {
  const char *tensor;
  const char *scale; /* null when planes is 1 */
  uint32_t type;     /* dsf_type of the payload */
  uint32_t scale_type;
  int64_t rows;
  int64_t columns; /* logical, in elements */
  uint32_t block_rows;
  uint32_t block_columns;
  const int32_t *layers; /* layers that own it; null: no layer in the name */
  uint32_t layer_count;
  uint32_t layer_span; /* slots are reserved for layers 0..layer_span-1 */
  uint32_t experts;    /* 1 when there is no "{e}" */
  uint32_t planes;
  uint32_t slot;
  uint32_t source; /* dsf_weight_source */
} dsf_weight;
DSF_STATIC_ASSERT(sizeof(dsf_weight) == 80, "dsf_weight");

typedef enum dsf_weight_source {
  DSF_FROM_CHECKPOINT = 0,
  DSF_FROM_TOKENIZER = 1 /* the Engram token map, I32 [1, vocabulary] */
} dsf_weight_source;

/* One plane of a sequence's state, inside the sequence's address range.
 * positions_per_row 0: `rows` rows from the start, whatever the length;
 * otherwise row j holds positions j * positions_per_row and on, and a sequence
 * of p positions has used p / positions_per_row rows of at most `rows`. */
typedef struct dsf_state {
  const char *name;
  int64_t offset;
  int64_t row_bytes;
  int64_t rows;
  int64_t positions_per_row;
} dsf_state;
DSF_STATIC_ASSERT(sizeof(dsf_state) == 40, "dsf_state");

/* An observation point. "{l}" in the name stands for the layer. With
 * positions_per_row r > 1 only rows whose position is r - 1 modulo r count. */
typedef struct dsf_probe {
  const char *name;
  uint32_t type; /* dsf_type: F32, I32 or I64 */
  uint32_t rank; /* of a row: 0, 1 or 2 */
  int64_t extents[2];
  int64_t positions_per_row;
} dsf_probe;
DSF_STATIC_ASSERT(sizeof(dsf_probe) == 40, "dsf_probe");

typedef enum dsf_check_kind {
  DSF_CHECK_NAN = 0,    /* a row has a NaN */
  DSF_CHECK_EXPERT = 1, /* expert id `found` outside of [0, expected) */
  DSF_CHECK_ROW = 2,    /* row `found` outside of [0, expected) */
  DSF_CHECK_SLOT = 3    /* ring slot `slot` holds position `found`, or none for
                         * -1, where `expected` should be */
} dsf_check_kind;

/* What a checked model verifies. "{l}" in the name of the operation stands for
 * the layer. */
typedef struct dsf_check {
  const char *name;
  uint32_t kind; /* dsf_check_kind */
  uint32_t reserved;
} dsf_check;
DSF_STATIC_ASSERT(sizeof(dsf_check) == 16, "dsf_check");

/* A kernel of the device code and how it is launched: blocks of `threads` in x,
 * one for each `items_per_block` items. A smaller grid covers any number of
 * items too: a block goes on with those that lie a whole grid behind its own.
 * Kernels that differ in numbers alone share an entry, which takes the numbers
 * of each behind the launch's arguments. */
typedef struct dsf_kernel {
  const char *name;
  uint32_t threads;
  uint32_t shared_bytes; /* of dynamic shared memory */
  int64_t items_per_block;
  const char *entry;        /* of the device code */
  const int64_t *constants; /* its last parameters; null: none */
  int64_t constant_count;
} dsf_kernel;
DSF_STATIC_ASSERT(sizeof(dsf_kernel) == 48, "dsf_kernel");

/* All kernels as code for one architecture. */
typedef struct dsf_device_code {
  const char *target; /* as --target has it, "nvptx:sm_80" */
  const char *ptx;    /* text, ends in a zero byte */
  const void *cubin;  /* null: none */
  int64_t cubin_bytes;
} dsf_device_code;
DSF_STATIC_ASSERT(sizeof(dsf_device_code) == 32, "dsf_device_code");

/* The table of a compiled model. magic and abi_version keep their places in
 * every version. */
typedef struct dsf_module {
  uint32_t magic;
  uint32_t abi_version;
  const char *compiler;     /* name and version */
  const char *target;       /* triple */
  const char *cpu_features; /* needed, comma separated, LLVM's names */
  const char *numerics;     /* "reference" or "ideal" */
  const dsf_entry *entries;
  int64_t entry_count;
  const dsf_weight *weights;
  int64_t weight_count;
  int64_t weight_slots;
  const dsf_state *states;
  int64_t state_count;
  int64_t state_bytes; /* address range of one sequence */
  const dsf_probe *probes;
  int64_t probe_count;
  int64_t vocab_size;
  int64_t max_positions;
  int64_t draft_block; /* positions of a draft block; 0: no draft layers */
  int64_t look_back;   /* earlier ids that Engram reads; 0: no Engram */
  int64_t sliding_window;
  const dsf_check *checks; /* of a checked model */
  int64_t check_count;
  const dsf_device_code *codes; /* of a model for a device; null: none */
  int64_t code_count;
  const dsf_kernel *kernels; /* that each code has */
  int64_t kernel_count;
} dsf_module;
DSF_STATIC_ASSERT(sizeof(dsf_module) == 208, "dsf_module");

/* The exported symbol. */
typedef const dsf_module *(*dsf_module_query_function)(void);

#ifdef __cplusplus
}
#endif

#endif /* DSFLASH_ABI_MODULEABI_H */
