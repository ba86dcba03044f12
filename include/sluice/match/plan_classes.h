// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// Plan classes: what an app version with a plan class asks of a host, and what it uses there. The classes of
// plan_class_spec.xml if the project has that file, else the built-in ones (upstream behaviour).
#include <array>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "sluice/model/codes.h"

namespace sluice {

struct PlanClassSpec;

/// A GPU that nobody has measured is taken for so many processors.
inline constexpr double kGpuPerCpu = 10;

/// What a job of a plan class's versions takes of GPUs, whatever the host and the volunteer's preferences.
struct GpuUse {
    double devices = 1;     ///< may be a part of one
    double cpus = 0;        ///< processors beside them
    double peak_scale = 1;  ///< of a device's peak speed, the part that the basis of credit counts
    double projected = 1;   ///< versions nobody has measured are compared by it
};

class PlanClasses {
  public:
    /// The built-in classes.
    PlanClasses();
    PlanClasses(PlanClasses&&) noexcept;
    PlanClasses& operator=(PlanClasses&&) noexcept;
    ~PlanClasses();
    /// The classes of a spec file's text. A class that is wrong is refused alone: versions that name it find no host,
    /// and problems() says what is wrong. `file` is named in those lines.
    static PlanClasses from_spec(std::string_view xml, const std::string& file);

    /// One line per refused class and unknown tag: file, class, tag, what is allowed.
    const std::vector<std::string>& problems() const { return problems_; }
    bool built_in() const { return built_in_; }
    /// Null: no such class (or a refused one). Some built-in classes differ by level.
    const PlanClassSpec* find(std::string_view name, int compat_level) const;
    /// The resource that versions with a class are for. Level 0, as upstream: what its name says; level 1: its
    /// <gpu_type> or <gpu_type_regex>, and its name only where there is no such class.
    ProcType resource(const std::string& name, int compat_level) const;
    /// All of them: a <gpu_type_regex> may match several.
    std::array<bool, kProcTypes> resources(const std::string& name, int compat_level) const;
    /// Of a class that is for GPUs.
    GpuUse gpu_use(const std::string& name, int compat_level) const;
    /// One line about what follows and what to do, of a class whose <gpu_type> is not known, or is at level 0 another
    /// resource than its name says. Else "".
    std::string name_problem(const std::string& name, int compat_level) const;
    /// Of all classes of the spec file.
    std::vector<std::string> name_problems(int compat_level) const;
    /// "built in are mt, nci, …" or "plan_class_spec.xml has big, wide": for somebody who named another.
    std::string what_there_is(int compat_level) const;
    std::size_t size() const { return specs_.size(); }

  private:
    std::vector<std::unique_ptr<PlanClassSpec>> specs_;
    mutable std::array<std::vector<std::unique_ptr<PlanClassSpec>>, 2> known_;  ///< built-in ones asked for so far
    std::vector<std::string> problems_;
    bool built_in_ = true;
};

/// PROJECT/plan_class_spec.xml, or the built-in classes if there is none. Throws FileError if it can't be read.
PlanClasses load_plan_classes(const std::filesystem::path& project);

}  // namespace sluice
