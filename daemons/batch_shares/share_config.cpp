#include "daemons/batch_shares/share_config.h"

namespace sluice {

std::optional<ShareSettings> share_settings(const ProjectConfig& config) {
    if (config.share_rule == ShareOrder::kOff) return std::nullopt;
    const bool seed = config.share_rule == ShareOrder::kSeed;
    return ShareSettings{seed ? share::ShareRule::kSeed : share::ShareRule::kSettled, config.share_clamp};
}

}  // namespace sluice
