//! The command line.

use std::collections::BTreeSet;
use std::fmt;
use std::path::PathBuf;

use anyhow::bail;
use clap::{Parser, ValueEnum, value_parser};
use ferric::xapp::{Error, KpmRequest, Ric};
use program::LogLevel;
use program::parse_octets;
use program::tls::TlsArgs;

use crate::sink::SUBJECT_COLUMNS;

/// The most measurements of a request, as of `ferric::xapp`.
const MAX_MEASUREMENTS: usize = 1024;
/// The longest name of a measurement (E2SM-KPM 8.3.9: 150 characters).
const MAX_NAME_OCTETS: usize = 150;

/// Write KPM records of a RIC to a file or a database.
///
/// Each record has the time at which its period starts, node, cell, UE and slice, and a column for each measurement. A record that
/// cannot be written is counted; the exit status is 1 if any was lost.
#[derive(Parser)]
#[command(name = "ferric-export", bin_name = "ferric export", version, max_term_width = 100)]
pub struct Args {
    /// The format.
    #[arg(long, value_enum, value_name = "FORMAT")]
    pub to: Format,
    /// The measurements, separated by commas, such as DRB.UEThpDl,RRU.PrbTotDl.
    #[arg(long, short, required = true, value_delimiter = ',', value_name = "NAME")]
    pub measurements: Vec<String>,
    /// The reporting period in milliseconds.
    #[arg(long, value_name = "MS", default_value_t = 1000, value_parser = value_parser!(u32).range(1..))]
    pub period_ms: u32,
    /// The RIC's address for xApps. [default: the variable FERRIC_RIC, or tcp://127.0.0.1:36423]
    #[arg(long, value_name = "URL")]
    pub ric: Option<String>,
    /// Only this UE, such as amf:17 or rnti:0x4601@003804001. Without a filter there is a record for each UE.
    #[arg(long, value_name = "UE", help_heading = "Filters", group = "subject")]
    pub ue: Option<String>,
    /// Only this cell, as a whole.
    #[arg(long, value_name = "CELL", help_heading = "Filters", group = "subject")]
    pub cell: Option<String>,
    /// Only this network slice's share of each node, such as 1 or 1-00000a.
    #[arg(long, value_name = "S-NSSAI", help_heading = "Filters", group = "subject")]
    pub slice: Option<String>,
    /// Each node as a whole.
    #[arg(long, help_heading = "Filters", group = "subject")]
    pub whole_node: bool,
    /// Only this node, as the RIC logs it.
    #[arg(long, value_name = "NODE", help_heading = "Filters")]
    pub node: Option<String>,
    /// The file; `-` is standard output. [default for csv, jsonl and influx: -]
    #[arg(long, short, value_name = "FILE", help_heading = "Files")]
    pub output: Option<PathBuf>,
    /// Add to a file that exists, instead of refusing it. Not for parquet.
    #[arg(long, help_heading = "Files", requires = "output")]
    pub append: bool,
    /// Begin a new file at this size, such as 64M: NAME-000001.csv, NAME-000002.csv, …
    #[arg(long, value_name = "OCTETS", help_heading = "Files", value_parser = parse_octets, requires = "output")]
    pub rotate_octets: Option<u64>,
    /// Begin a new file after this time.
    #[arg(long, value_name = "S", help_heading = "Files", value_parser = value_parser!(u32).range(1..), requires = "output")]
    pub rotate_seconds: Option<u32>,
    /// Keep this many rotated files, and delete the oldest.
    #[arg(long, value_name = "N", help_heading = "Files", value_parser = value_parser!(u32).range(1..=999_999))]
    pub keep: Option<u32>,
    /// End when all files of this export together have this size, such as 1G.
    #[arg(long, value_name = "OCTETS", help_heading = "Files", value_parser = parse_octets, requires = "output")]
    pub limit_octets: Option<u64>,
    /// Write to the InfluxDB server http://HOST:PORT or https://HOST:PORT instead of a file.
    #[arg(long, value_name = "URL", help_heading = "InfluxDB", conflicts_with = "output")]
    pub url: Option<String>,
    /// The database, with optional `/RETENTION-POLICY`: InfluxDB 1, path /write.
    #[arg(long, value_name = "NAME", help_heading = "InfluxDB", requires = "url", conflicts_with_all = ["org", "bucket"])]
    pub database: Option<String>,
    /// The organization: InfluxDB 2, path /api/v2/write.
    #[arg(long, value_name = "NAME", help_heading = "InfluxDB", requires_all = ["url", "bucket"])]
    pub org: Option<String>,
    /// The bucket.
    #[arg(long, value_name = "NAME", help_heading = "InfluxDB", requires_all = ["url", "org"])]
    pub bucket: Option<String>,
    /// File with the token (InfluxDB 2) or USER:PASSWORD (InfluxDB 1), and nothing else.
    #[arg(long, value_name = "FILE", help_heading = "InfluxDB", requires = "url")]
    pub token: Option<PathBuf>,
    /// PEM file of the CA that signed the server's certificate: for https://.
    #[arg(long, value_name = "FILE", help_heading = "InfluxDB", requires = "url")]
    pub server_ca: Option<PathBuf>,
    /// The most octets that wait for the server; beyond them the oldest records are lost.
    #[arg(long, value_name = "OCTETS", help_heading = "InfluxDB", value_parser = parse_octets, default_value = "16M")]
    pub buffer_octets: u64,
    /// The longest time that the end of the export waits for the server.
    #[arg(long, value_name = "S", help_heading = "InfluxDB", value_parser = value_parser!(u32).range(0..=3600), default_value_t = 10)]
    pub drain_seconds: u32,
    /// End after this time.
    #[arg(long, value_name = "S", value_parser = value_parser!(u32).range(1..))]
    pub seconds: Option<u32>,
    /// End after so many records.
    #[arg(long, value_name = "N", value_parser = value_parser!(u64).range(1..))]
    pub records: Option<u64>,
    #[command(flatten)]
    pub tls: TlsArgs,
    /// Log level, to standard error. [default: info]
    #[arg(long, value_enum, value_name = "LEVEL", display_order = 900)]
    pub log: Option<LogLevel>,
}

