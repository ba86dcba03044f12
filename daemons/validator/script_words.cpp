// SPDX-License-Identifier: LGPL-3.0-or-later
#include "daemons/validator/script_words.h"

#include <algorithm>

#include "sluice/base/error.h"
#include "sluice/base/text.h"

namespace sluice {

std::vector<std::string> script_words(const std::string& option, const std::string& value,
                                      const std::vector<std::string>& known, const std::vector<std::string>& defaults) {
    std::vector<std::string> words;
    for (const auto word : split(value, ' '))
        if (!trim(word).empty()) words.emplace_back(trim(word));
    if (words.empty()) throw ConfigError(option + " needs the name of a script in bin/");
    for (std::size_t i = 1; i < words.size(); ++i) {
        if (std::ranges::find(known, words[i]) != known.end()) continue;
        std::string all;
        for (const std::string& k : known) all += (all.empty() ? "" : " ") + k;
        throw ConfigError(option + ": unknown token '" + in_one_line(words[i]) + "' (known: " + all + ")");
    }
    if (words.size() == 1) words.insert(words.end(), defaults.begin(), defaults.end());
    return words;
}

}  // namespace sluice
