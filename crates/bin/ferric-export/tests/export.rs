//! `ferric-export` against a RIC and an emulated RAN; its files are read by Python, which shares no code with it.

use std::net::TcpListener;
use std::path::PathBuf;
use std::process::Command;

use ran::{RanConfig, Scenario};
use system_tests::RicAndRan;
use testkit::program::{Outcome, Program, run};

const EXPORT: &str = env!("CARGO_BIN_EXE_ferric-export");
const UES: usize = 2;
const MEASUREMENTS: &str = "DRB.UEThpDl,RRU.PrbTotDl";

/// A folder for one test; removed when dropped.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("ferric-export-tests-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        Folder(folder)
    }

    fn path(&self, name: &str) -> String {
        self.0.join(name).to_str().unwrap().to_owned()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn network() -> RicAndRan {
    let scenario = Scenario::with_mixed_traffic(1, UES as u16, 1);
    RicAndRan::start(Vec::new(), RanConfig { scenario, ..RanConfig::default() })
}

fn export(network: &RicAndRan, more: &[&str]) -> Outcome {
    let ric = network.ric.xapp.to_string();
    run(EXPORT, &[&["--ric", &ric, "-m", MEASUREMENTS, "--period-ms", "20"], more].concat())
}

/// Runs a Python program. Fails unless it succeeds.
fn python(program: &str, arguments: &[&str]) -> String {
    let output = Command::new("python3").arg("-c").arg(program).args(arguments).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// Checks rows that a reader has turned into JSON: `[time_ns, node, cell, ue, slice, value, value]`.
const CHECK: &str = r#"
def check(rows):
    assert len(rows) == 200, len(rows)
    times = sorted({row[0] for row in rows})
    steps = {b - a for a, b in zip(times, times[1:])}
    assert min(steps) >= 19_000_000, steps
    ues = {row[3] for row in rows}
    assert len(ues) == 2 and all(ue for ue in ues), ues
    assert {row[1] for row in rows} == {"gnb-00101-e00"}
    assert all(row[5] >= 0 and row[6] >= 0 for row in rows) and any(row[6] > 0 for row in rows)
"#;

#[test]
fn csv_is_read_by_python() {
    let (network, folder) = (network(), Folder::new("csv"));
    let path = folder.path("kpm.csv");
    let outcome = export(&network, &["--to", "csv", "-o", &path, "--records", "200"]);
    assert_eq!(outcome.code(), Some(0), "{}", outcome.stderr);
    assert!(outcome.stderr.contains("written=200 lost=0"), "{}", outcome.stderr);
    let read = "
import csv, sys
with open(sys.argv[1], newline='') as file:
    rows = list(csv.DictReader(file))
check([(int(row['time_ns']), row['node'], row['cell'], row['ue'], row['slice'], float(row['DRB.UEThpDl']),
        float(row['RRU.PrbTotDl'])) for row in rows])";
    python(&format!("{CHECK}{read}"), &[&path]);
    let again = export(&network, &["--to", "csv", "-o", &path, "--records", "200"]);
    again.complains(1, &["kpm.csv: give another file, or --append to add to it"]);
}

#[test]
fn json_lines_on_standard_output_are_read_by_python() {
    let (network, folder) = (network(), Folder::new("jsonl"));
    let outcome = export(&network, &["--to", "jsonl", "--records", "200"]);
    assert_eq!(outcome.code(), Some(0), "{}", outcome.stderr);
    let path = folder.path("kpm.jsonl");
    std::fs::write(&path, &outcome.stdout).unwrap();
    let read = "
import json, sys
rows = [json.loads(line) for line in open(sys.argv[1])]
check([(row['time_ns'], row['node'], row.get('cell'), row['ue'], row.get('slice'), row['DRB.UEThpDl'],
        row['RRU.PrbTotDl']) for row in rows])";
    python(&format!("{CHECK}{read}"), &[&path]);
}

#[cfg(feature = "sqlite")]
#[test]
fn sqlite_is_read_by_python_and_added_to() {
    let (network, folder) = (network(), Folder::new("sqlite"));
    let path = folder.path("kpm.db");
    let read = "
import sqlite3, sys
rows = list(sqlite3.connect(sys.argv[1]).execute(
    'SELECT time_ns, node, cell, ue, slice, \"DRB.UEThpDl\", \"RRU.PrbTotDl\" FROM kpm LIMIT 200 OFFSET ?', sys.argv[2:]))
check(rows)";
    for offset in ["0", "200"] {
        let outcome = export(&network, &["--to", "sqlite", "-o", &path, "--append", "--records", "200"]);
        assert_eq!(outcome.code(), Some(0), "{}", outcome.stderr);
        python(&format!("{CHECK}{read}"), &[&path, offset]);
    }
    // another measurement is another column
    let ric = network.ric.xapp.to_string();
    let outcome = run(
        EXPORT,
        &["--ric", &ric, "-m", "CQI", "--period-ms", "20", "--to", "sqlite", "-o", &path, "--append", "--records", "2"],
    );
    assert_eq!(outcome.code(), Some(0), "{}", outcome.stderr);
    let count = "
import sqlite3, sys
print(*sqlite3.connect(sys.argv[1]).execute('SELECT count(*), count(CQI) > 0 FROM kpm WHERE \"DRB.UEThpDl\" IS NULL'))";
    assert_eq!(python(count, &[&path]).trim(), "(2, 1)");
    std::fs::write(folder.path("text"), "this is no database, however long it is").unwrap();
    let outcome = export(&network, &["--to", "sqlite", "-o", &folder.path("text"), "--append"]);
    outcome.complains(1, &["as a SQLite database: file is not a database"]);
}

/// Reads with pyarrow where it is installed: scripts/northbound installs it.
#[cfg(feature = "parquet")]
#[test]
fn parquet_is_read_by_pyarrow() {
    let (network, folder) = (network(), Folder::new("parquet"));
    let path = folder.path("kpm.parquet");
    let outcome = export(&network, &["--to", "parquet", "-o", &path, "--records", "200"]);
    assert_eq!(outcome.code(), Some(0), "{}", outcome.stderr);
    assert!(outcome.stderr.contains("written=200 lost=0"), "{}", outcome.stderr);
    let python3 = std::env::var("FERRIC_PYARROW_PYTHON").unwrap_or_else(|_| "python3".into());
    let has_pyarrow = Command::new(&python3).args(["-c", "import pyarrow"]).output().unwrap().status.success();
    if !has_pyarrow {
        assert!(std::env::var_os("FERRIC_PYARROW_PYTHON").is_none(), "{python3} has no pyarrow");
        eprintln!("NOT TESTED: {python3} has no pyarrow to read Parquet with; scripts/northbound installs it");
        return;
    }
    let read = "
import sys, pyarrow as pa, pyarrow.parquet as pq
table = pq.read_table(sys.argv[1])
assert table.schema.field('time').type == pa.timestamp('ns', 'UTC'), table.schema
assert table.schema.field('ue').type == pa.string() and table.schema.field('DRB.UEThpDl').type == pa.float64()
assert not table.schema.field('node').nullable and table.schema.field('cell').nullable
rows = zip(table['time'].cast('int64').to_pylist(), *(table[name].to_pylist() for name in
    ['node', 'cell', 'ue', 'slice', 'DRB.UEThpDl', 'RRU.PrbTotDl']))
check(list(rows))";
    let output = Command::new(python3).args(["-c", &format!("{CHECK}{read}"), &path]).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// Has the system refuse to write more than 8 KiB to a file, as a full disk does.
fn export_with_little_space(network: &RicAndRan, more: &[&str]) -> Outcome {
    let ric = network.ric.xapp.to_string();
    let script = "trap '' XFSZ; ulimit -f 16; exec \"$0\" \"$@\"";
    let common = ["-c", script, EXPORT, "--ric", &ric, "-m", MEASUREMENTS, "--period-ms", "5", "--records", "2000"];
    run("/bin/sh", &[&common, more].concat())
}

/// The numbers of a key in the last line of the log.
fn counted(outcome: &Outcome, key: &str) -> u64 {
    let line = outcome.stderr.lines().find(|line| line.contains("export ended")).unwrap();
    let word = line.split_whitespace().find_map(|word| word.strip_prefix(&format!("{key}="))).unwrap();
    word.parse().unwrap()
}

#[test]
fn full_disk_leaves_whole_records_and_the_exit_status_tells() {
    let (network, folder) = (network(), Folder::new("full"));
    let path = folder.path("kpm.csv");
    let outcome = export_with_little_space(&network, &["--to", "csv", "-o", &path]);
    outcome.complains(1, &["cannot write: records are lost until it works again", "records were lost"]);
    let (written, lost) = (counted(&outcome, "written"), counted(&outcome, "lost"));
    assert_eq!(written + lost, 2000, "{}", outcome.stderr);
    let text = std::fs::read_to_string(&path).unwrap();
    assert_eq!(text.lines().count() as u64, 1 + written);
    assert!(text.ends_with("\r\n") && written > 0 && lost > 0);
}

#[cfg(feature = "sqlite")]
#[test]
fn full_disk_rolls_a_database_back_to_whole_batches() {
    let (network, folder) = (network(), Folder::new("full-database"));
    let path = folder.path("kpm.db");
    // an empty database and its log need more than the text
    let ric = network.ric.xapp.to_string();
    let script = "trap '' XFSZ; ulimit -f 160; exec \"$0\" \"$@\"";
    let words = ["-c", script, EXPORT, "--ric", &ric, "-m", MEASUREMENTS, "--period-ms", "5", "--records", "2000"];
    let outcome = run("/bin/sh", &[&words[..], &["--to", "sqlite", "-o", &path]].concat());
    let (written, lost) = (counted(&outcome, "written"), counted(&outcome, "lost"));
    assert_eq!((written + lost, outcome.code()), (2000, Some(1)), "{}", outcome.stderr);
    let count =
        "import sqlite3, sys; print(sqlite3.connect(sys.argv[1]).execute('SELECT count(*) FROM kpm').fetchone()[0])";
    assert_eq!(python(count, &[&path]).trim(), written.to_string());
    assert!(written > 0 && lost > 0);
}

#[cfg(feature = "parquet")]
#[test]
fn full_disk_leaves_a_parquet_file_that_can_be_read() {
    let (network, folder) = (network(), Folder::new("full-parquet"));
    let path = folder.path("kpm.parquet");
    // one row group, which does not fit
    let outcome = export_with_little_space(&network, &["--to", "parquet", "-o", &path]);
    let (written, lost) = (counted(&outcome, "written"), counted(&outcome, "lost"));
    assert_eq!(written + lost, 2000, "{}", outcome.stderr);
    assert_eq!(outcome.code(), Some((lost > 0).into()));
    let octets = std::fs::read(&path).unwrap();
    assert!(octets.starts_with(b"PAR1") && octets.ends_with(b"PAR1"));
}

#[test]
fn absent_server_loses_counted_records_and_the_exit_status_tells() {
    let network = network();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    drop(listener);
    let server = ["--to", "influx", "--url", &url, "--database", "x", "--drain-seconds", "0"];
    let outcome = export(&network, &[&server[..], &["--records", "200"]].concat());
    outcome.complains(
        1,
        &["the server took no more: what waited for it is lost", "200 records were lost: 200 by the destination"],
    );
    assert_eq!((counted(&outcome, "written"), counted(&outcome, "lost_by_sink")), (0, 200));
}

#[test]
fn mistakes_are_reported_before_anything_is_written() {
    let (network, folder) = (network(), Folder::new("mistakes"));
    let path = folder.path("kpm.csv");
    let of = |measurement: &str, more: &[&str]| {
        let ric = network.ric.xapp.to_string();
        run(EXPORT, &[&["--ric", &ric, "-m", measurement, "--to", "csv"], more].concat())
    };
    of("DRB.UEThpDI", &[]).complains(1, &["DRB.UEThpDI", "DRB.UEThpDl"]);
    of("DRB.UEThpDl", &["--cell", "xyz"]).complains(1, &["xyz"]);
    of("DRB.UEThpDl", &["-o", &folder.path("none/kpm.csv")]).complains(1, &["cannot open", "No such file"]);
    of("DRB.UEThpDl", &["--url", "http://localhost:1", "--database", "x"]).complains(1, &["only --to influx"]);
    let nothing = run(EXPORT, &["--to", "xml", "-m", "x"]);
    nothing.complains(2, &["invalid value 'xml'"]);
    assert!(!std::path::Path::new(&path).exists());
}

#[test]
fn signal_ends_the_export_with_what_was_received() {
    let (network, folder) = (network(), Folder::new("signal"));
    let (ric, path) = (network.ric.xapp.to_string(), folder.path("kpm.jsonl"));
    let mut export =
        Program::start(EXPORT, &["--ric", &ric, "-m", MEASUREMENTS, "--period-ms", "20", "--to", "jsonl", "-o", &path]);
    export.logs("exporting");
    system_tests::eventually("records", || std::fs::metadata(&path).is_ok_and(|file| file.len() > 1000));
    export.interrupt();
    let outcome = export.end();
    assert_eq!(outcome.code(), Some(0), "{}", outcome.stderr);
    let text = std::fs::read_to_string(&path).unwrap();
    assert_eq!(text.lines().count() as u64, counted(&outcome, "written"));
}

/// A port of this host that nothing listens on.
fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

/// An InfluxDB server of version 1, and the URL of its HTTP interface.
fn start_influxd(program: &str, folder: &Folder) -> (Program, String) {
    let (http, rpc) = (free_port(), free_port());
    let [meta, data, wal] = ["meta", "data", "wal"].map(|name| folder.path(name));
    let config = format!(
        "reporting-disabled = true\nbind-address = \"127.0.0.1:{rpc}\"\n[meta]\ndir = \"{meta}\"\n[data]\ndir = \"{data}\"\n\
         wal-dir = \"{wal}\"\n[http]\nbind-address = \"127.0.0.1:{http}\"\n"
    );
    let file = folder.path("influxdb.conf");
    std::fs::write(&file, config).unwrap();
    let server = Program::start(program, &["-config", &file]);
    system_tests::eventually("InfluxDB", || std::net::TcpStream::connect(("127.0.0.1", http)).is_ok());
    (server, format!("http://127.0.0.1:{http}"))
}

/// A query to InfluxDB, by Python; prints the values of the first series.
const QUERY: &str = r#"
import json, sys, urllib.parse, urllib.request
url, database, query = sys.argv[1:]
data = urllib.parse.urlencode({"q": query, "db": database, "epoch": "ns"}).encode()
result = json.load(urllib.request.urlopen(url + "/query", data))["results"][0]
print(json.dumps(result.get("series", [{"values": []}])[0]["values"]))
"#;

/// With InfluxDB 1 where `FERRIC_INFLUXD` names the program: scripts/northbound has it.
#[test]
fn influxdb_takes_every_point() {
    let Ok(influxd) = std::env::var("FERRIC_INFLUXD") else {
        eprintln!("NOT TESTED: FERRIC_INFLUXD does not name InfluxDB's server; scripts/northbound has it");
        return;
    };
    let (network, folder) = (network(), Folder::new("influxdb"));
    let (_server, url) = start_influxd(&influxd, &folder);
    // a database that does not exist ends the export with the server's reason
    let to_server = ["--to", "influx", "--url", &url, "--database", "kpm"];
    let outcome = export(&network, &[&to_server[..], &["--records", "200"]].concat());
    outcome.complains(1, &["refuses to be written to (404)", "database not found"]);
    python(QUERY, &[&url, "", "CREATE DATABASE kpm"]);
    let outcome = export(&network, &[&to_server[..], &["--records", "200"]].concat());
    assert_eq!(outcome.code(), Some(0), "{}", outcome.stderr);
    assert_eq!((counted(&outcome, "written"), counted(&outcome, "lost")), (200, 0));
    let rows =
        python(QUERY, &[&url, "kpm", "SELECT node, cell, ue, slice, \"DRB.UEThpDl\", \"RRU.PrbTotDl\" FROM kpm"]);
    python(&format!("{CHECK}import json, sys; check(json.loads(sys.argv[1]))"), &[rows.trim()]);
    // the same lines from a file
    let path = folder.path("kpm.line");
    let outcome = export(&network, &["--to", "influx", "-o", &path, "--records", "200"]);
    assert_eq!(outcome.code(), Some(0), "{}", outcome.stderr);
    let load = "
import sys, urllib.request
assert urllib.request.urlopen(sys.argv[1] + '/write?db=file', open(sys.argv[2], 'rb').read()).status == 204";
    python(QUERY, &[&url, "", "CREATE DATABASE file"]);
    python(load, &[&url, &path]);
    let count = python(QUERY, &[&url, "file", "SELECT count(\"RRU.PrbTotDl\") FROM kpm"]);
    assert!(count.trim().ends_with(", 200]]"), "{count}");
}
