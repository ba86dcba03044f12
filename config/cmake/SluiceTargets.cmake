# SPDX-License-Identifier: LGPL-3.0-or-later
# How every target of Sluice is built; one place for flags.
include(GNUInstallDirs)

add_library(sluice_flags INTERFACE)
target_compile_options(sluice_flags INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor -Woverloaded-virtual -Wcast-qual -Werror)
# g++ 12 sees overflows in std::string's own code that are not there (GCC bugs 105329, 105651).
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  target_compile_options(sluice_flags INTERFACE -Wno-restrict -Wno-array-bounds -Wno-stringop-overflow -Wno-stringop-overread)
endif()
# A unity build includes .cpp files, which g++ then takes for headers that should not use unnamed namespaces.
if(CMAKE_UNITY_BUILD AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  target_compile_options(sluice_flags INTERFACE -Wno-subobject-linkage)
endif()
# There a header's local name may also be one of a .cpp that came before it; clang warns of that, g++ does not.
if(CMAKE_UNITY_BUILD AND CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  target_compile_options(sluice_flags INTERFACE -Wno-shadow)
endif()
target_include_directories(sluice_flags INTERFACE ${CMAKE_SOURCE_DIR}/include ${CMAKE_SOURCE_DIR})
# What makes a mistake in our code harder to use. Linking is the same in every build; what the compiler adds is on in builds
# that are installed and in ./runtests, which inspects the result (tests/unit/hardening). libcrypto, libssl and the MariaDB
# client are Debian's static libraries, built with Debian's flags: docs/security.md.
set(harden ON)
if(SLUICE_TESTS OR SLUICE_SANITIZE OR CMAKE_BUILD_TYPE STREQUAL "Debug")
  set(harden OFF)
endif()
option(SLUICE_HARDEN "Stack protector, FORTIFY_SOURCE, stack clash and control-flow protection" ${harden})
target_link_options(sluice_flags INTERFACE -Wl,-z,relro -Wl,-z,now -Wl,-z,noexecstack -Wl,--as-needed)
if(SLUICE_HARDEN)
  target_compile_options(sluice_flags INTERFACE -fstack-protector-strong -fstack-clash-protection -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2)
  if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
    target_compile_options(sluice_flags INTERFACE -fcf-protection=full)
  elseif(CMAKE_SYSTEM_PROCESSOR MATCHES "aarch64")
    target_compile_options(sluice_flags INTERFACE -mbranch-protection=standard)
  endif()
endif()
if(SLUICE_SANITIZE)
  target_compile_options(sluice_flags INTERFACE -fsanitize=${SLUICE_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  target_link_options(sluice_flags INTERFACE -fsanitize=${SLUICE_SANITIZE})
endif()

# The standard headers cost half of the time that a file of ours takes to compile: parsed once, reused by every library and
# program. Nothing else belongs here: a change of it builds everything anew.
file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/sluice_pch.cpp CONTENT "// Carries the precompiled standard headers.\n")
add_library(sluice_pch OBJECT ${CMAKE_BINARY_DIR}/sluice_pch.cpp)
target_link_libraries(sluice_pch PRIVATE sluice_flags)
target_precompile_headers(sluice_pch PRIVATE
  <algorithm> <array> <charconv> <chrono> <cmath> <cstdint> <cstdio> <cstring> <filesystem> <functional> <map> <memory> <mutex>
  <optional> <set> <span> <sstream> <stdexcept> <string> <string_view> <unordered_map> <utility> <variant> <vector>)

# sluice_library(NAME SOURCES ... PUBLIC lib ... PRIVATE lib ...)
function(sluice_library name)
  cmake_parse_arguments(A "" "" "SOURCES;PUBLIC;PRIVATE" ${ARGN})
  add_library(${name} STATIC ${A_SOURCES})
  target_link_libraries(${name} PUBLIC sluice_flags ${A_PUBLIC} PRIVATE ${A_PRIVATE})
  target_precompile_headers(${name} REUSE_FROM sluice_pch)
endfunction()

# sluice_program(NAME [NO_MAN] DESTINATION bin|cgi-bin SOURCES ... LIBS ... [NAMES ...] [SUBCOMMANDS ...]): the program and, unless NO_MAN, its manual
# page, which it prints itself (--man), from the text of its --help. NAMES: other names of the program, links to it, each with a
# page and a target of its own. SUBCOMMANDS: `NAME SUBCOMMAND --man` is a page, NAME-SUBCOMMAND.
function(sluice_program name)
  cmake_parse_arguments(A "NO_MAN" "DESTINATION" "SOURCES;LIBS;NAMES;SUBCOMMANDS" ${ARGN})
  add_executable(${name} ${A_SOURCES})
  target_link_libraries(${name} PRIVATE sluice_flags ${A_LIBS})
  target_precompile_headers(${name} REUSE_FROM sluice_pch)
  if(A_NO_MAN)
    sluice_installed_program(${name} NO_MAN DESTINATION ${A_DESTINATION})
  else()
    sluice_installed_program(${name} DESTINATION ${A_DESTINATION})
  endif()
  foreach(command ${A_SUBCOMMANDS})
    set(page ${CMAKE_BINARY_DIR}/man/${name}-${command}.1)
    add_custom_command(TARGET ${name} POST_BUILD COMMAND ${name} ${command} --man > ${page} BYPRODUCTS ${page})
    install(FILES ${page} DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 COMPONENT man)
    set_property(GLOBAL APPEND PROPERTY SLUICE_SUBCOMMANDS "${name} ${command}")
  endforeach()
  foreach(other ${A_NAMES})
    set(page ${CMAKE_BINARY_DIR}/man/${other}.1)
    add_custom_command(TARGET ${name} POST_BUILD
      COMMAND ${CMAKE_COMMAND} -E create_symlink ${name} $<TARGET_FILE_DIR:${name}>/${other}
      COMMAND $<TARGET_FILE_DIR:${name}>/${other} --man > ${page} BYPRODUCTS ${page})
    add_executable(${other} IMPORTED GLOBAL)
    set_target_properties(${other} PROPERTIES IMPORTED_LOCATION ${CMAKE_BINARY_DIR}/${A_DESTINATION}/${other})
    add_dependencies(${other} ${name})
    install(CODE "execute_process(COMMAND \"${CMAKE_COMMAND}\" -E create_symlink ${name} \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${A_DESTINATION}/${other}\")")
    install(FILES ${page} DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 COMPONENT man)
    set_property(GLOBAL APPEND PROPERTY SLUICE_PROGRAMS ${other})
  endforeach()
endfunction()

# The same for an executable that exists.
function(sluice_installed_program name)
  cmake_parse_arguments(A "NO_MAN" "DESTINATION" "" ${ARGN})
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/${A_DESTINATION})
  install(TARGETS ${name} RUNTIME DESTINATION ${A_DESTINATION})
  if(A_NO_MAN)
    return()
  endif()
  set(page ${CMAKE_BINARY_DIR}/man/${name}.1)
  add_custom_command(TARGET ${name} POST_BUILD
    COMMAND ${CMAKE_COMMAND} -E make_directory ${CMAKE_BINARY_DIR}/man
    COMMAND ${name} --man > ${page} BYPRODUCTS ${page})
  install(FILES ${page} DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 COMPONENT man)
  set_property(GLOBAL APPEND PROPERTY SLUICE_PROGRAMS ${name})
endfunction()

# Tests are compiled once and run for an instant: they do with less optimisation than what they test, and the build with a third
# less time for them (10 test files, user time in one run: 115 s at -O3, 73 s at -O1, 71 s at -O0).
set(SLUICE_TEST_OPTIONS "")
if(CMAKE_BUILD_TYPE STREQUAL "Release" AND CMAKE_CXX_FLAGS_RELEASE MATCHES "-O[23]")
  set(SLUICE_TEST_OPTIONS -O1)
endif()

# A test with real clients waits for them nearly all the time (ten of them: 1,750 s, of which 92 s of processor), another one
# computes. Counted so, all clients' tests and another test fit into ctest -j 16 on two cores, and two others when they are over.
set(SLUICE_TEST_WEIGHT 6)

# Only what hangs is ended: on a machine that others keep busy a test of a minute has needed a quarter of an hour.
set(SLUICE_TEST_LIMIT 2400)

# sluice_test(NAME [KEEPS_ROOT|ACCOUNTS|ONE_ACCOUNT] [SANITIZED|NOT_SANITIZED] LABEL label [TIMEOUT s] SOURCES ... LIBS ...): one GoogleTest
# program = one ctest entry. Started by root, database, web server, project and clients of a test have an account each
# (tests/support/accounts.h): with ACCOUNTS, which the labels apache and client imply, unless ONE_ACCOUNT says that by its nature it
# has one; KEEPS_ROOT: it stays root's, and changes accounts itself. SANITIZED: tests/sanitizers runs it, too (unit, property and shmem tests
# anyway; not what needs a database or many programs).
function(sluice_test name)
  cmake_parse_arguments(A "KEEPS_ROOT;ACCOUNTS;ONE_ACCOUNT;SANITIZED;NOT_SANITIZED" "LABEL;TIMEOUT" "SOURCES;LIBS;ENV" ${ARGN})
  if(NOT A_TIMEOUT)
    set(A_TIMEOUT ${SLUICE_TEST_LIMIT})
  endif()
  add_executable(${name} ${A_SOURCES})
  set(main sluice_test_main)
  if(A_KEEPS_ROOT)
    set(main sluice_test_main_as_root)
  elseif(A_ACCOUNTS OR (A_LABEL MATCHES "^(apache|client)$" AND NOT A_ONE_ACCOUNT))
    set(main sluice_test_main_with_accounts)
  endif()
  target_link_libraries(${name} PRIVATE sluice_flags ${A_LIBS} ${main} sluice_test_paths GTest::gmock)
  target_compile_options(${name} PRIVATE ${SLUICE_TEST_OPTIONS})
  target_precompile_headers(${name} REUSE_FROM sluice_test_pch)
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
  add_test(NAME ${name} COMMAND ${name})
  set(labels ${A_LABEL})
  if(A_SANITIZED OR (A_LABEL MATCHES "^(unit|property|shmem)$" AND NOT A_NOT_SANITIZED))
    list(APPEND labels sanitized)
    set_property(GLOBAL APPEND PROPERTY SLUICE_SANITIZED_TESTS ${name})
  endif()
  set(weight ${SLUICE_TEST_WEIGHT})
  if(A_LABEL STREQUAL "client")
    set(weight 1)
  endif()
  set_tests_properties(${name} PROPERTIES LABELS "${labels}" TIMEOUT ${A_TIMEOUT} ENVIRONMENT "${A_ENV}" PROCESSORS ${weight})
endfunction()

# sluice_bench(NAME SOURCES ... LIBS ... [INSTANT arguments]): a program to be measured with by hand. So that it still works when it
# is needed, every run of the tests builds it and, if arguments for that are given, runs it for an instant (ctest label bench); what
# it prints then is no measurement.
function(sluice_bench name)
  cmake_parse_arguments(A "" "" "SOURCES;LIBS;INSTANT" ${ARGN})
  add_executable(${name} ${A_SOURCES})
  target_link_libraries(${name} PRIVATE sluice_flags ${A_LIBS} sluice_test_paths)
  target_precompile_headers(${name} REUSE_FROM sluice_pch)
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
  if(A_INSTANT)
    add_test(NAME ${name}_works COMMAND ${name} ${A_INSTANT})
    set_tests_properties(${name}_works PROPERTIES LABELS bench TIMEOUT ${SLUICE_TEST_LIMIT})
  endif()
endfunction()

# sluice_fuzz(NAME [MUTATIONS n] SOURCES ... LIBS ... CORPUS folders): NAME_replay runs every input of CORPUS once, and n random
# neighbours of each, with any compiler (ctest label fuzz); with SLUICE_FUZZ, NAME is the libFuzzer program (by hand:
# cmake --preset fuzz, then build/fuzz/tests/NAME -max_total_time=60 CORPUS). SOURCES define LLVMFuzzerTestOneInput.
function(sluice_fuzz name)
  cmake_parse_arguments(A "" "MUTATIONS" "SOURCES;LIBS;CORPUS" ${ARGN})
  if(NOT A_MUTATIONS)
    set(A_MUTATIONS 0)
  endif()
  add_executable(${name}_replay ${A_SOURCES} ${CMAKE_SOURCE_DIR}/tests/fuzz/replay_main.cpp)
  target_link_libraries(${name}_replay PRIVATE sluice_flags ${A_LIBS})
  set_target_properties(${name}_replay PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
  add_test(NAME ${name}_replay COMMAND ${name}_replay --mutations ${A_MUTATIONS} ${A_CORPUS})
  set_tests_properties(${name}_replay PROPERTIES LABELS "fuzz;sanitized" TIMEOUT ${SLUICE_TEST_LIMIT} PROCESSORS ${SLUICE_TEST_WEIGHT})
  set_property(GLOBAL APPEND PROPERTY SLUICE_SANITIZED_TESTS ${name}_replay)
  set_property(GLOBAL APPEND PROPERTY SLUICE_FUZZ_REPLAYS ${name}_replay)
  if(SLUICE_FUZZ)
    add_executable(${name} ${A_SOURCES})
    target_link_libraries(${name} PRIVATE sluice_flags ${A_LIBS})
    target_link_options(${name} PRIVATE -fsanitize=fuzzer)
    set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
  endif()
endfunction()
