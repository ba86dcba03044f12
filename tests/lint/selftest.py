#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-3.0-or-later
"""Each rule of lint.py finds what it is for, and leaves alone what is right."""
import os
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True

import check_run
import rule_architecture
import rule_docs
import rule_format
import rule_licence
import rule_layers
import rule_options
import rule_packages
import rule_policies
import rule_recipes
import rule_simulator
import rule_sizes
import rule_test_names
import rule_texts
import rule_type_names
import rule_unity
import rule_verdicts
from tree import Tree, blanked


class RuleTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()

    def tearDown(self):
        self.folder.cleanup()

    def findings(self, rule, files):
        """What `rule` finds in a tree of these files (name -> text)."""
        with tempfile.TemporaryDirectory() as root:
            for name, text in files.items():
                path = os.path.join(root, name)
                os.makedirs(os.path.dirname(path), exist_ok=True)
                with open(path, "w", encoding="utf-8") as file:
                    file.write(text)
            return [str(finding) for finding in rule(Tree(root))]

    def assert_found(self, rule, files, *parts):
        found = self.findings(rule, files)
        self.assertEqual(len(found), 1, found)
        for part in parts:
            self.assertIn(part, found[0])

    def assert_clean(self, rule, files):
        self.assertEqual(self.findings(rule, files), [])


class Simulator(RuleTest):
    def test_a_daemon_of_a_run_decides_in_its_service(self):
        for text, what in (("if (now >= next_) planner.turn();", "only timetable.cpp"),
                           ("if (due()) p.transitioner.pass();", "only timetable.cpp"),
                           ("for (auto& v : all()) v->pass();", "only timetable.cpp"),
                           ("upkeep_pass(store, {}, clock);", "made by its service"),
                           ("Periodic looks_{10};", "decided by the service"),
                           ("if (planned) ask_feeder_to_reread(folder);", "by Notices")):
            self.assert_found(rule_simulator.check, {"sched/sim/a.cpp": text + "\n"}, "sched/sim/a.cpp:1", what)

    def test_who_calls_and_who_runs_no_daemon_may(self):
        self.assert_clean(rule_simulator.check, {
            "sched/sim/timetable.cpp": "if (e.next <= now) e.next = next_of(e, e.service->turn());\n",
            "sched/sim/project.cpp": "turns.take([&p] { return p.feeder.turn(); }, now);\n",
            "sched/sim/a.cpp": "// Until its turn() it waits for a pass().\nservices.take_turns();\n",
            "daemons/a/a.cpp": "Periodic looks_{10};\nupkeep_pass(store, {}, clock);\n"})


class Options(RuleTest):
    def table(self, readers, doc="Sentence."):
        return {"config/option_table.cpp":
                '    {OPTION(speed), "0", "1", {0, 5}, "%s",\n     "%s"},\n' % (readers, doc)}

    def test_a_reader_that_does_not_read(self):
        self.assert_found(rule_options.check, {**self.table("cgi"), "sched/a.cpp": "int speed = 0; // config.speed\n"},
                          "cgi does not read speed")
        self.assert_found(rule_options.check, {**self.table("cgi, feeder"), "sched/a.cpp": "f(config.speed);\n"},
                          "feeder does not read speed")

    def test_a_daemon_reads_in_the_folder_of_its_name(self):
        self.assert_found(rule_options.check, {**self.table("batch_new"), "daemons/batch_new/a.cpp": "f();\n"}, "batch_new does not read speed")
        self.assert_clean(rule_options.check, {**self.table("batch_new"), "daemons/batch_new/a.cpp": "f(config.speed);\n"})

    def test_a_value_that_is_handed_on_and_never_looked_at(self):
        handed = {**self.table("cgi"), "sched/handle/rpc_services.cpp": "p.speed = c.speed;\n"}
        self.assert_found(rule_options.check, handed, "cgi does not read speed")
        self.assert_clean(rule_options.check, {**handed, "sched/match/a.cpp": "if (x.params.speed > 1) f();\n"})

    def test_nobody_and_it_has_a_field(self):
        self.assert_found(rule_options.check, self.table("none"), "without a field")
        self.assert_found(rule_options.check, self.table("php"), "without a field")
        unread = '    {"speed", kNone, "", "", {}, "none", "Old."},\n'
        self.assert_clean(rule_options.check, {"config/option_table.cpp": unread})

    def test_readers_that_are_not_named(self):
        self.assert_found(rule_options.check,
                          {**self.table("none"), "feeder/a.cpp": "f(config_.speed);\n"},
                          "names none of our programs")

    def test_an_option_without_a_witness(self):
        read = {**self.table("cgi"), "sched/a.cpp": "f(config.speed);\n"}
        witnesses, path = "tests/lint/option_witnesses.txt", "tests/unit/a/a_test.cpp"
        self.assert_found(rule_options.check, {**read, witnesses: "# none\n"}, "no test shows that speed")
        listed = {**read, witnesses: f"speed {path} Suite.Case\n"}
        self.assert_found(rule_options.check, listed, f"there is no {path}")
        self.assert_found(rule_options.check, {**listed, path: "TEST(Suite, Other) { speed; }\n"}, "no Suite.Case")
        self.assert_found(rule_options.check, {**listed, path: "TEST(Suite, Case) {}\n"}, "sets speed")
        self.assert_clean(rule_options.check, {**listed, path: 'TEST_F(Suite, Case) { "<speed>"; }\n'})
        self.assert_clean(rule_options.check, {**read, witnesses: "",
                                               "tests/unit/handle/debug_flags_test.cpp": '{"speed", "[x]"},\n'})


