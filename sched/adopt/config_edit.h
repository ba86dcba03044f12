// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// Small changes of a config.xml that somebody wrote: everything else stays byte for byte, comments included.
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace sluice {

/// The text between <name> and </name> in <config>; nullopt: it is not there.
std::optional<std::string> option_text(std::string_view config, const std::string& name);
/// With that option in <config>; nullopt removes it. Throws ConfigError if there is no </config>.
std::string with_option(std::string_view config, const std::string& name, const std::optional<std::string>& value);

/// With a <daemon> of that <cmd>, last of <daemons>. Throws ConfigError if there is neither </daemons> nor </boinc>.
std::string with_daemon(std::string_view config, const std::string& command);
/// Without the daemons that run one of these programs.
std::string without_daemons(std::string_view config, std::span<const std::string_view> programs);

}  // namespace sluice
