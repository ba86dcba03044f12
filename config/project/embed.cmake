# SPDX-License-Identifier: LGPL-3.0-or-later
# cmake -DOUT=file.cpp -DFILES=a;b -P embed.cmake: the files' texts as constants of the program.
set(cases "")
foreach(file IN LISTS FILES)
  get_filename_component(name ${file} NAME)
  file(READ ${file} text)
  string(APPEND cases "    if (name == \"${name}\") return R\"template_text(${text})template_text\";\n")
endforeach()
file(WRITE ${OUT} "// Generated from config/templates.\n#include \"config/project/new_project.h\"\n\nnamespace sluice {\n\n"
  "std::string_view template_text(std::string_view name) {\n${cases}    return {};\n}\n\n}  // namespace sluice\n")
