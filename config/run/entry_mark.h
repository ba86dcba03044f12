#pragma once

namespace sluice {

/// By this text a file is known to be an entry: config/project/entry/entry.cpp.
inline constexpr char kEntryMark[] = "Sluice: this file becomes the installed program of its name.";

}  // namespace sluice
