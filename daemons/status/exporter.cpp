// SPDX-License-Identifier: LGPL-3.0-or-later
#include "daemons/status/exporter.h"

#include <prometheus/collectable.h>
#include <prometheus/exposer.h>
#include <prometheus/text_serializer.h>

#include <mutex>
#include <utility>

#include "sluice/base/error.h"
#include "sluice/base/text.h"

namespace sluice {
namespace {

class ProjectMetrics final : public prometheus::Collectable {
  public:
    ProjectMetrics(std::filesystem::path project, ExpositionWords words)
        : project_(std::move(project)), words_(std::move(words)) {}

    std::vector<prometheus::MetricFamily> Collect() const override {
        const MetricFiles counts = read_metrics(project_);
        std::shared_ptr<const ProjectSurvey> survey;
        {
            const std::lock_guard<std::mutex> lock(mutex_);
            survey = survey_;
        }
        return exposition(counts, survey.get(), words_);
    }

    void publish(ProjectSurvey survey) {
        auto next = std::make_shared<const ProjectSurvey>(std::move(survey));
        const std::lock_guard<std::mutex> lock(mutex_);
        survey_.swap(next);
    }

  private:
    const std::filesystem::path project_;
    const ExpositionWords words_;
    mutable std::mutex mutex_;
    std::shared_ptr<const ProjectSurvey> survey_;
};

}  // namespace

std::string loopback_address(const std::string& text) {
    const std::size_t colon = text.rfind(':');
    const std::string host = colon == std::string::npos ? "127.0.0.1" : text.substr(0, colon);
    const auto port = parse_int(colon == std::string::npos ? text : text.substr(colon + 1));
    if (!port || *port < 1 || *port > 65535) return "";
    if (host == "[::1]") return "[::1]:" + std::to_string(*port);
    return host == "127.0.0.1" || host == "localhost" ? "127.0.0.1:" + std::to_string(*port) : "";
}

struct Exporter::Impl {
    std::shared_ptr<ProjectMetrics> metrics;
    std::unique_ptr<prometheus::Exposer> exposer;
};

Exporter::Exporter(std::filesystem::path project, ExpositionWords words)
    : impl_(new Impl{std::make_shared<ProjectMetrics>(std::move(project), std::move(words)), nullptr}) {}
Exporter::~Exporter() = default;

void Exporter::listen(const std::string& address) {
    try {
        impl_->exposer = std::make_unique<prometheus::Exposer>(address);
    } catch (const std::exception&) {  // its text does not say why
        throw ConfigError("--listen " + address + ": this address can't be used; another program may have the port");
    }
    impl_->exposer->RegisterCollectable(impl_->metrics);
}

void Exporter::publish(ProjectSurvey survey) { impl_->metrics->publish(std::move(survey)); }

std::string Exporter::text() const { return prometheus::TextSerializer().Serialize(impl_->metrics->Collect()); }

}  // namespace sluice
