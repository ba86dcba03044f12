// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// Versions of a client's own (anonymous platform), as ids: the inverse of generalized_version_id().
#include <optional>

#include "sluice/model/codes.h"

namespace sluice {

/// result.app_version_id of a version of the client's own: -2…-6.
constexpr Id anonymous_version_id(ProcType type) { return -2 - static_cast<Id>(type); }
/// Its inverse; nothing for any other id.
constexpr std::optional<ProcType> anonymous_type(Id app_version_id) {
    if (app_version_id > -2 || app_version_id <= -2 - kProcTypes) return std::nullopt;
    return static_cast<ProcType>(-2 - app_version_id);
}

struct AnonymousVersion {
    Id appid = 0;
    ProcType type = ProcType::kCpu;
};
/// What a generalized_version_id() says of a version of the client's own; nothing for an app_version.id. An
/// app_version.id above a million that ends on 2…6 looks like one: who knows the project's versions asks them first.
inline std::optional<AnonymousVersion> anonymous_version(Id generalized) {
    const Id ids_of_an_app = generalized_version_id(1, -1) - 1;
    if (generalized < ids_of_an_app) return std::nullopt;
    const auto type = anonymous_type(-(generalized % ids_of_an_app));
    if (!type) return std::nullopt;
    return AnonymousVersion{generalized / ids_of_an_app, *type};
}

}  // namespace sluice
