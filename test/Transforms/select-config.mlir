// RUN: dsflash-opt %s --dsflash-select-config=device=nvptx:sm_80 | FileCheck %s --check-prefix=SM80
// RUN: dsflash-opt %s --dsflash-select-config=device=nvptx:sm_120a | FileCheck %s --check-prefix=SM120
// RUN: dsflash-opt %s --dsflash-select-config="device=nvptx:sm_90a tensor-cores=false" | FileCheck %s --check-prefix=PLAIN
// RUN: dsflash-opt %s --dsflash-select-config=device=nvptx:sm_90a,nvptx:sm_120a | FileCheck %s --check-prefix=BOTH
// RUN: not dsflash-opt %s --dsflash-select-config=device=nvptx:sm_81 2>&1 | FileCheck %s --check-prefix=UNKNOWN
// RUN: not dsflash-opt %s --dsflash-select-config 2>&1 | FileCheck %s --check-prefix=NONE

// Shared memory of a block: 163 KB, 99 KB and 227 KB.
// SM80:  module attributes {dsflash.config = #dsflash.config<"nvptx:sm_80", lanes = 4, threads = 32, shared_bytes = 166912, stages = 3, tile = [64, 64, 64]>}
// SM120: shared_bytes = 101376
// PLAIN: module attributes {dsflash.config = #dsflash.config<"nvptx:sm_90a", lanes = 4, threads = 32, shared_bytes = 232448>}

// The kernels of several devices have what all of them have.
// BOTH:  "nvptx:sm_90a", lanes = 4, threads = 32, shared_bytes = 101376

// UNKNOWN: error: no configuration for the device 'nvptx:sm_81'
// NONE:    error: no configuration for the device ''
module {
}
