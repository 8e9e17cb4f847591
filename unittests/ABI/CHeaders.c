/* The ABI headers are plain C: this file only has to compile. */
#include "dsflash/ABI/ModuleABI.h"
#include "dsflash/ABI/QuantFormats.h"

float dsflashRoundInC(float x) { return dsf_bf16_round(x); }
