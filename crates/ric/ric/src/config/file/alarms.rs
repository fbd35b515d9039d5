//! `[alarms]`.

use std::path::PathBuf;

use settings::reference::names;
use settings::{Table, TableKeys};

use super::super::reference::ALARMS_KEYS;
use super::ConfigError;
use crate::oran_host::{MAX_ALARM_ENDPOINTS, OranConfig};

const ALARMS: TableKeys = TableKeys { name: "[alarms]", keys: &names(&ALARMS_KEYS) };

pub(super) fn read(file: &Table<'_>, config: &mut OranConfig) -> Result<(), ConfigError> {
    let Some(table) = file.table("alarms", &ALARMS)? else { return Ok(()) };
    for endpoint in table.texts("endpoints", MAX_ALARM_ENDPOINTS, "endpoints HOST:PORT")?.unwrap_or_default() {
        let endpoint = OranConfig::alarm_endpoint(endpoint).map_err(|reason| table.invalid("endpoints", reason))?;
        config.alarm_endpoints.push(endpoint);
    }
    let url = table.text("alert_manager", "the URL of an alert manager")?;
    let url = url.map(OranConfig::alert_manager).transpose();
    config.alert_manager = url.map_err(|reason| table.invalid("alert_manager", reason))?;
    for key in ["ca", "token"] {
        let path = table.text(key, "a file")?.map(PathBuf::from);
        match (&mut config.alert_manager, path) {
            (_, None) => {}
            (None, Some(_)) => return Err(table.invalid(key, "it is given without `alert_manager`")),
            (Some(alert_manager), path) if key == "ca" => alert_manager.ca = path,
            (Some(alert_manager), path) => alert_manager.token = path,
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use crate::RicConfig;

    #[test]
    fn targets_of_alarms_are_read() {
        let read = |text: &str| RicConfig::from_toml(&format!("[alarms]\n{text}")).map(|config| config.oran);
        let config =
            read("endpoints = [\"a:1\", \"[::1]:2\"]\nalert_manager = \"https://m:9093\"\nca = \"c\"\ntoken = \"t\"");
        let config = config.unwrap();
        assert_eq!(config.alarm_endpoints, ["a:1", "[::1]:2"]);
        let alert_manager = config.alert_manager.unwrap();
        assert_eq!((alert_manager.ca.unwrap().to_str(), alert_manager.token.unwrap().to_str()), (Some("c"), Some("t")));
        for (text, reason) in [
            ("endpoints = [\"a\"]", "`a` is not HOST:PORT"),
            ("endpoints = [\"a:0\"]", "`a:0` is not HOST:PORT"),
            ("alert_manager = \"m:9093\"", "is not http://HOST:PORT"),
            ("token = \"t\"", "without `alert_manager`"),
            ("targets = []", "unknown key `targets`"),
        ] {
            let error = read(text).unwrap_err().to_string();
            assert!(error.contains(reason), "{text}: {error}");
        }
    }
}
