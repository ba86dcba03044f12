# SPDX-License-Identifier: LGPL-3.0-or-later
# cmake -DOUT=file.cpp -DIN=program -P embed.cmake: the program's bytes as a constant.
file(READ ${IN} bytes HEX)
string(REGEX REPLACE "(..)" "'\\\\x\\1'," text "${bytes}")
# A list of one line would be too long for editors and some compilers.
set(eight "")
foreach(i RANGE 1 8)
  string(APPEND eight "[^,]*,")
endforeach()
string(REGEX REPLACE "(${eight})" "\\1\n" text "${text}")
file(WRITE ${OUT} "// Generated from the program config/project/entry.\n#include \"config/project/entry/bytes.h\"\n\n"
  "namespace sluice {\n\nstd::string_view entry_program() {\n    static constexpr char kBytes[] = {\n${text}};\n"
  "    return {kBytes, sizeof kBytes};\n}\n\n}  // namespace sluice\n")
