// SPDX-License-Identifier: LGPL-3.0-or-later
// Hostile text in what is accepted of a client: after the RPC each column holds what docs/protocol.md says of the text
// that was sent: whole, or cut at the column's bound between two characters; never glued to a neighbour, never changed
// otherwise. Expected values are written down here, not computed by the parser.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/support/scheduler_world.h"

namespace sluice::test {
namespace {

struct Sent {
    const char* name;
    std::string element;  ///< between two tags of the request
    std::string text;     ///< what it means: trimmed, decoded, UTF-8
    std::string raw;      ///< the element's bytes as UTF-8, where nothing is decoded
};
void PrintTo(const Sent& s, std::ostream* out) { *out << s.name; }

Sent plain(const char* name, const std::string& text) { return {name, text, text, text}; }

std::string repeated(const std::string& piece, int n) {
    std::string all;
    for (int i = 0; i < n; ++i) all += piece;
    return all;
}

std::vector<Sent> all_texts() {
    return {
        plain("quote", "x' OR '1'='1"),
        {"comment", "'; DROP TABLE host; -- ", "'; DROP TABLE host; --", "'; DROP TABLE host; -- "},
        plain("backslash_at_the_end", "C:\\"),
        plain("backslashes", R"(\' OR 1=1 # \n \0 \\)"),
        plain("values", "a'),('b',(SELECT authenticator FROM user LIMIT 1))"),
        plain("percent", "%s%n%d {} {0} %00"),
        plain("json", R"("}], "client_version": "9.9.9)"),
        plain("unicode", "\u00fcn\u00ef \u2028 \U0001f600 \u202e"),
        plain("control", "bell\x07 tab\t line\nend \x1b[31m"),
        {"latin1", "a\xc3\x28z", "a\u00c3(z", "a\u00c3(z"},
        {"no_utf8", "\xff\xfe", "\u00ff\u00fe", "\u00ff\u00fe"},
        {"entities", "a &lt;b&gt; &amp; &quot;c&quot;", "a <b> & \"c\"", "a &lt;b&gt; &amp; &quot;c&quot;"},
        {"cdata", "<![CDATA[<b>&amp;</b>]]>", "<b>&amp;</b>", "<![CDATA[<b>&amp;</b>]]>"},
        plain("long", repeated("x", 10000)),
        plain("long_characters", "a" + repeated("\U0001f600", 2000)),
    };
}

/// The longest beginning of whole characters in `most` bytes.
std::string beginning(const std::string& text, std::size_t most) {
    std::string kept;
    for (std::size_t i = 0; i < text.size();) {
        const auto lead = static_cast<unsigned char>(text[i]);
        const std::size_t n = lead < 0x80 ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
        if (kept.size() + n > most) break;
        kept += text.substr(i, n);
        i += n;
    }
    return kept;
}

std::string element(const char* tag, const std::string& text) { return fmt::format("<{0}>{1}</{0}>", tag, text); }

class StoredText : public ::testing::TestWithParam<Sent> {
  protected:
    static SchedulerWorld& world() {
        static SchedulerWorld w;
        if (!w.has_feeder()) w.start_feeder(5);
        return w;
    }
    static std::vector<std::string> row(const Sql& sql, int columns) {
        const auto all = rows_of(world().db(), sql, columns);
        EXPECT_EQ(all.size(), 1u) << sql.str();
        return all.empty() ? std::vector<std::string>(static_cast<std::size_t>(columns)) : all[0];
    }
    /// Without its host_info, which is `info`.
    static std::string request_of(const RequestText& r, const std::string& info) {
        const std::string text = r.text(), open = "<host_info>", close = "</host_info>";
        const auto begin = text.find(open), end = text.find(close);
        return text.substr(0, begin + open.size()) + info + text.substr(end);
    }
};

TEST_P(StoredText, DescriptionsOfTheMachine) {
    SchedulerWorld& w = world();
    const Sent& x = GetParam();
    const Id host = w.add_host(1), neighbour = w.add_host(1);
    RequestText r;
    r.hostid = host;
    std::string info = "<p_ncpus>3</p_ncpus><p_fpops>2e9</p_fpops><m_nbytes>8e9</m_nbytes><host_cpid>c</host_cpid>";
    const std::vector<const char*> tags{"domain_name", "ip_addr",      "p_vendor",           "p_model",       "os_name",
                                        "os_version",  "product_name", "virtualbox_version", "docker_version"};
    for (const char* tag : tags) info += element(tag, x.element) + "\n";
    const ReplyText reply = w.send_raw(request_of(r, info));
    ASSERT_EQ(reply.malformed(), "") << reply.text();
    const auto read = [&](Id id) {
        Sql sql(
            "SELECT domain_name, last_ip_addr, p_vendor, p_model, os_name, os_version, product_name, misc, p_ncpus, "
            "p_fpops, venue, host_cpid FROM host WHERE id=");
        return row(sql << id, 12);
    };
    const auto stored = read(host);
    for (std::size_t i = 0; i < 7; ++i) EXPECT_EQ(stored[i], beginning(x.text, 254)) << tags[i];
    const auto misc = nlohmann::json::parse(stored[7]);
    EXPECT_EQ(misc.at("vbox").at("version"), beginning(x.text, 255));
    EXPECT_EQ(misc.at("docker").at("version"), beginning(x.text, 255));
    EXPECT_EQ(misc.at("client_version"), "8.0.2");
    EXPECT_EQ(misc.size(), 3u) << stored[7];
    EXPECT_EQ(stored[8], "3");
    EXPECT_EQ(std::stod(stored[9]), 2e9);
    EXPECT_EQ(stored[10], "");
    EXPECT_EQ(read(neighbour)[0], fmt::format("box{}", neighbour));
}

