# SPDX-License-Identifier: LGPL-3.0-or-later
# SLUICE_VERSION: what the programs print with --version. In a clone of the repository it is what `git describe` says, without the
# "v". In an archive that git made it stands in config/version.txt. Elsewhere it is the version of the project() line.
# It is found out when CMake runs, and not with each commit: otherwise each commit would link all programs anew.
set(SLUICE_BUILD_VERSION "" CACHE STRING "What --version prints, instead of what git says")
set(SLUICE_VERSION "${SLUICE_BUILD_VERSION}")
set(SLUICE_COMMIT "")
find_package(Git QUIET)
if(NOT SLUICE_VERSION AND GIT_FOUND AND EXISTS ${CMAKE_SOURCE_DIR}/.git)
  execute_process(COMMAND ${GIT_EXECUTABLE} describe --match "v[0-9]*" WORKING_DIRECTORY ${CMAKE_SOURCE_DIR}
    OUTPUT_VARIABLE SLUICE_VERSION OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  execute_process(COMMAND ${GIT_EXECUTABLE} rev-parse HEAD WORKING_DIRECTORY ${CMAKE_SOURCE_DIR}
    OUTPUT_VARIABLE SLUICE_COMMIT OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
endif()
if(NOT SLUICE_VERSION)
  set(SLUICE_COMMIT "")
  file(STRINGS ${CMAKE_SOURCE_DIR}/config/version.txt SLUICE_VERSION LIMIT_COUNT 1)
  if(SLUICE_VERSION MATCHES "^.Format")
    set(SLUICE_VERSION ${PROJECT_VERSION})
  endif()
endif()
string(REGEX REPLACE "^v" "" SLUICE_VERSION "${SLUICE_VERSION}")
if(NOT SLUICE_VERSION MATCHES "^[0-9][A-Za-z0-9.~+-]*$")
  message(FATAL_ERROR "The version \"${SLUICE_VERSION}\" is none: give one with -DSLUICE_BUILD_VERSION=0.2.0")
endif()
# For the test that compares: of which commit the version was found out.
file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/version.txt CONTENT "${SLUICE_VERSION}\n${SLUICE_COMMIT}\n" @ONLY)
