#pragma once
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace sluice {

/// Is that a program (no script) with this text in it? So programs of ours are known that can be asked about arguments.
bool is_program_with(const std::filesystem::path& file, std::string_view text);

/// Runs `program` with these arguments, as this process's user: "" or, if it fails, the first line that it says.
std::string refusal_of(const std::filesystem::path& program, const std::vector<std::string>& arguments);

}  // namespace sluice
