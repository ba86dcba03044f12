// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// `PROGRAM --check_arguments …`: a program says what is wrong with its other arguments and ends, before it looks at any
// project. So sluice_options judges the daemons of config.xml as they judge themselves.

namespace sluice {

inline constexpr const char* kCheckArguments = "--check_arguments";
/// Its help. Programs that have the option hold this text: others must not be run to be asked.
extern const char kCheckArgumentsHelp[];

}  // namespace sluice
