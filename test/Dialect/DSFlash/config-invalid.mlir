// RUN: dsflash-opt %s -split-input-file -verify-diagnostics -allow-unregistered-dialect

// expected-error @below {{(C1) expected lanes that are a power of two, a multiple of 32 threads up to 1024 and no negative size but got 3, 32 and 0}}
"test.op"() {c = #dsflash.config<"nvptx:sm_80", lanes = 3, threads = 32, shared_bytes = 0>} : () -> ()

// -----

// expected-error @below {{(C2) expected a tile of three extents that are multiples of 16, at most 512 outputs, and two or more stages}}
"test.op"() {c = #dsflash.config<"nvptx:sm_80", lanes = 4, threads = 32, shared_bytes = 0, stages = 1, tile = [64, 64, 64]>} : () -> ()

// -----

// expected-error @below {{(C2) expected a tile}}
"test.op"() {c = #dsflash.config<"nvptx:sm_80", lanes = 4, threads = 32, shared_bytes = 0, stages = 3, tile = [64, 60, 64]>} : () -> ()

// -----

// expected-error @below {{(C1) expected a multiple of 32 threads up to 1024 but got 48}}
"test.op"() {b = #dsflash.block<threads = 48, shared_bytes = 0>} : () -> ()

// -----

// expected-error @below {{(C2) expected no negative size but got -1}}
"test.op"() {b = #dsflash.block<threads = 32, shared_bytes = -1>} : () -> ()
