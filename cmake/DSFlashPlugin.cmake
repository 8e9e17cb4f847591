# A plugin links neither dsflash nor MLIR: dsflash-opt exports its own symbols, and a second
# copy of the dialect would have other type ids than the one whose operations it is given.
function(dsflash_add_pass_plugin name)
  add_library(${name} MODULE ${ARGN})
  target_compile_features(${name} PRIVATE cxx_std_17)
  target_include_directories(${name} PRIVATE ${dsflash_INCLUDE_DIRS})
  target_include_directories(${name} SYSTEM PRIVATE ${MLIR_INCLUDE_DIRS}
    ${LLVM_INCLUDE_DIRS})
  separate_arguments(definitions NATIVE_COMMAND "${LLVM_DEFINITIONS}")
  target_compile_definitions(${name} PRIVATE ${definitions})
  set_target_properties(${name} PROPERTIES PREFIX "")
endfunction()