class Layers(RuleTest):
    def include(self, path, included, *others):
        files = {path: f'#include "{included}"\n'}
        files.update({other: "" for other in others})
        return rule_layers.check, files

    def test_arrows_that_point_up(self):
        for path, included in [
                ("src/base/a.cpp", "sluice/model/codes.h"),
                ("include/sluice/model/a.h", "sluice/xml/reader.h"),
                ("src/shmem/a.cpp", "sluice/match/matcher.h"),
                ("db/mysql/a.cpp", "sluice/daemon/daemon.h"),
                ("sched/match/a.cpp", "sluice/db/database.h"),
                ("sched/match/fast/a.cpp", "sluice/shmem/job_array.h"),
                ("include/sluice/match/a.h", "sluice/daemon/daemon.h"),
                ("src/daemon/a.cpp", "sluice/db/database.h")]:
            self.assert_found(*self.include(path, included), path + ":1:", "may not see")

    def test_arrows_that_point_up_by_path(self):
        self.assert_found(*self.include("sched/match/a.cpp", "config/project_config.h", "config/project_config.h"),
                          "match may not see config")
        self.assert_found(*self.include("feeder/a.cpp", "sched/handle/rpc.h", "sched/handle/rpc.h"),
                          "feeder may not see handle")
        self.assert_found(*self.include("sched/rpc/a.cpp", "../match/picked.h", "sched/match/picked.h"),
                          "public headers only")

    def test_arrows_that_point_down(self):
        for path, included in [("src/base/a.cpp", "sluice/base/text.h"), ("sched/match/a.cpp", "sluice/model/codes.h"),
                               ("sched/handle/a.cpp", "sluice/match/matcher.h"), ("db/a.cpp", "sluice/base/error.h"),
                               ("sched/rpc/a.h", "sluice/match/host_facts.h"), ("sched/match/a.cpp", "vector"),
                               ("tests/unit/a/b.cpp", "sluice/db/database.h")]:
            self.assert_clean(*self.include(path, included))
        self.assert_clean(*self.include("sched/cgi/main.cpp", "sched/handle/rpc.h", "sched/handle/rpc.h"))
        self.assert_clean(*self.include("src/base/a.cpp", "src/base/b.h", "src/base/b.h"))

    def test_includes_are_written_from_the_root(self):
        self.assert_found(*self.include("src/base/a.cpp", "b.h", "src/base/b.h"), '"src/base/b.h"')

    def test_match_is_pure(self):
        for included in ("sluice/base/clock.h", "sluice/base/log.h", "sluice/base/env.h", "spdlog/spdlog.h", "chrono"):
            self.assert_found(*self.include("sched/match/a.cpp", included), "decides purely")
        self.assert_clean(*self.include("sched/match/a.cpp", "sluice/base/rng.h"))

    def test_stages_say_their_lines(self):
        self.assert_found(rule_layers.check, {"sched/handle/a.cpp": 'log_normal("x");\n'}, "rpc.log")
        self.assert_clean(rule_layers.check, {"sched/handle/a.cpp": 'rpc.log.normal("log_normal(");\n'})

    def test_unknown_parts(self):
        self.assert_found(rule_layers.check, {"src/common/a.cpp": ""}, "in no part")

    def test_the_table_has_no_cycle(self):
        done, path = set(), []

        def visit(part):
            self.assertNotIn(part, path, "cycle")
            if part in done:
                return
            path.append(part)
            for other in rule_layers.ALLOWED[part]:
                if other != part:
                    visit(other)
            path.pop()
            done.add(part)
        for part in rule_layers.ALLOWED:
            visit(part)


