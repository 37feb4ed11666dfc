# One folder of src/ is one static library with one job. CONTRIBUTING.md says which may include which;
# the DEPENDS list here is that arrow, so an include that goes against it fails to link.
add_library(lwsvm_flags INTERFACE)
# -Wno-restrict: g++ 12 warns falsely on `"literal" + std::string` (its bug 105651).
# -Wno-pass-failed: clang, which builds the fuzzer at -O1, says so where it leaves a loop as it is.
target_compile_options(lwsvm_flags INTERFACE -Wall -Wextra -Wshadow -Wnon-virtual-dtor -Woverloaded-virtual
                                             $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict>
                                             $<$<CXX_COMPILER_ID:Clang>:-Wno-pass-failed>
                                             $<$<BOOL:${LWSVM_WERROR}>:-Werror>)
target_include_directories(lwsvm_flags INTERFACE ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/include)
# g++ collects garbage from 128 MB on: a tenth of the time to compile. It may take a gigabyte first.
if(CMAKE_CXX_COMPILER_ID STREQUAL GNU)
  target_compile_options(lwsvm_flags INTERFACE --param=ggc-min-heapsize=1000000)
endif()
if(LWSVM_SANITIZE)
  # Of a test's own code only addresses are checked; what is tested has all checks. (A property of the target decides, for
  # a target's own options come before these, which would win.)
  string(REPLACE ",undefined" "" sanitize_tests "${LWSVM_SANITIZE}")
  set(of_a_test $<BOOL:$<TARGET_PROPERTY:LWSVM_IS_TEST>>)
  target_compile_options(lwsvm_flags INTERFACE "$<$<NOT:${of_a_test}>:-fsanitize=${LWSVM_SANITIZE}>"
                                               "$<${of_a_test}:-fsanitize=${sanitize_tests}>"
                                               -fno-sanitize-recover=undefined -fno-omit-frame-pointer)
  target_link_options(lwsvm_flags INTERFACE -fsanitize=${LWSVM_SANITIZE})
  target_compile_definitions(lwsvm_flags INTERFACE LWSVM_SANITIZED)
  # Checks of every pointer for null and alignment are 40% of the time to compile. ASan sees the first, too; the fuzzers,
  # which the readers of files are for, keep both.
  if(LWSVM_SANITIZE MATCHES undefined AND NOT LWSVM_FUZZ)
    target_compile_options(lwsvm_flags INTERFACE -fno-sanitize=null,alignment,vptr)
  endif()
endif()

# src/base/simd_level.cc asks the processor what it has in libgcc's place.
target_link_options(lwsvm_flags INTERFACE -Wl,--wrap=__cpu_indicator_init)

if(LWSVM_FUZZ)
  target_compile_options(lwsvm_flags INTERFACE -fsanitize=fuzzer-no-link)
endif()

# Under the sanitizers what computes little itself is not optimised, and even ASan's checks are calls there: it compiles in
# half the time. (Not for the fuzzers, which run little else.)
function(lwsvm_plain_under_sanitizers target)
  if(NOT LWSVM_SANITIZE OR LWSVM_FUZZ)
    return()
  endif()
  target_compile_options(${target} PRIVATE -O0)
  if(LWSVM_SANITIZE MATCHES address)
    target_compile_options(${target} PRIVATE --param=asan-instrumentation-with-call-threshold=0)
  endif()
endfunction()

# What is seldom run is compiled fast instead of being fast: half of a full build was the optimiser, over code that runs once.
function(lwsvm_seldom_run target)
  if(NOT LWSVM_SANITIZE)
    target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-O1>)
  endif()
  lwsvm_plain_under_sanitizers(${target})
endfunction()

