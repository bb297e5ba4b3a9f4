# cmake --install: headers, one static library a layer, the program, and a package that find_package(retro) reads.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(package "${CMAKE_INSTALL_LIBDIR}/cmake/retro")
get_property(layers GLOBAL PROPERTY RETRO_LAYERS)
install(TARGETS retro_flags ${layers} EXPORT retro-targets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(DIRECTORY include/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
if(TARGET retro)
  install(TARGETS retro RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endif()
install(EXPORT retro-targets NAMESPACE retro:: DESTINATION ${package})
configure_package_config_file(tools/cmake/retro-config.cmake.in "${PROJECT_BINARY_DIR}/retro-config.cmake"
  INSTALL_DESTINATION ${package})
write_basic_package_version_file("${PROJECT_BINARY_DIR}/retro-config-version.cmake" COMPATIBILITY SameMinorVersion)
install(FILES "${PROJECT_BINARY_DIR}/retro-config.cmake" "${PROJECT_BINARY_DIR}/retro-config-version.cmake"
  tools/cmake/dependencies.cmake tools/cmake/cuda.cmake DESTINATION ${package})
