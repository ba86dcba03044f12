// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
#include <memory>
#include <string>
#include <vector>

namespace sluice {

/// POSIX extended regular expressions of admins' files, compiled once.
class RegexList {
  public:
    /// Bad expressions are left out and named in problems().
    explicit RegexList(const std::vector<std::string>& patterns = {});
    RegexList(RegexList&&) noexcept;
    RegexList& operator=(RegexList&&) noexcept;
    ~RegexList();
    bool matches(const std::string& text) const;
    const std::vector<std::string>& problems() const { return problems_; }

  private:
    struct Compiled;
    std::vector<std::unique_ptr<Compiled>> compiled_;
    std::vector<std::string> problems_;
};

}  // namespace sluice
