//! The report as one HTML file, which needs nothing else: light and dark, a filter by result without scripts.

use std::fmt::Write;

use super::{CheckReport, Report, escaped};
use crate::Outcome;

const STYLE: &str = "\
:root{color-scheme:light dark;--line:#c8ccd2;--soft:#5b6470;--pass:#0a7a3d;--fail:#b3261e;--open:#8a5a00}\
@media (prefers-color-scheme:dark){:root{--line:#3c434d;--soft:#a3acb8;--pass:#5fd38d;--fail:#ff8a80;--open:#f2c14e}}\
body{font:15px/1.45 system-ui,sans-serif;margin:2rem auto;max-width:72rem;padding:0 1rem}\
h1{font-size:1.4rem}h2{font-size:1.1rem;margin-top:2rem}\
table{border-collapse:collapse;width:100%}th,td{border-bottom:1px solid var(--line);padding:.35rem .6rem;text-align:left;\
vertical-align:top}th{color:var(--soft);font-weight:600}td.n,th.n{text-align:right;font-variant-numeric:tabular-nums}\
code{font-size:.92em}.pass{color:var(--pass)}.fail{color:var(--fail);font-weight:700}.inconclusive{color:var(--open)}\
.reason{color:var(--soft)}.filter{margin:1rem 0}.filter label{margin-right:1.2rem}\
#hide-pass:checked~main tr.pass-row,#hide-open:checked~main tr.inconclusive-row{display:none}";

impl Report {
    /// Returns the report as HTML.
    #[must_use]
    pub fn html(&self) -> String {
        let mut out = String::new();
        let title = escaped(&format!("E2AP conformance of the {} at {}", self.peer, self.address));
        // writing to a string does not fail
        let _ = write!(
            out,
            "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
             <meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n<title>{title}</title>\n\
             <link rel=\"icon\" href=\"data:,\">\n<style>{STYLE}</style>\n</head>\n<body>\n<h1>{title}</h1>\n"
        );
        let _ = writeln!(
            out,
            "<p><span class=\"pass\">{} passed</span>, <span class=\"fail\">{} failed</span>, \
             <span class=\"inconclusive\">{} inconclusive</span>{}{}. Clauses are those of ETSI TS 104 039 V4.0.0, and of 3GPP \
             TS 36.413 for clause 10.</p>",
            self.passed,
            self.failed,
            self.inconclusive,
            if self.hostile { "; malformed octets were sent" } else { "" },
            if self.interrupted { "; the run was interrupted" } else { "" },
        );
        out.push_str(
            "<input type=\"checkbox\" id=\"hide-pass\"><label for=\"hide-pass\"> hide what passed</label>\n\
             <input type=\"checkbox\" id=\"hide-open\"><label for=\"hide-open\"> hide what is inconclusive</label>\n<main>\n",
        );
        let mut version = None;
        for check in &self.checks {
            if version != Some(&check.version) {
                if version.is_some() {
                    out.push_str("</tbody></table>\n");
                }
                version = Some(&check.version);
                let _ = write!(
                    out,
                    "<h2>E2AP v{}</h2>\n<table><thead><tr><th>result<th>check<th>clause<th>requirement<th class=\"n\">ms\
                     <th>messages</tr></thead><tbody>\n",
                    escaped(&check.version)
                );
            }
            write_row(&mut out, check);
        }
        if version.is_some() {
            out.push_str("</tbody></table>\n");
        }
        out.push_str("</main>\n</body>\n</html>\n");
        out
    }
}

fn write_row(out: &mut String, check: &CheckReport) {
    let class = match check.outcome {
        Outcome::Pass => "pass",
        Outcome::Fail => "fail",
        Outcome::Inconclusive => "inconclusive",
    };
    let reason = check.reason.as_deref().map(|reason| format!("<br><span class=\"reason\">{}</span>", escaped(reason)));
    let messages = check.recording.as_deref().map_or(String::new(), |file| {
        let file = escaped(file);
        format!("<a href=\"{file}\">pcapng</a>")
    });
    let _ = writeln!(
        out,
        "<tr class=\"{class}-row\"><td class=\"{class}\">{class}<td><code>{}</code><td>{}<td>{}{}<td class=\"n\">{}<td>{messages}\
         </tr>",
        escaped(&check.id),
        escaped(&check.clause),
        escaped(&check.title),
        reason.unwrap_or_default(),
        check.duration_ms
    );
}
