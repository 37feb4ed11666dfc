# What is installed: the program with its man pages and bash completion; for programs that use the API the headers, one
# static library and what find_package(lwsvm) and pkg-config need.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

# All parts that the API stands on, as one archive.
set(parts base engine data report net sgd ssvm dc lwsvm model run api)
list(TRANSFORM parts REPLACE "(.+)" "$<TARGET_OBJECTS:lwsvm_\\1>" OUTPUT_VARIABLE objects)
add_library(lwsvm_archive STATIC ${objects})
add_library(lwsvm::lwsvm ALIAS lwsvm_archive)
set_target_properties(lwsvm_archive PROPERTIES OUTPUT_NAME lwsvm EXPORT_NAME lwsvm LINKER_LANGUAGE CXX)
target_include_directories(lwsvm_archive INTERFACE $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
                                                   $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
target_compile_features(lwsvm_archive INTERFACE cxx_std_20)
# Debian has no CMake files for these three that one could use, so that they go by name.
target_link_libraries(lwsvm_archive PRIVATE
  fmt::fmt ZLIB::ZLIB PNG::PNG JPEG::JPEG LibArchive::LibArchive OpenSSL::Crypto protobuf::libprotobuf OpenMP::OpenMP_CXX
  Threads::Threads $<BUILD_INTERFACE:${DNNL_LIBRARY}> $<INSTALL_INTERFACE:dnnl>
  $<BUILD_INTERFACE:${LWSVM_WEBP_LIBRARY}> $<INSTALL_INTERFACE:webp>
  $<BUILD_INTERFACE:${ONNX_PROTO_LIBRARY}> $<INSTALL_INTERFACE:onnx_proto>)
target_link_options(lwsvm_archive INTERFACE -Wl,--wrap=__cpu_indicator_init)  # lwsvm_target.cmake says why

install(TARGETS lwsvm RUNTIME COMPONENT program)
install(TARGETS lwsvm_archive EXPORT lwsvm-targets ARCHIVE COMPONENT development)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/lwsvm DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT development)

set(config ${CMAKE_INSTALL_LIBDIR}/cmake/lwsvm)
install(EXPORT lwsvm-targets NAMESPACE lwsvm:: DESTINATION ${config} COMPONENT development)
configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/lwsvm-config.cmake.in
                              ${PROJECT_BINARY_DIR}/lwsvm-config.cmake INSTALL_DESTINATION ${config})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/lwsvm-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/lwsvm-config.cmake ${PROJECT_BINARY_DIR}/lwsvm-config-version.cmake
        DESTINATION ${config} COMPONENT development)

configure_file(${PROJECT_SOURCE_DIR}/cmake/lwsvm.pc.in ${PROJECT_BINARY_DIR}/lwsvm.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/lwsvm.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT development)

# Man pages are what --help says, so that the two never differ. The program must run here, so not when cross-compiling.
if(NOT CMAKE_CROSSCOMPILING)
  set(man ${PROJECT_BINARY_DIR}/man)
  add_custom_command(
    OUTPUT ${man}/lwsvm.1
    COMMAND ${PROJECT_SOURCE_DIR}/scripts/man-pages.sh $<TARGET_FILE:lwsvm> ${man}
    DEPENDS lwsvm ${PROJECT_SOURCE_DIR}/scripts/man-pages.sh
    VERBATIM)
  add_custom_target(lwsvm_man ALL DEPENDS ${man}/lwsvm.1)
  install(DIRECTORY ${man}/ DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 COMPONENT program FILES_MATCHING PATTERN *.1)
endif()
install(FILES ${PROJECT_SOURCE_DIR}/scripts/completion.bash RENAME lwsvm COMPONENT program
        DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE RENAME copyright COMPONENT program DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE RENAME copyright COMPONENT development
        DESTINATION ${CMAKE_INSTALL_DOCDIR}-dev)
