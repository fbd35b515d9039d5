//! `[traces]`.

use std::path::PathBuf;

use settings::reference::names;
use settings::{Table, TableKeys};

use super::super::reference::TRACES_KEYS;
use super::{ConfigError, integer, set};
use crate::TraceConfig;

pub(super) const TRACES: TableKeys = TableKeys { name: "[traces]", keys: &names(&TRACES_KEYS) };

pub(super) fn config(file: &Table<'_>) -> Result<Option<TraceConfig>, ConfigError> {
    let Some(table) = file.table("traces", &TRACES)? else { return Ok(None) };
    const URL: &str = "the URL of a collector";
    let url = table.text("url", URL)?.ok_or_else(|| table.missing("url", URL))?;
    if !url.starts_with("http://") && !url.starts_with("https://") {
        return Err(table.invalid("url", format!("`{url}` is not http://HOST:PORT or https://HOST:PORT")));
    }
    let mut config = TraceConfig::new(url);
    set(&mut config.one_in, integer(&table, &TRACES_KEYS, "one_in")?);
    config.ca = table.text("ca", "a file")?.map(PathBuf::from);
    config.token = table.text("token", "a file")?.map(PathBuf::from);
    Ok(Some(config))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::RicConfig;

    #[test]
    fn collector_and_sampling_are_read() {
        let read = |text: &str| RicConfig::from_toml(&format!("[traces]\n{text}")).map(|config| config.traces);
        let config = read("url = \"http://127.0.0.1:4318\"").unwrap().unwrap();
        assert_eq!(config, TraceConfig::new("http://127.0.0.1:4318"));
        let config = read("url = \"https://c:4318\"\none_in = 10\nca = \"ca.pem\"\ntoken = \"t\"").unwrap().unwrap();
        assert_eq!((config.one_in, config.ca, config.token), (10, Some("ca.pem".into()), Some("t".into())));
        for (text, reason) in [
            ("", "url"),
            ("url = \"127.0.0.1:4318\"", "is not http://HOST:PORT"),
            ("url = \"http://c:1\"\none_in = 0", "one_in"),
            ("url = \"http://c:1\"\nsample = 1", "unknown key `sample`"),
        ] {
            let error = read(text).unwrap_err().to_string();
            assert!(error.contains(reason), "{text}: {error}");
        }
    }
}