TEST_P(StoredText, ResultsAndTheirNeighbours) {
    SchedulerWorld& w = world();
    const Sent& x = GetParam();
    const Id host = w.add_host(1);
    const auto names = w.add_in_progress(host, 3);
    const auto result = [&](const std::string& name, const std::string& text) {
        return "<result>\n<name>" + name +
               "</name>\n<exit_status>0</exit_status>\n<state>5</state>\n<app_version_num>100</app_version_num>\n"
               "<final_cpu_time>7</final_cpu_time>\n<final_elapsed_time>8</final_elapsed_time>\n<stderr_out>" +
               text + "</stderr_out>\n<file_info><name>" + text + "</name></file_info>\n</result>\n";
    };
    RequestText r;
    r.hostid = host;
    r.others = {names[2]};
    r.more = result(names[0], x.element) + result(names[1], "plain");
    const ReplyText reply = w.send(r);
    EXPECT_EQ(reply.count("<result_ack>"), 2) << reply.text();
    for (const auto& [name, text] : {std::pair{names[0], x.element}, {names[1], std::string("plain")}}) {
        Sql sql(
            "SELECT stderr_out, xml_doc_out, cpu_time, elapsed_time, exit_status, server_state, outcome, app_version_num "
            "FROM result WHERE name=");
        const auto stored = row(sql << SqlText{name}, 8);
        EXPECT_EQ(stored[0], text) << name;
        EXPECT_EQ(stored[1], "<file_info><name>" + text + "</name></file_info>") << name;
        EXPECT_EQ(std::stod(stored[2]), 7);
        EXPECT_EQ(std::stod(stored[3]), 8);
        EXPECT_EQ(std::vector(stored.begin() + 4, stored.end()), (std::vector<std::string>{"0", "5", "1", "100"}));
    }
    Sql untouched("SELECT server_state, stderr_out, xml_doc_out FROM result WHERE name=");
    EXPECT_EQ(row(untouched << SqlText{names[2]}, 3), (std::vector<std::string>{"4", "", ""}));
}

TEST_P(StoredText, TricklesAndPreferences) {
    SchedulerWorld& w = world();
    const Sent& x = GetParam();
    const Id host = w.add_host(1);
    w.db().execute(Sql("UPDATE user SET global_prefs=NULL"));
    const auto prefs = [](const std::string& text) {
        return "\n<mod_time>1600000000</mod_time>\n<of_a_later_client>" + text +
               "</of_a_later_client>\n<disk_max_used_gb>3</disk_max_used_gb>\n";
    };
    const auto message = [](const std::string& variety, const std::string& text) {
        return "<msg_from_host>\n<variety>" + variety + "</variety>\n<note>" + text + "</note>\n</msg_from_host>\n";
    };
    RequestText r;
    r.hostid = host;
    r.more = message(x.element, x.element) + message("progress", "plain") +
             element("global_preferences", prefs(x.element)) +
             element("global_prefs_source_email_hash", "fbf7c6aec1d4280b7c2704c1c0478bd6");  // of alice@example.org
    const ReplyText reply = w.send(r);
    EXPECT_EQ(reply.count("<message_ack/>"), 1) << reply.text();
    Sql sql("SELECT variety, xml, handled FROM msg_from_host WHERE hostid=");
    const auto stored = rows_of(w.db(), sql << host << Sql(" ORDER BY id"), 3);
    ASSERT_EQ(stored.size(), 2u);
    if (x.element.find("CDATA") == std::string::npos) {  // a variety is no XML text of its own
        EXPECT_EQ(stored[0][0], beginning(x.text, 254));
    }
    EXPECT_EQ(stored[0][1], "\n<note>" + x.raw + "</note>\n");
    EXPECT_EQ(stored[0][2], "0");
    EXPECT_EQ(stored[1], (std::vector<std::string>{"progress", "\n<note>plain</note>\n", "0"}));
    const auto user = row(Sql("SELECT global_prefs, project_prefs, name, authenticator FROM user WHERE id=1"), 4);
    EXPECT_EQ(user[0], element("global_preferences", prefs(x.raw)));
    EXPECT_EQ(std::vector(user.begin() + 1, user.end()), (std::vector<std::string>{"", "alice", kKey}));
}

INSTANTIATE_TEST_SUITE_P(Each, StoredText, ::testing::ValuesIn(all_texts()),
                         [](const auto& tested) { return std::string(tested.param.name); });

/// Names and keys are not cut: half of one would be another one.
TEST(StoredNames, AreWholeOrAbsent) {
    SchedulerWorld w;
    w.start_feeder(5);
    const Id host = w.add_host(1);
    w.db().execute(Sql("UPDATE user SET cross_project_id='as_it_was'"));
    const auto names = w.add_in_progress(host, 1);
    RequestText r;
    r.hostid = host;
    r.others = names;
    const std::string longer = names[0] + std::string(300, 'x');
    r.more = "<cross_project_id>" + std::string(300, 'a') + "</cross_project_id>\n<result><name>" + longer +
             "</name><state>5</state><exit_status>0</exit_status></result>\n";
    const ReplyText reply = w.send(r);
    EXPECT_EQ(reply.malformed(), "");
    EXPECT_EQ(w.number(Sql("SELECT COUNT(*) FROM user WHERE cross_project_id='as_it_was'")), 1);
    EXPECT_EQ(w.number(Sql("SELECT COUNT(*) FROM result WHERE server_state=4")), 1) << "no result of a shorter name";
}

}  // namespace
}  // namespace sluice::test
