//! `[non_rt_ric]`.

use std::path::PathBuf;

use settings::reference::names;
use settings::{Table, TableKeys};

use super::super::reference::NON_RT_RIC_KEYS;
use super::ConfigError;
use crate::NonRtRic;

pub(super) const NON_RT_RIC: TableKeys = TableKeys { name: "[non_rt_ric]", keys: &names(&NON_RT_RIC_KEYS) };

pub(super) fn config(file: &Table<'_>) -> Result<Option<NonRtRic>, ConfigError> {
    let Some(table) = file.table("non_rt_ric", &NON_RT_RIC)? else { return Ok(None) };
    const URL: &str = "the URL of the non-RT RIC";
    let url = |key| {
        let text = table.text(key, URL)?;
        text.map(|text| NonRtRic::url(text).map_err(|reason| table.invalid(key, reason))).transpose()
    };
    let mut config = NonRtRic::new(&url("url")?.ok_or_else(|| table.missing("url", URL))?);
    config.callback = url("callback")?;
    config.ca = table.text("ca", "a file")?.map(PathBuf::from);
    config.token = table.text("token", "a file")?.map(PathBuf::from);
    Ok(Some(config))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::RicConfig;

    #[test]
    fn non_rt_ric_is_read() {
        let read = |text: &str| RicConfig::from_toml(&format!("[non_rt_ric]\n{text}")).map(|config| config.non_rt_ric);
        let least = read("url = \"http://127.0.0.1:8083\"").unwrap().unwrap();
        assert_eq!(least, NonRtRic::new("http://127.0.0.1:8083"));
        let text = "url = \"https://ics\"\ncallback = \"https://ric:8080\"\nca = \"ca.pem\"\ntoken = \"t\"";
        let config = read(text).unwrap().unwrap();
        assert_eq!((config.ca, config.token), (Some("ca.pem".into()), Some("t".into())));
        assert_eq!((&*config.url, config.callback.as_deref()), ("https://ics", Some("https://ric:8080")));
        assert_eq!(RicConfig::from_toml("").unwrap().non_rt_ric, None);
        for (text, reason) in [
            ("", "missing key `url`"),
            ("url = \"127.0.0.1:8083\"", "is not http://HOST:PORT"),
            ("url = \"http://\"", "is not http://HOST:PORT"),
            ("url = \"http://a b\"", "is not http://HOST:PORT"),
            ("url = \"http://a\"\ncallback = \"b\"", "callback"),
            ("url = \"http://a\"\ncall_back = \"http://b\"", "did you mean `callback`?"),
        ] {
            let error = read(text).unwrap_err().to_string();
            assert!(error.contains(reason), "{text}: {error}");
        }
    }
}