class Texts(RuleTest):
    def test_sql(self):
        for line in ['db.query(Sql("x"));', 'auto q = "SELECT id FROM host";', 'x = "update host set a=1";',
                     'q << SqlText{name};', 's = "delete from result where id=" + id;', 'Sql sql{"x"};']:
            self.assert_found(rule_texts.check_sql, {"feeder/a.cpp": "\n" + line}, "feeder/a.cpp:2:", "db/mysql only")
            self.assert_clean(rule_texts.check_sql, {"db/mysql/a.cpp": line})

    def test_what_is_no_sql(self):
        for line in ['log_normal("update host {} failed", id);', '// "SELECT id FROM host"', 'NoSql("x");',
                     'log("select a platform");', 'puts("inserted");']:
            self.assert_clean(rule_texts.check_sql, {"feeder/a.cpp": line})

    def test_heavy_headers(self):
        for header in ("nlohmann/json.hpp", "CLI/App.hpp", "spdlog/spdlog.h", "boost/interprocess/offset_ptr.hpp",
                       "mysql/jdbc.h", "mysql_connection.h", "cppconn/driver.h", "openssl/evp.h"):
            text = f"#pragma once\n#include <{header}>\n"
            self.assert_found(rule_texts.check_heavy_headers, {"sched/rpc/a.h": text}, "sched/rpc/a.h:2:", header)
            self.assert_clean(rule_texts.check_heavy_headers, {"sched/rpc/a.cpp": text, "db/mysql/a.h": text})
        self.assert_clean(rule_texts.check_heavy_headers, {"sched/rpc/a.h": "#include <fmt/core.h>\n"})

    def test_forbidden(self):
        for text in ("/wo" + "rk/main", "see /wo" + "rk", "path=/tmp/w" + "t/x", "fac" + "ts/schema.md §3", "(../fac" + "ts/)"):
            for path in ("docs/a.md", "CMakeLists.txt", "src/base/a.cpp"):
                self.assert_found(rule_texts.check_forbidden, {path: "a\n" + text}, path + ":2:")

    def test_what_is_not_forbidden(self):
        for text in ("</wo" + "rkunit>", "src/wo" + "rk/a", "http://h/wo" + "rk/", "/wo" + "rking", "host_fac" + "ts.h", "/tmp/x"):
            self.assert_clean(rule_texts.check_forbidden, {"docs/a.md": text})
        self.assert_clean(rule_texts.check_forbidden, {"build-x/a": "/wo" + "rk/", ".git/a": "/wo" + "rk/"})
        self.assert_clean(rule_texts.check_forbidden, {".git": "gitdir: /wo" + "rk/"})  # a work tree's


def function(lines, head="int f(int a)"):
    return head + " {\n" + "    x();\n" * (lines - 2) + "}\n"


