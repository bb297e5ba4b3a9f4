# The project's own build functions. One call per layer, test or program; the options below are shared.
#
#   retro_layer(NAME core SOURCES error.cpp ... [LINKS retro::x third_party ...] [TORCH])
#       static library retro_core, alias retro::core
#   retro_test(NAME core_tests SOURCES error_test.cpp ... [LINKS ...] [TORCH] [OPTIMISED] [LABEL core] [TIMEOUT seconds])
#       GoogleTest program and one ctest entry. OPTIMISED: its own code computes much (float64 oracles, the simulator)
#   retro_executable(NAME retro SOURCES main.cpp ... [LINKS ...] [TORCH])
#
# TORCH links LibTorch and compiles with one shared precompiled header (tools/cmake/torch_header.h).

# Adds each of the named sub-folders that has a CMakeLists.txt.
function(retro_add_folders)
  foreach(folder IN LISTS ARGN)
    if(EXISTS "${CMAKE_CURRENT_SOURCE_DIR}/${folder}/CMakeLists.txt")
      add_subdirectory(${folder})
    endif()
  endforeach()
endfunction()

# Sets `result` to the first thing a target would need that this build does not have, or to nothing.
function(retro_missing_requirement result)
  cmake_parse_arguments(PARSE_ARGV 1 ARG "TORCH" "" "LINKS")
  set(missing "")
  if(ARG_TORCH AND NOT RETRO_TORCH)
    set(missing "LibTorch")
  endif()
  foreach(link IN LISTS ARG_LINKS)
    if(link MATCHES "^retro" AND NOT TARGET ${link} AND NOT missing)
      set(missing "${link}")
    endif()
  endforeach()
  set(${result} "${missing}" PARENT_SCOPE)
endfunction()

# What all three kinds of target have in common.
function(retro_configure_target target visibility)
  cmake_parse_arguments(PARSE_ARGV 2 ARG "TORCH" "" "LINKS")
  target_link_libraries(${target} ${visibility} retro_flags ${ARG_LINKS})
  target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:${RETRO_CXX_OPTIONS}>)
  target_link_options(${target} PRIVATE ${RETRO_LINK_OPTIONS})
  if(ARG_TORCH)
    target_link_libraries(${target} ${visibility} retro_torch)
    retro_use_torch_header(${target})
  endif()
endfunction()

# The precompiled header is built once, by a target that holds nothing else.
function(retro_use_torch_header target)
  if(NOT TARGET retro_torch_header)
    file(WRITE "${PROJECT_BINARY_DIR}/retro_torch_header.cpp" "// Carries the precompiled LibTorch headers.\n")
    add_library(retro_torch_header OBJECT "${PROJECT_BINARY_DIR}/retro_torch_header.cpp")
    target_link_libraries(retro_torch_header PRIVATE retro_flags retro_torch)
    target_compile_options(retro_torch_header PRIVATE
      $<$<COMPILE_LANGUAGE:CXX>:${RETRO_CXX_OPTIONS} -fpch-preprocess>)
    target_precompile_headers(retro_torch_header PRIVATE "${PROJECT_SOURCE_DIR}/tools/cmake/torch_header.h")
  endif()
  target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-fpch-preprocess>)
  target_precompile_headers(${target} REUSE_FROM retro_torch_header)
endfunction()

# Only a build without LibTorch may lack something.
function(retro_skip name missing)
  if(RETRO_TORCH)
    message(FATAL_ERROR "${name} links ${missing}, which is not there")
  endif()
endfunction()

macro(retro_parse_target)
  cmake_parse_arguments(PARSE_ARGV 0 ARG "TORCH;OPTIMISED" "NAME;LABEL;TIMEOUT" "SOURCES;LINKS")
  if(ARG_UNPARSED_ARGUMENTS OR NOT ARG_NAME OR NOT ARG_SOURCES)
    message(FATAL_ERROR "NAME and SOURCES are needed, not understood: '${ARG_UNPARSED_ARGUMENTS}'")
  endif()
  set(torch "")
  if(ARG_TORCH)
    set(torch TORCH)
  endif()
  retro_missing_requirement(missing ${torch} LINKS ${ARG_LINKS})
  if(missing)
    retro_skip(${ARG_NAME} "${missing}")
    return()
  endif()
endmacro()

function(retro_layer)
  retro_parse_target()
  add_library(retro_${ARG_NAME} STATIC ${ARG_SOURCES})
  add_library(retro::${ARG_NAME} ALIAS retro_${ARG_NAME})
  set_target_properties(retro_${ARG_NAME} PROPERTIES EXPORT_NAME ${ARG_NAME})
  retro_configure_target(retro_${ARG_NAME} PUBLIC ${torch} LINKS ${ARG_LINKS})
  set_property(GLOBAL APPEND PROPERTY RETRO_LAYERS retro_${ARG_NAME})
endfunction()

function(retro_executable)
  retro_parse_target()
  add_executable(${ARG_NAME} ${ARG_SOURCES})
  retro_configure_target(${ARG_NAME} PRIVATE ${torch} LINKS ${ARG_LINKS})
endfunction()

function(retro_test)
  retro_parse_target()
  if(NOT ARG_LABEL)
    get_filename_component(ARG_LABEL "${CMAKE_CURRENT_SOURCE_DIR}" NAME)
  endif()
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 600)
  endif()
  add_executable(${ARG_NAME} ${ARG_SOURCES})
  retro_configure_target(${ARG_NAME} PRIVATE ${torch} LINKS ${ARG_LINKS} GTest::gmock GTest::gtest GTest::gtest_main)
  target_include_directories(${ARG_NAME} PRIVATE "${PROJECT_SOURCE_DIR}/tests")
  if(NOT ARG_OPTIMISED)
    # The checks themselves, not what they check: half of the time to compile one (28 s to 16 s for a long file).
    target_compile_options(${ARG_NAME} PRIVATE $<$<CONFIG:Release>:-O1>)
  endif()
  target_compile_definitions(${ARG_NAME} PRIVATE
    RETRO_TEST_DATA="${PROJECT_SOURCE_DIR}/tests/data" RETRO_DEPS_DIR="${RETRO_DEPS}")
  add_test(NAME ${ARG_NAME} COMMAND ${ARG_NAME})
  # On a busy machine, threads of OpenMP that wait by spinning take the cores from those they wait for.
  set_tests_properties(${ARG_NAME} PROPERTIES LABELS "${ARG_LABEL}" TIMEOUT ${ARG_TIMEOUT}
    ENVIRONMENT "OMP_WAIT_POLICY=passive")
endfunction()