/// A format of records.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// Comma-separated values (RFC 4180), with a header
    Csv,
    /// A JSON object in each line
    Jsonl,
    /// InfluxDB line protocol, to a file or a server
    Influx,
    /// A table `kpm` in a SQLite database
    #[cfg(feature = "sqlite")]
    Sqlite,
    /// Apache Parquet
    #[cfg(feature = "parquet")]
    Parquet,
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self.to_possible_value().map(|value| value.get_name().to_owned());
        f.write_str(&name.unwrap_or_default())
    }
}

impl Args {
    /// Checks what one argument alone does not show.
    pub fn check(&self) -> anyhow::Result<()> {
        check_names(&self.measurements)?;
        let is_standard_output = self.output.as_ref().is_none_or(|path| path.as_os_str() == "-");
        let rotates = self.rotate_octets.is_some() || self.rotate_seconds.is_some();
        if self.url.is_some() {
            if self.to != Format::Influx {
                bail!("--url: only --to influx writes to a server");
            }
            if self.database.is_none() && self.bucket.is_none() {
                bail!("--url requires --database (InfluxDB 1) or --org and --bucket (InfluxDB 2)");
            }
        } else if is_standard_output && !self.to.is_text() {
            bail!("--to {} requires --output FILE", self.to);
        }
        if is_standard_output && (rotates || self.append || self.limit_octets.is_some()) {
            bail!("standard output takes neither --append nor rotation nor a size limit; give --output FILE");
        }
        if self.keep.is_some() && !rotates {
            bail!("--keep requires --rotate-octets or --rotate-seconds");
        }
        if self.append && rotates {
            bail!("--append: rotation always begins a new file");
        }
        #[cfg(feature = "parquet")]
        if self.append && self.to == Format::Parquet {
            bail!("--append: a Parquet file cannot be added to; give another file");
        }
        Ok(())
    }