class Sizes(RuleTest):
    def test_files(self):
        self.assert_clean(rule_sizes.check, {"src/base/a.cpp": "\n" * 600})
        self.assert_found(rule_sizes.check, {"src/base/a.cpp": "\n" * 601}, "601 lines")

    def test_functions(self):
        for head in ("int f(int a)", "void A::f() const", "A::A(int x) : a_(x), b_{x}", "auto f() -> int", "TEST(A, f)",
                     "template <typename T>\nT f(T a,\n    T b) noexcept", "bool operator==(A a, A b)"):
            extra = head.count("\n")
            self.assert_clean(rule_sizes.check, {"src/base/a.cpp": "namespace x {\n" + function(60 - extra, head) + "}\n"})
            self.assert_found(rule_sizes.check, {"src/base/a.cpp": "namespace x {\n" + function(61 - extra, head) + "}\n"},
                              "src/base/a.cpp:2:", "has 61 lines", "f" if "A::A" not in head and "op" not in head else "")

    def test_what_is_no_function(self):
        for head in ("namespace x", "class A : public B", "struct A", "const int table[] =", "enum class E : int"):
            self.assert_clean(rule_sizes.check, {"src/base/a.cpp": function(100, head)})

    def test_braces_in_texts_do_not_count(self):
        body = 'int f() {\n    g("}", \'}\', R"(})"); // }\n    /* } */\n' + "    x();\n" * 60 + "}\n"
        self.assert_found(rule_sizes.check, {"src/base/a.cpp": body}, "f has 64 lines")

    def test_small_modules_with_one_user(self):
        module = {"feeder/a.h": "\n" * 20, "feeder/a.cpp": '#include "feeder/a.h"\n' + "\n" * 30}
        user = {"feeder/b.cpp": '#include "feeder/a.h"\n'}
        self.assert_found(rule_sizes.check, {**module, **user}, "51 lines that only feeder/b includes")
        self.assert_clean(rule_sizes.check, {**module, **user, "feeder/c.cpp": '#include "feeder/a.h"\n'})
        self.assert_clean(rule_sizes.check, {**module, "sched/b.cpp": '#include "feeder/a.h"\n'})
        self.assert_clean(rule_sizes.check, {**module, **user, "feeder/a.cpp": "\n" * 40})

    def test_the_allow_list(self):
        files = {"src/base/a.cpp": function(80)}
        allow = rule_sizes.ALLOW_LIST
        self.assert_clean(rule_sizes.check, {**files, allow: "# comment\nsrc/base/a.cpp:f one table, row by row, read top down\n"})
        self.assert_found(rule_sizes.check, {**files, allow: "src/base/a.cpp:f\n"}, "needs a reason")
        self.assert_found(rule_sizes.check, {"src/base/a.cpp": function(9), allow: "src/base/a.cpp:f a reason that is long enough\n"},
                          "take its line out")


POLICY = ('Verdict check() { return refuse(Reason::kDisk); }\n'
          'const FastRow kDiskRow{.name = "disk", .scope = Scope::kJob, .check = check, .doc = "doc"};\n')


class Policies(RuleTest):
    def tree(self, **changes):
        files = {"sched/match/fast/disk.cpp": POLICY, "docs/policies.md": "| `disk` | refuses |\n",
                 "tests/unit/match/a_test.cpp": 'row("disk");'}
        files.update(changes.pop("files", {}))
        return {name: text for name, text in files.items() if text is not None}

    def test_complete(self):
        self.assert_clean(rule_policies.check, self.tree())
        self.assert_clean(rule_policies.check, self.tree(files={"tests/unit/match/a_test.cpp": "f(kDiskRow);"}))
        self.assert_clean(rule_policies.check, {"src/base/a.cpp": ""})  # no policies yet

    def test_without_test(self):
        for text in (None, "", '// "disk"', 'row("disk_sum"); kDiskRows();'):
            self.assert_found(rule_policies.check, self.tree(files={"tests/unit/match/a_test.cpp": text}), "no test names")

    def test_without_documentation(self):
        for text in (None, "disk", "`disk_sum`"):
            self.assert_found(rule_policies.check, self.tree(files={"docs/policies.md": text}), "docs/policies.md")

    def test_without_row_or_with_a_name_twice(self):
        self.assert_found(rule_policies.check, self.tree(files={"sched/match/fast/other.cpp": "int x;"}), "defines no row")
        again = POLICY.replace("Reason::kDisk", "Reason::kOther").replace("kDiskRow", "kOtherRow")
        self.assert_found(rule_policies.check, self.tree(files={"sched/match/fast/other.cpp": again}), "is also the name of")

    def test_what_knows_a_policy_beside_the_files_that_are_listed(self):
        for text in ("if (v.reason == Reason::kDisk) say();\n", "kDiskRow.check(x, c);\n"):
            self.assert_found(rule_policies.check, self.tree(files={"sched/handle/a.cpp": text}), "sched/handle/a.cpp:1", "knows kDisk")
            listed = "| `sched/handle/a.cpp` | one line |\n"
            self.assert_clean(rule_policies.check, self.tree(files={"sched/handle/a.cpp": text, "docs/adding_a_policy.md": listed}))
        self.assert_clean(rule_policies.check, self.tree(files={"sched/handle/a.cpp": "// Reason::kDisk\nReason::kDeadline;"}))


