// SPDX-License-Identifier: LGPL-3.0-or-later
#include "tests/support/request_text.h"

#include <sstream>

namespace sluice::test {

std::string RequestText::text() const {
    std::ostringstream x;
    const std::size_t dot = client_version.find('.'), dot2 = client_version.find('.', dot + 1);
    x << "<scheduler_request>\n<authenticator>" << authenticator << "</authenticator>\n<hostid>" << hostid
      << "</hostid>\n<rpc_seqno>" << seqno << "</rpc_seqno>\n<core_client_major_version>"
      << client_version.substr(0, dot) << "</core_client_major_version>\n<core_client_minor_version>"
      << client_version.substr(dot + 1, dot2 - dot - 1) << "</core_client_minor_version>\n<core_client_release>"
      << client_version.substr(dot2 + 1) << "</core_client_release>\n<work_req_seconds>" << work_seconds
      << "</work_req_seconds>\n<cpu_req_secs>" << work_seconds << "</cpu_req_secs>\n<cpu_req_instances>0"
      << "</cpu_req_instances>\n<estimated_delay>0</estimated_delay>\n<client_cap_plan_class>1"
      << "</client_cap_plan_class>\n<platform_name>" << platform << "</platform_name>\n";
    if (host_info)
        x << "<time_stats><on_frac>1</on_frac><connected_frac>-1</connected_frac><active_frac>1</active_frac>"
             "<gpu_active_frac>1</gpu_active_frac></time_stats>\n<host_info>\n<timezone>3600</timezone>\n<domain_name>"
          << domain_name << "</domain_name>\n<ip_addr>10.0.0.1</ip_addr>\n<host_cpid>" << cpid
          << "</host_cpid>\n<p_ncpus>" << ncpus << "</p_ncpus>\n<p_vendor>GenuineIntel</p_vendor>\n"
          << "<p_model>Xeon</p_model>\n<p_features>sse sse2 pni</p_features>\n<p_fpops>1e9</p_fpops>\n"
          << "<p_iops>1e9</p_iops>\n<p_membw>1e9</p_membw>\n<m_nbytes>8e9</m_nbytes>\n<m_cache>1e6</m_cache>\n"
          << "<m_swap>0</m_swap>\n<d_total>1e12</d_total>\n<d_free>5e11</d_free>\n<os_name>Linux Debian</os_name>\n"
          << "<os_version>12</os_version>\n</host_info>\n";
    for (const std::string& name : reported)
        x << "<result>\n<name>" << name << "</name>\n<final_cpu_time>1</final_cpu_time>\n"
          << "<final_elapsed_time>2</final_elapsed_time>\n<exit_status>0</exit_status>\n<state>5</state>\n"
          << "<app_version_num>100</app_version_num>\n<stderr_out>\n<core_client_version>8.0.2</core_client_version>\n"
          << "<![CDATA[\nstderr of " << name << "\n]]>\n</stderr_out>\n<file_info><name>out_" << name
          << "</name></file_info>\n</result>\n";
    if (list_others) {
        x << "<other_results>\n";
        for (const std::string& name : others)
            x << "<other_result><name>" << name << "</name><plan_class></plan_class></other_result>\n";
        x << "</other_results>\n";
    }
    x << more << "</scheduler_request>\n";
    return x.str();
}

}  // namespace sluice::test
