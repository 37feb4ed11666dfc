# cpack -G DEB: lwsvm, the program, and lwsvm-dev, what a program that uses the API needs.
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME lwsvm)
set(CPACK_PACKAGE_VENDOR lwsvm)
set(CPACK_PACKAGE_CONTACT "the lwsvm project <lwsvm@localhost>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "${PROJECT_DESCRIPTION}")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_COMPONENTS_ALL program development)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION science)

set(CPACK_DEBIAN_PROGRAM_PACKAGE_NAME lwsvm)
set(CPACK_DEBIAN_PROGRAM_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PROGRAM_PACKAGE_SUGGESTS "npm, dataset-fashion-mnist")  # for lwsvm data get
set(CPACK_COMPONENT_PROGRAM_DESCRIPTION "The command line program, its man pages and bash completion.")

set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_NAME lwsvm-dev)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SECTION libdevel)
string(CONCAT CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS
  "libarchive-dev, libdnnl-dev, libfmt-dev, libjpeg62-turbo-dev, libonnx-dev, libpng-dev, libprotobuf-dev, libssl-dev, libwebp-dev, zlib1g-dev")
set(CPACK_COMPONENT_DEVELOPMENT_DESCRIPTION "Headers and library of the C++ API, for find_package and pkg-config.")
include(CPack)