class Recipes(RuleTest):
    PAGES = {rule_recipes.README: "- `warden/`: warden\n", rule_recipes.FLOW: "| warden | when |\n",
             rule_recipes.WITHOUT_DATABASE: 'words{"warden"};', "tests/scenario/admin/CMakeLists.txt": "no_database_test.cpp warden_test.cpp",
             "tests/scenario/admin/warden_test.cpp": 'run_ok({"warden", "--one_pass"});',
             "daemons/warden/CMakeLists.txt": "sluice_program(warden DESTINATION bin SOURCES main.cpp LIBS x)",
             "daemons/warden/main.cpp": '#include "config/db_settings.h"\nreturn daemon_main(program);'}

    def test_a_program_is_documented_and_started(self):
        self.assert_clean(rule_recipes.check, self.PAGES)
        for page in (rule_recipes.README, rule_recipes.FLOW, rule_recipes.WITHOUT_DATABASE):
            self.assert_found(rule_recipes.check, {**self.PAGES, page: "wardens"}, f"warden is not in {page}")
        self.assert_found(rule_recipes.check, {**self.PAGES, "tests/scenario/admin/warden_test.cpp": "warden"}, "no test starts warden")

    def test_a_source_is_built(self):
        listed = {"src/a/CMakeLists.txt": "SOURCES one.cpp part/two.cpp", "src/a/one.cpp": "", "src/a/part/two.cpp": ""}
        self.assert_clean(rule_recipes.check, listed)
        self.assert_found(rule_recipes.check, {**listed, "src/a/part/three.cpp": ""}, "src/a/part/three.cpp", "it is not built")
        self.assert_clean(rule_recipes.check, {"src/a/CMakeLists.txt": "file(GLOB x fast/*.cpp)", "src/a/fast/three.cpp": ""})
        self.assert_found(rule_recipes.check, {"src/a/CMakeLists.txt": "file(GLOB x fast/*.cpp)", "src/a/three.cpp": ""}, "not built")
        self.assert_clean(rule_recipes.check, {"tests/c/CMakeLists.txt": "foreach(theme work prefs)", "tests/c/work_test.cpp": ""})

    def test_a_verb_is_in_the_contract(self):
        store = {"include/sluice/db/a_store.h": "class AStore {\n    virtual int one() = 0;\n    virtual int two(int a,\n int b) const = 0;\n};\n",
                 "tests/db/a.h": "store.one(); store->two(1, 2);"}
        memory = {"db/memory/a.h": "class MemoryA : public AStore {};"}
        self.assert_clean(rule_recipes.check, {**store, **memory})
        self.assert_found(rule_recipes.check, {**store, **memory, "tests/db/a.h": "store.two(); // .one()"}, "a_store.h:2", "calls one")
        self.assert_clean(rule_recipes.check, {**store, "tests/db/a.h": ""})

    def test_an_element_is_in_a_test(self):
        for path, line in (("parse_a.cpp", '    {"speed", &Host::speed},'), ("parse_a.cpp", 'if (xml.name() == "speed") {'),
                           ("reply_writer.cpp", 'text(out, "speed", reply.speed);'), ("reply_writer.cpp", 'out += "<speed>";')):
            code = {"sched/rpc/CMakeLists.txt": path, f"sched/rpc/{path}": line}
            self.assert_found(rule_recipes.check, code, "knows <speed>")
            self.assert_clean(rule_recipes.check, {**code, "tests/unit/rpc/a.h": "<speed>1</speed>"})


    def test_own_tables_are_listed(self):
        made = {"db/CMakeLists.txt": "own_tables.cpp a.cpp", "db/mysql/a.cpp": 'Sql("CREATE TABLE IF NOT EXISTS sluice_a (x int)");\n{"sluice_b", "x int"}'}
        self.assert_clean(rule_recipes.check, {**made, rule_recipes.OWN_TABLES: '{"sluice_a", "sluice_b"}'})
        self.assert_found(rule_recipes.check, {**made, rule_recipes.OWN_TABLES: '{"sluice_a"}'}, "own_tables() lacks sluice_b")
        self.assert_found(rule_recipes.check, {**made, rule_recipes.OWN_TABLES: '{"sluice_a", "sluice_b", "sluice_c"}'}, "sluice_c is made by no")


