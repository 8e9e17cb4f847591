//===- DSFlashOps.td - All operations of the dialect ----------------------===//

#ifndef DSFLASH_DIALECT_DSFLASH_IR_DSFLASHOPS_TD
#define DSFLASH_DIALECT_DSFLASH_IR_DSFLASHOPS_TD

include "dsflash/Dialect/DSFlash/IR/DSFlashAttentionOps.td"
include "dsflash/Dialect/DSFlash/IR/DSFlashCheckOps.td"
include "dsflash/Dialect/DSFlash/IR/DSFlashDSparkOps.td"
include "dsflash/Dialect/DSFlash/IR/DSFlashEngramOps.td"
include "dsflash/Dialect/DSFlash/IR/DSFlashKernelOps.td"
include "dsflash/Dialect/DSFlash/IR/DSFlashMoEOps.td"
include "dsflash/Dialect/DSFlash/IR/DSFlashNumericsOps.td"
include "dsflash/Dialect/DSFlash/IR/DSFlashStreamOps.td"
include "dsflash/Dialect/DSFlash/IR/DSFlashStructureOps.td"

#endif // DSFLASH_DIALECT_DSFLASH_IR_DSFLASHOPS_TD