# lwsvm_library(base SOURCES error.cc ... DEPENDS fmt::fmt ...)
function(lwsvm_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPENDS" ${ARGN})
  add_library(lwsvm_${name} STATIC ${ARG_SOURCES})
  target_link_libraries(lwsvm_${name} PUBLIC lwsvm_flags ${ARG_DEPENDS})
endfunction()

# The instruction sets below this machine's own with which oneDNN and our loops can be told to make do.
set(lwsvm_lesser_isas "")
if(EXISTS /proc/cpuinfo AND NOT LWSVM_SANITIZE)
  file(STRINGS /proc/cpuinfo processor REGEX "^flags" LIMIT_COUNT 1)
  if(processor MATCHES " avx2 ")
    list(APPEND lwsvm_lesser_isas SSE41)
  endif()
  if(processor MATCHES " avx512f ")
    list(APPEND lwsvm_lesser_isas AVX2)
  endif()
endif()

# lwsvm_test(base SOURCES error_test.cc ... DEPENDS lwsvm_base): one GoogleTest program per folder, optimised only with
# COMPUTES, where tests compute much themselves: -O1 takes twice as long to compile as -O0. With EVERY_ISA its tests run
# once more for each lesser instruction set, as base@SSE41/..., base@AVX2/... Tests that match one of NOT_SANITIZED are left
# out under the sanitizers: those that run for long only to compare numbers.
function(lwsvm_test name)
  cmake_parse_arguments(ARG "COMPUTES;EVERY_ISA" "" "SOURCES;DEPENDS;NOT_SANITIZED" ${ARGN})
  if(LWSVM_SANITIZE STREQUAL thread)
    lwsvm_keep_files_of_threads(ARG_SOURCES)
  endif()
  add_executable(${name}_test ${ARG_SOURCES})
  target_link_libraries(${name}_test PRIVATE ${ARG_DEPENDS} GTest::gtest GTest::gmock GTest::gtest_main)
  target_include_directories(${name}_test PRIVATE ${PROJECT_SOURCE_DIR}/tests)
  set_target_properties(${name}_test PROPERTIES LWSVM_IS_TEST ON)
  if(ARG_COMPUTES)
    lwsvm_seldom_run(${name}_test)
  else()
    target_compile_options(${name}_test PRIVATE -O0)
    lwsvm_plain_under_sanitizers(${name}_test)
  endif()
  if(LWSVM_SANITIZE MATCHES address)
    list(JOIN ARG_NOT_SANITIZED ":" left_out)
    lwsvm_tests_in_parts(${name} ${name} ARGUMENTS --gtest_filter=-${left_out})
    return()
  endif()
  gtest_discover_tests(${name}_test TEST_PREFIX ${name}/ DISCOVERY_MODE PRE_TEST
                       PROPERTIES TIMEOUT 300 ENVIRONMENT "OMP_WAIT_POLICY=passive")
  if(ARG_EVERY_ISA)
    foreach(isa ${lwsvm_lesser_isas})
      # The argument tells engine's tests which instruction set there must be (instruction_set_test.cc).
      lwsvm_tests_in_parts(${name} ${name}@${isa} ARGUMENTS --isa=${isa}
                           ENVIRONMENT LWSVM_MAX_ISA=${isa} DNNL_MAX_CPU_ISA=${isa})
    endforeach()
  endif()
endfunction()

# ThreadSanitizer's preset runs tests that have Threads in their name: of folders that have such, no other file is compiled then.
function(lwsvm_keep_files_of_threads list)
  foreach(file ${${list}})
    file(STRINGS ${file} of_threads REGEX "^TEST.*Threads" LIMIT_COUNT 1)
    if(of_threads)
      list(APPEND kept ${file})
    endif()
  endforeach()
  if(kept)
    set(${list} ${kept} PARENT_SCOPE)
  endif()
endfunction()

# Where a program takes long to begin and to end, or runs a second time, one process runs many tests: a fourth of a folder's.
function(lwsvm_tests_in_parts name prefix)
  cmake_parse_arguments(ARG "" "" "ARGUMENTS;ENVIRONMENT" ${ARGN})
  foreach(part RANGE 3)
    set(test ${prefix}/${part}-of-4)
    add_test(NAME ${test} COMMAND ${name}_test --gtest_brief=1 ${ARG_ARGUMENTS})
    set_tests_properties(${test} PROPERTIES TIMEOUT 900
      ENVIRONMENT "OMP_WAIT_POLICY=passive;GTEST_TOTAL_SHARDS=4;GTEST_SHARD_INDEX=${part};${ARG_ENVIRONMENT}")
  endforeach()
endfunction()
