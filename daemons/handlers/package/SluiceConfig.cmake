# SPDX-License-Identifier: LGPL-3.0-or-later
# find_package(Sluice COMPONENTS Validator Assimilator): targets Sluice::Validator and Sluice::Assimilator for a project's own programs.
# The folder may have been moved.
get_filename_component(sluice_prefix "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)
foreach(component Validator Assimilator)
  string(TOLOWER ${component} sluice_lower)
  if(NOT TARGET Sluice::${component})
    add_library(Sluice::${component} INTERFACE IMPORTED)
    set_target_properties(Sluice::${component} PROPERTIES
      INTERFACE_INCLUDE_DIRECTORIES "${sluice_prefix}/include;${sluice_prefix}/include/sluice;${sluice_prefix}/include/sluice/boinc"
      INTERFACE_LINK_LIBRARIES "${sluice_prefix}/lib/libsluice_${sluice_lower}_skin.a;${sluice_prefix}/lib/libsluice_handlers.a;dl")
  endif()
  set(Sluice_${component}_FOUND TRUE)
endforeach()
foreach(component ${Sluice_FIND_COMPONENTS})
  if(NOT Sluice_${component}_FOUND AND Sluice_FIND_REQUIRED_${component})
    set(Sluice_FOUND FALSE)
    set(Sluice_NOT_FOUND_MESSAGE "Sluice has no component ${component}: it has Validator and Assimilator")
  endif()
endforeach()
