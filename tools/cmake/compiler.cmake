# How every target of this project is compiled: language, optimisation, warnings, sanitizers, ccache.

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_INSTALL_RPATH_USE_LINK_PATH ON)
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Build type" FORCE)
endif()

# Precompiled headers are cached only when ccache is told to look past macros and time stamps.
find_program(RETRO_CCACHE ccache)
if(RETRO_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER
      ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime
      ${RETRO_CCACHE})
  set(CMAKE_C_COMPILER_LAUNCHER ${CMAKE_CXX_COMPILER_LAUNCHER})
endif()

# What holds for our own targets only; third-party headers are system includes.
add_library(retro_flags INTERFACE)
add_library(retro::flags ALIAS retro_flags)
target_compile_features(retro_flags INTERFACE cxx_std_20)
target_include_directories(retro_flags INTERFACE
  $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include> $<INSTALL_INTERFACE:include>)

set(RETRO_WARNINGS -Wall -Wextra -Wshadow -Wconversion -Wnon-virtual-dtor -Woverloaded-virtual -Wcast-align
                   -Wduplicated-cond -Wlogical-op -Wvla -Werror)
# g++ 12 reports these where nothing is wrong (inlined std::string, std::optional and vector code).
list(APPEND RETRO_WARNINGS -Wno-restrict -Wno-maybe-uninitialized -Wno-array-bounds -Wno-stringop-overflow
                           -Wno-stringop-overread)

set(RETRO_CXX_OPTIONS -march=${RETRO_MARCH} ${RETRO_WARNINGS})
set(RETRO_LINK_OPTIONS "")
if(RETRO_SANITIZE)
  list(APPEND RETRO_CXX_OPTIONS -fsanitize=${RETRO_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  list(APPEND RETRO_LINK_OPTIONS -fsanitize=${RETRO_SANITIZE})
endif()
