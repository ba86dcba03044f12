# cmake -DOUT=file.cpp -DIN=program -P embed.cmake: the program's bytes as a constant.
file(READ ${IN} bytes HEX)
string(REGEX REPLACE "(..)" "\\\\x\\1" text "${bytes}")
# A literal of one line would be too long for editors and some compilers.
string(REGEX REPLACE "((\\\\x..)(\\\\x..)(\\\\x..)(\\\\x..)(\\\\x..)(\\\\x..)(\\\\x..)(\\\\x..))" "    \"\\1\"\n" text "${text}")
file(WRITE ${OUT} "// Generated from the program config/project/entry.\n#include \"config/project/entry/bytes.h\"\n\n"
  "namespace sluice {\n\nstd::string_view entry_program() {\n    static constexpr char kBytes[] =\n${text};\n"
  "    return {kBytes, sizeof kBytes - 1};\n}\n\n}  // namespace sluice\n")
