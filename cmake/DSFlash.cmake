# Project macros. A runtime library links no LLVM; a compiler library sees MLIR
# through its shared library and a common precompiled header.

function(dsflash_add_runtime_library name)
  cmake_parse_arguments(ARG "" "" "LINK_LIBS" ${ARGN})
  add_library(${name} STATIC ${ARG_UNPARSED_ARGUMENTS})
  target_link_libraries(${name} PUBLIC ${ARG_LINK_LIBS})
  target_compile_options(${name} PRIVATE -Wall -Wextra)
  dsflash_install_library(${name} Runtime)
endfunction()

# MLIR headers dominate compile time: every compiler library precompiles them.
function(dsflash_add_mlir_library name)
  cmake_parse_arguments(ARG "" "" "DEPENDS;LINK_LIBS" ${ARGN})
  add_mlir_library(${name} ${ARG_UNPARSED_ARGUMENTS} DISABLE_INSTALL
                   EXCLUDE_FROM_LIBMLIR DEPENDS ${ARG_DEPENDS} DSFlashHeaders
                   LINK_LIBS PUBLIC ${ARG_LINK_LIBS})
  mlir_target_link_libraries(${name} PUBLIC MLIRIR)
  target_precompile_headers(${name} PRIVATE
    ${PROJECT_SOURCE_DIR}/include/dsflash/Support/MLIRHeaders.h)
  dsflash_install_library(${name} Compiler)
endfunction()

function(dsflash_add_tool name)
  cmake_parse_arguments(ARG "" "" "LINK_LIBS" ${ARGN})
  add_executable(${name} ${ARG_UNPARSED_ARGUMENTS})
  target_link_libraries(${name} PRIVATE ${ARG_LINK_LIBS})
  install(TARGETS ${name})
endfunction()

function(dsflash_add_unittest name)
  cmake_parse_arguments(ARG "" "" "LINK_LIBS" ${ARGN})
  add_executable(${name} ${ARG_UNPARSED_ARGUMENTS})
  target_link_libraries(${name} PRIVATE ${ARG_LINK_LIBS} GTest::gtest_main)
  set_target_properties(${name} PROPERTIES
    RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/unittests)
  add_test(NAME ${name} COMMAND ${name})
  set_tests_properties(${name} PROPERTIES
    ENVIRONMENT XDG_CACHE_HOME=${PROJECT_BINARY_DIR}/unittests/cache)
endfunction()
