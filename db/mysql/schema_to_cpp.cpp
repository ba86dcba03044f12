// SPDX-License-Identifier: LGPL-3.0-or-later
// Build tool: schema.sql -> schema_statements.cpp. A statement ends with a line that ends with ';'; lines
// that begin with "--" are comments.
#include <fstream>
#include <iostream>
#include <string>

int main(int argc, char** argv) {
    if (argc != 3) {
        std::cerr << "usage: schema_to_cpp SCHEMA.SQL OUT.CPP\n";
        return 1;
    }
    std::ifstream in(argv[1]);
    std::ofstream out(argv[2]);
    out << "// Generated from db/schema.sql.\n#include \"db/mysql/schema_statements.h\"\n\nnamespace sluice "
           "{\n\n"
           "Sql schema_statement(std::size_t index) {\n    switch (index) {\n";
    std::string line, statement;
    std::size_t count = 0;
    while (std::getline(in, line)) {
        while (!line.empty() && (line.back() == ' ' || line.back() == '\r')) line.pop_back();
        if (line.empty() || line.starts_with("--")) continue;
        const bool last = line.back() == ';';
        if (last) line.pop_back();
        statement += line + "\n";
        if (!last) continue;
        out << "        case " << count++ << ": return Sql(R\"sql_text(" << statement << ")sql_text\");\n";
        statement.clear();
    }
    out << "        default: return Sql();\n    }\n}\n\nextern const std::size_t kSchemaStatementCount = " << count
        << ";\n\n}  // namespace sluice\n";
    if (!in.eof() || !statement.empty() || count == 0 || !out.flush()) {
        std::cerr << argv[1] << ": not a list of statements, or " << argv[2] << " can't be written\n";
        return 1;
    }
    return 0;
}
