// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// What users would get of a fluid in a day: of processors and GPUs together as much each by quota (max-min), as far as
// they have work for the one or the other. Who has work for one kind of devices only gets no more than there is of it.
// Pure.
#include <array>
#include <vector>

namespace sluice::sim {

/// Of processors and of GPUs.
using PerDevice = std::array<double, 2>;

/// `quotas`: 0 or more. `work`: that each user has for the one and the other; infinite: always some. `there`: what both
/// do. The answer is by user; it is all of `there` unless there is too little work.
std::vector<PerDevice> fluid_of(const std::vector<double>& quotas, const std::vector<PerDevice>& work,
                                const PerDevice& there);

}  // namespace sluice::sim