class Packages(RuleTest):
    MADE = {"debian/control": "", "debian/a.install": "usr/lib/sluice/bin/warden\nusr/share/man/man8/warden.8sluice\n",
            "daemons/CMakeLists.txt": "sluice_program(warden DESTINATION bin SOURCES main.cpp LIBS x)"}

    def test_each_program_is_in_one_package(self):
        self.assert_clean(rule_packages.check, self.MADE)
        self.assert_found(rule_packages.check, {**self.MADE, "debian/a.install": "usr/lib/sluice/bin/warden"}, "warden.8sluice is in 0 packages")
        self.assert_found(rule_packages.check, {**self.MADE, "debian/b.install": "usr/lib/sluice/bin/warden"}, "bin/warden is in 2 packages")
        self.assert_found(rule_packages.check, {**self.MADE, "debian/b.install": "usr/lib/sluice/bin/keeper"}, "debian/b.install:1", "keeper: no CMakeLists.txt makes it")

    def test_package_has_version_of_the_tree_or_a_coming_one(self):
        made = {**self.MADE, "CMakeLists.txt": "project(sluice VERSION 0.9.0 LANGUAGES CXX)\n"}
        for version in ("0.9.0", "0.10.0~1"):
            self.assert_clean(rule_packages.check, {**made, "debian/changelog": f"sluice ({version}) bookworm; urgency=medium\n"})
        for version in ("0.8.0", "0.10.0", "0.9.0~1"):
            self.assert_found(rule_packages.check, {**made, "debian/changelog": f"sluice ({version}) bookworm; urgency=medium\n"}, "debian/changelog:1")

    def test_names_of_links_and_loops(self):
        for line in ("sluice_program(x DESTINATION bin SOURCES a.cpp LIBS b\n  NAMES one two)", "foreach(w one:kOne two:kTwo)\nsluice_program(${w} DESTINATION bin SOURCES a.cpp)"):
            names = [name for name in ("x", "one", "two") if name != "x" or "NAMES" in line]
            lists = "".join(f"usr/lib/sluice/bin/{name}\nusr/share/man/man8/{name}.8sluice\n" for name in names)
            made = {"debian/control": "", "daemons/CMakeLists.txt": line, "debian/a.install": lists}
            self.assert_clean(rule_packages.check, made)
            self.assert_found(rule_packages.check, {**made, "debian/a.install": lists.replace("/bin/two", "/")}, "bin/two is in 0 packages")


class Verdicts(RuleTest):
    def tree_with(self, sched, entries, made="feeder"):
        """All of upstream's names in one row that says why not, but for those of the rows given."""
        table = "{}\n\n| a | b |\n|---|---|\n{}\n"
        others = ", ".join(rule_verdicts.SCHED - {"feeder"})
        none = ", ".join(rule_verdicts.ENTRIES - {"feeder"})
        return {rule_verdicts.SCHED_PAGE: table.format(rule_verdicts.SCHED_HEADING, f"| {others} | not there: x |\n{sched}"),
                rule_verdicts.ENTRIES_PAGE: table.format(rule_verdicts.ENTRIES_HEADING, f"| none | {none}: x |\n{entries}"),
                "daemons/CMakeLists.txt": f"sluice_program({made} DESTINATION bin SOURCES main.cpp LIBS x)"}

    def test_each_of_upstreams_has_its_row(self):
        row = "| feeder | the same |"
        self.assert_clean(rule_verdicts.check, self.tree_with("| feeder | the same names |", row))
        self.assert_found(rule_verdicts.check, self.tree_with("", row), "docs/compat.md", "feeder of upstream has no row")
        self.assert_found(rule_verdicts.check, self.tree_with("| feeder | the same names |", ""), "docs/job_flow.md", "feeder of upstream has no row")

    def test_what_is_called_built_is_there(self):
        row = "| feeder | not there: x |"
        self.assert_found(rule_verdicts.check, self.tree_with("| feeder | the same names |", "| none | feeder: x |", "other"), "docs/compat.md:6", "feeder: no CMakeLists.txt")
        self.assert_found(rule_verdicts.check, self.tree_with("| feeder | `bin/warden --x` |", "| none | feeder: x |"), "docs/compat.md:6", "warden: no CMakeLists.txt")
        self.assert_found(rule_verdicts.check, self.tree_with(row, "| feeder, warden (disabled) | the same |"), "docs/job_flow.md:6", "warden: no CMakeLists.txt")