    /// The request for the records.
    pub fn request(&self, ric: &Ric) -> Result<KpmRequest, Error> {
        let mut request = ric.kpm(&self.measurements);
        if let Some(ue) = &self.ue {
            request = request.ue(ue.as_str());
        }
        if let Some(cell) = &self.cell {
            request = request.cell(cell.as_str());
        }
        if let Some(slice) = &self.slice {
            request = request.slice(slice.as_str());
        }
        if self.whole_node {
            request = request.whole_node();
        }
        if let Some(node) = &self.node {
            request = request.node(ric.node(node)?.name());
        }
        Ok(request)
    }
}

/// Checks that the names can be columns.
fn check_names(names: &[String]) -> anyhow::Result<()> {
    if names.len() > MAX_MEASUREMENTS {
        bail!("--measurements: {} names, at most {MAX_MEASUREMENTS}", names.len());
    }
    let mut known = BTreeSet::new();
    for name in names {
        let is_name = (1..=MAX_NAME_OCTETS).contains(&name.len()) && name.bytes().all(|octet| octet.is_ascii_graphic());
        if !is_name {
            bail!(
                "--measurements: `{}` is not the name of a measurement: 1 to {MAX_NAME_OCTETS} printable ASCII characters \
                 without spaces, such as DRB.UEThpDl",
                program::escaped(name)
            );
        }
        if SUBJECT_COLUMNS.iter().any(|column| name.eq_ignore_ascii_case(column)) {
            bail!("--measurements: `{name}` is the name of another column");
        }
        // SQLite's columns differ by more than case
        if !known.insert(name.to_ascii_lowercase()) {
            bail!("--measurements: `{name}` is there twice");
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(more: &[&str]) -> anyhow::Result<Args> {
        let words = ["ferric-export", "--measurements", "DRB.UEThpDl,CQI", "--to"];
        let args = Args::try_parse_from(words.iter().chain(more))?;
        args.check()?;
        Ok(args)
    }

    #[test]
    fn arguments_that_contradict_each_other_are_refused_with_a_reason() {
        let refused: &[(&[&str], &str)] = &[
            (&["xml"], "invalid value 'xml'"),
            (&["csv", "--ue", "amf:1", "--cell", "003804001"], "cannot be used with"),
            (&["csv", "--period-ms", "0"], "invalid value '0'"),
            (&["csv", "--rotate-octets", "1M"], "--output"),
            (&["csv", "-o", "-", "--rotate-octets", "1M"], "standard output takes neither"),
            (&["csv", "-o", "a.csv", "--rotate-octets", "12"], "below 4K"),
            (&["csv", "-o", "a.csv", "--limit-octets", "1T"], "K, M or G"),
            (&["csv", "-o", "a.csv", "--keep", "3"], "--keep requires"),
            (&["csv", "-o", "a.csv", "--append", "--rotate-seconds", "3"], "always begins a new file"),
            (&["csv", "--url", "http://localhost:1", "--database", "x"], "only --to influx"),
            (&["influx", "--url", "http://localhost:1"], "requires --database"),
            (&["influx", "--url", "http://localhost:1", "--bucket", "b"], "--org"),
            (&["influx", "--database", "b"], "--url"),
            (&["influx", "--url", "http://localhost:1", "--database", "x", "-o", "y"], "cannot be used with"),
            #[cfg(feature = "sqlite")]
            (&["sqlite"], "requires --output FILE"),
            #[cfg(feature = "parquet")]
            (&["parquet", "-o", "x", "--append"], "cannot be added to"),
            (&["csv", "-m", "CQI"], "twice"),
            (&["csv", "-m", "Node"], "another column"),
            (&["csv", "-m", "a b"], "not the name of a measurement"),
            (&["csv", "-m", ""], "not the name of a measurement"),
        ];
        for (words, reason) in refused {
            let Err(error) = parse(words) else { panic!("{words:?} is accepted") };
            assert!(error.to_string().contains(reason), "{words:?}: {error}");
        }
        assert!(parse(&["csv"]).is_ok());
        assert!(parse(&["influx", "--url", "http://localhost:1", "--org", "o", "--bucket", "b"]).is_ok());
    }
}
