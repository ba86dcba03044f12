// SPDX-License-Identifier: LGPL-3.0-or-later
// HTTP requests. OpenSSL's BIO does names, connections and TLS; whose certificate it is counts for nothing here,
// since a client would say so, but when it ends does.
#include <fmt/core.h>
#include <openssl/asn1.h>
#include <openssl/bio.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>

#include <chrono>
#include <ctime>
#include <memory>
#include <string>
#include <string_view>
#include <thread>

#include "sched/health/gather.h"
#include "sluice/base/text.h"

namespace sluice {
namespace {

using Steady = std::chrono::steady_clock;

struct Url {
    bool tls = false;
    std::string host, port, path;
};

std::optional<Url> parse_url(std::string_view text) {
    Url url;
    for (const auto& [scheme, tls] : {std::pair{std::string_view("http://"), false}, {"https://", true}})
        if (text.starts_with(scheme)) {
            url.tls = tls;
            const std::string_view rest = text.substr(scheme.size());
            const std::size_t slash = std::min(rest.find('/'), rest.size());
            const std::string_view place = rest.substr(0, slash);
            const std::size_t colon = place.rfind(':');
            const bool has_port = colon != std::string_view::npos && place.find(']', colon) == std::string_view::npos;
            url.host = place.substr(0, has_port ? colon : place.size());
            url.port = has_port ? std::string(place.substr(colon + 1)) : tls ? "443" : "80";
            url.path = slash < rest.size() ? std::string(rest.substr(slash)) : "/";
            return url;
        }
    return std::nullopt;
}

double certificate_end(BIO* connection) {
    SSL* ssl = nullptr;
    if (BIO_get_ssl(connection, &ssl) <= 0 || ssl == nullptr) return 0;
    const std::unique_ptr<X509, decltype(&X509_free)> certificate(SSL_get1_peer_certificate(ssl), X509_free);
    int days = 0, seconds = 0;
    if (!certificate || ASN1_TIME_diff(&days, &seconds, nullptr, X509_get0_notAfter(certificate.get())) != 1) return 0;
    return static_cast<double>(std::time(nullptr)) + days * 86400.0 + seconds;
}

/// Repeats `step` while it asks for that; false: it failed, or there is no time left.
template <typename Step>
bool until_done(BIO* connection, Steady::time_point until, Step step) {
    while (step() <= 0) {
        if (BIO_should_retry(connection) == 0 || Steady::now() > until) return false;
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    return true;
}

/// `whose`: of a scheduler_reply or a data_server_reply.
UrlAnswer ask(const std::string& text, const std::string& body, const std::string& whose, double patience) {
    const auto until =
        Steady::now() + std::chrono::duration_cast<Steady::duration>(std::chrono::duration<double>(patience));
    auto url = parse_url(text);
    UrlAnswer answer;
    const auto failed = [&](std::string why) {
        answer.error = std::move(why);
        return answer;
    };
    if (!url) return failed(text + " is no URL of a web server: correct html/user/schedulers.txt, or <upload_url>");
    const std::unique_ptr<SSL_CTX, decltype(&SSL_CTX_free)> context(SSL_CTX_new(TLS_client_method()), SSL_CTX_free);
    if (!context) return failed("OpenSSL can't begin: look at /etc/ssl/openssl.cnf");
    const std::unique_ptr<BIO, decltype(&BIO_free_all)> connection(
        url->tls ? BIO_new_ssl_connect(context.get()) : BIO_new(BIO_s_connect()), BIO_free_all);
    BIO* bio = connection.get();
    BIO_set_conn_hostname(bio, url->host.data());
    BIO_set_conn_port(bio, url->port.data());
    BIO_set_nbio(bio, 1);
    SSL* ssl = nullptr;
    if (url->tls && BIO_get_ssl(bio, &ssl) > 0) SSL_set_tlsext_host_name(ssl, url->host.c_str());
    if (!until_done(bio, until, [&] { return static_cast<int>(BIO_do_connect(bio)); }))
        return failed(text + ": nobody answers there; is the web server running?");
    if (url->tls)
        if (const double end = certificate_end(bio); end > 0) answer.certificate_ends = end;
    const std::string request =
        fmt::format("POST {} HTTP/1.0\r\nHost: {}\r\nUser-Agent: sluice health\r\nContent-Length: {}\r\n\r\n{}",
                    url->path, url->host, body.size(), body);
    if (!until_done(bio, until, [&] { return BIO_write(bio, request.data(), static_cast<int>(request.size())); }))
        return failed(text + ": the connection broke");
    std::string& reply = answer.reply;
    reply.resize(8192);
    int got = 0;
    const auto read = [&] {
        const int n = BIO_read(bio, reply.data() + got, static_cast<int>(reply.size()) - got);
        if (n > 0) got += n;
        const std::string_view so_far(reply.data(), static_cast<std::size_t>(got));
        const bool enough = so_far.find("</" + whose + ">") != so_far.npos || got == static_cast<int>(reply.size());
        if (enough || (n == 0 && BIO_should_retry(bio) == 0)) return 1;
        return n > 0 ? (BIO_set_retry_read(bio), 0) : n;
    };
    until_done(bio, until, read);
    reply.resize(static_cast<std::size_t>(got));
    if (reply.find("<" + whose + ">") == reply.npos)
        answer.error = fmt::format("{} answers '{}' and no {}", text,
                                   reply.substr(0, std::min<std::size_t>(reply.find_first_of("\r\n"), 60)), whose);
    return answer;
}

}  // namespace

UrlAnswer ask_scheduler(const std::string& url, double patience) {
    UrlAnswer answer = ask(url, "", "scheduler_reply", patience);
    answer.project_down = answer.reply.find("<project_is_down/>") != answer.reply.npos;
    return answer;
}

std::string ask_for_uploads(const std::string& url, double patience) {
    const UrlAnswer answer = ask(url,
                                 "<data_server_request>\n<core_client_major_version>8</core_client_major_version>\n"
                                 "<get_file_size>sluice_health</get_file_size>\n</data_server_request>\n",
                                 "data_server_reply", patience);
    constexpr std::string_view kBegin = "<message>", kEnd = "</message>";
    const std::size_t begin = answer.reply.find(kBegin), end = answer.reply.find(kEnd);
    if (!answer.error.empty() || begin == std::string::npos || end == std::string::npos) return answer.error;
    return fmt::format("{} answers '{}'", url,
                       in_one_line(answer.reply.substr(begin + kBegin.size(), end - begin - kBegin.size())));
}

}  // namespace sluice