class Format(RuleTest):
    STYLE = "BasedOnStyle: Google\nIndentWidth: 4\nAllowShortFunctionsOnASingleLine: None\n"

    def test_the_style_of_the_tree(self):
        self.assert_clean(rule_format.check, {".clang-format": self.STYLE, "src/base/a.cpp": "int f() {\n    return 1;\n}\n"})
        self.assert_found(rule_format.check, {".clang-format": self.STYLE, "src/base/a.cpp": "int f() {\n  return 1;\n}\n"},
                          "src/base/a.cpp:1:", "clang-format -i src/base/a.cpp")

    def test_a_broken_style(self):
        self.assert_found(rule_format.check, {".clang-format": "Nonsense: 1\n", "src/base/a.cpp": "int a;\n"}, "Nonsense")


class Architecture(RuleTest):
    def page(self, text):
        return {rule_architecture.DOC: text, "src/shmem/job_array.h": "class JobArray { void read_slot(); };\n",
                "src/shmem/impl.cpp": "// class Gone\n"}

    def test_what_is_there(self):
        for text in ("`src/shmem`", "`shmem/job_array.h`", "`job_array.h`", "`src/*/impl.cpp`", "`JobArray`", "`JobArray::read_slot()`",
                     "`read_slot`", "an ordinary/sentence with Words", "`x < 1 && y`", "`EMPTY`",
                     "```\nsrc/shmem  and job_array.h, words\n```", "`Planned` and `src/none.h` (to come)"):
            self.assert_clean(rule_architecture.check, self.page(text))

    def test_what_is_not_there(self):
        for text, name in (("`src/gone`", "src/gone"), ("`gone.h`", "gone.h"), ("`src/shmem/*_store.cpp`", "_store.cpp"), ("`Gone`", "type Gone"),
                           ("`Gone::read_slot()`", "type Gone"), ("`JobArray::write_slot()`", "write_slot"),
                           ("```\nsrc/shmem gone.h\n```", "gone.h"), ("(to come)\n`Gone`", "type Gone")):
            self.assert_found(rule_architecture.check, self.page(text), rule_architecture.DOC, name)
        self.assert_found(rule_architecture.check, {**self.page(""), "feeder/README.md": "`gone.h`"}, "feeder/README.md", "gone.h")


class Docs(RuleTest):
    TEXT = "# A page\n\nFor admins. See [below](#what-it-does) and [that](other.md), \"Its part\".\n\n## What it does\n\n"
    OTHER = {"docs/other.md": "# Other\n\nFor developers.\n\n## Its part\n"}

    def page(self, more="", text=TEXT):
        return {"docs/page.md": text + more, **self.OTHER}

    def test_what_is_right(self):
        long = "word " * 30
        for more in ("", f"| {long} |\n", f"    {long}\n", f"```\n{long}\n```\n", "1. " + "word " * 20 + "\n2. " + "word " * 20 + "\n",
                     "**Ten words.** " + "word " * 20, "[web](https://example.org/#x)", f"`{long}` is one word."):
            self.assert_clean(rule_docs.check, self.page(more))

    def test_what_is_wrong(self):
        for more, what in (("word " * 26, "26 words"), ("- word\n- " + "word\n  " * 30, "30 words"), ("[x](gone.md)", "gone.md"),
                           ("[x](other.md#gone)", "#gone"), ('[x](other.md), "Gone"', '"Gone"')):
            self.assert_found(rule_docs.check, self.page(more), "docs/page.md", what)
        self.assert_found(rule_docs.check, self.page(text="# A page\n\nIt is new.\n"), "docs/page.md", "reader")


class CheckRun(unittest.TestCase):
    LOG = ("[  SKIPPED ] Swap.Back (0 ms)\n[  PASSED  ] 12 tests.\n[  SKIPPED ] 1 test, listed below:\n[  SKIPPED ] Swap.Back\n"
           "[  PASSED  ] 1 test.\n")

    def test_a_full_run(self):
        self.assertEqual(check_run.complaints(self.LOG, 13, {"Swap.Back": "no reason"}), (13, ["Swap.Back"], []))

    def test_a_skip_without_a_reason(self):
        self.assertIn("Swap.Back", check_run.complaints(self.LOG, 13, {})[2][0])
        with self.assertRaises(SystemExit):
            check_run.allowed_skips("Swap.Back\n")

    def test_too_few_cases(self):
        self.assertIn("only 13 cases passed", check_run.complaints(self.LOG, 14, {"Swap.Back": "x"})[2][0])


class Blanking(unittest.TestCase):
    def test_lines_stay(self):
        text = 'a // x\n/* y\n z */ b "s\\"t" \'"\' R"x(q\n)x" 1\'000 c'
        self.assertEqual(blanked(text).count("\n"), text.count("\n"))
        self.assertEqual(blanked(text).split(), ["a", "b", "1'000", "c"])
        self.assertIn('"s\\"t"', blanked(text, keep_strings=True))


class Unity(RuleTest):
    ONE = "namespace sluice {\nnamespace {\n\nint at(int i) { return i; }\n\n}  // namespace\n}  // namespace sluice\n"

    def test_same_name_in_two_files_of_a_library(self):
        for other in (self.ONE, self.ONE.replace("int i", "double i"), self.ONE.replace("int at(int i) {", "constexpr int at = 1;  //"),
                      self.ONE.replace("int at(int i) { return i; }", "struct at {\n};")):
            self.assert_found(rule_unity.check, {"src/base/a.cpp": self.ONE, "src/base/b.cpp": other}, "src/base/b.cpp", "at stands")

    def test_other_libraries_programs_members_and_named_namespaces(self):
        others = {"src/json/b.cpp": self.ONE, "src/base/main.cpp": self.ONE,
                  "src/base/c.cpp": self.ONE.replace("namespace {", "namespace named {"),
                  "src/base/d.cpp": self.ONE.replace("int at", "int X::at").replace("X::at", "X::at"),
                  "src/base/e.cpp": self.ONE.replace("int at(int i) { return i; }", "struct S {\n    int at();\n};\nint f() { return 1; }")}
        self.assert_clean(rule_unity.check, {"src/base/a.cpp": self.ONE, **others})

    def test_an_alias_means_one_type(self):
        alias = self.ONE.replace("namespace {\n", "namespace {\nusing Json = one;\n", 1)
        self.assertIn("using Json", alias)
        self.assert_clean(rule_unity.check, {"src/base/a.cpp": alias, "src/base/b.cpp": "namespace {\nusing Json = one;\n}  // namespace\n"})
        self.assert_found(rule_unity.check, {"src/base/a.cpp": alias, "src/base/b.cpp": "namespace {\nusing Json = two;\n}  // namespace\n"},
                          "src/base/b.cpp", "Json is another type")


class TypeNames(RuleTest):
    ONE = "namespace sluice {\nclass Job;\nstruct Job {\n    struct Part {\n    };\n};\n}  // namespace sluice\n"

    def test_two_types_of_a_name(self):
        for other in ("namespace x {\nenum class Job { kOne };\n}", "namespace {\nclass Job final : public Base {\n};\n}"):
            self.assert_found(rule_type_names.check, {"src/base/a.h": self.ONE, "feeder/b.cpp": other}, "src/base/a.h", "there is a type Job in feeder/b.cpp")

    def test_announced_nested_and_implementing_types(self):
        self.assert_clean(rule_type_names.check, {"src/base/a.h": self.ONE, "src/base/a.cpp": "struct Job::Impl {\n};\nclass Job;\n",
                                                  "feeder/b.h": self.ONE.replace("Job", "Slot"), "tests/unit/c.cpp": self.ONE})


class Licence(RuleTest):
    def test_line(self):
        line = "// " + rule_licence.LINE + "\n"
        self.assert_clean(rule_licence.check, {"src/base/a.cpp": line + "int a;\n", "docs/a.md": "text\n"})
        self.assert_found(rule_licence.check, {"src/base/a.cpp": "int a;\n"}, "src/base/a.cpp:1:", "is missing")
        self.assert_found(rule_licence.check, {"src/base/b.h": "\n\n\n" + line}, "src/base/b.h", "is missing")


class TestNames(RuleTest):
    def test_words(self):
        for right in ("AHostThatFailsTwiceGetsNoMore", "Level1HalfOfTheJobs", "A64BitJobIsRefusedWithItsFigure"):
            self.assert_clean(rule_test_names.check, {"tests/unit/a_test.cpp": f"TEST(Suite, {right}) {{\n}}\n"})
        for macro in ("TEST", "TEST_F", "TEST_P", "TYPED_TEST"):
            self.assert_found(rule_test_names.check, {"tests/unit/a_test.cpp": f"\n{macro}(Suite, AHostThatHasFailedTwiceGetsNoMoreWork) {{\n}}\n"},
                              "tests/unit/a_test.cpp:2:", "has 10 words")


if __name__ == "__main__":
    unittest.main()
