//! Descriptors of xApps: `config-file.json` of the reference platform, and what it says of messages and policies.

use std::sync::LazyLock;

use serde_json::{Value, json};

use crate::json_schema::Schema;

/// Octets of a descriptor, as JSON without white space.
pub const MAX_DESCRIPTOR_OCTETS: usize = 64 << 10;
/// Message types, and policies, of an xApp.
const MAX_MESSAGES: usize = 64;

/// What descriptors have in common; the controls have a schema of their xApp.
static DESCRIPTOR: LazyLock<Result<Schema, String>> = LazyLock::new(|| {
    let messages = json!({ "type": "array", "maxItems": MAX_MESSAGES, "items": { "type": ["string", "integer"] } });
    let port = json!({ "type": "integer", "minimum": 1, "maximum": 65535 });
    let of_messages = json!({ "txMessages": messages, "rxMessages": messages, "policies": messages });
    let mut port_properties = of_messages.clone();
    port_properties["name"] = json!({ "type": "string" });
    port_properties["port"] = port;
    Schema::new(&json!({
        "type": "object",
        "anyOf": [{ "required": ["xapp_name"] }, { "required": ["name"] }],
        "required": ["version"],
        "properties": {
            "xapp_name": { "type": "string", "pattern": "^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$" },
            "name": { "type": "string", "minLength": 1, "maxLength": 255 },
            "version": { "type": "string", "minLength": 1, "maxLength": 64 },
            "messaging": {
                "type": "object",
                "required": ["ports"],
                "properties": {
                    "ports": {
                        "type": "array",
                        "maxItems": 64,
                        "items": { "type": "object", "required": ["name", "port"], "properties": port_properties },
                    },
                },
            },
            "rmr": { "type": "object", "properties": of_messages },
            "controls": { "type": "object" },
        },
    }))
});

/// Whether a text is the name of an xApp, and so one of files.
pub(super) fn is_name(text: &str) -> bool {
    let is_first = |octet: &u8| octet.is_ascii_alphanumeric();
    let is_rest = |octet: u8| octet.is_ascii_alphanumeric() || matches!(octet, b'.' | b'_' | b'-');
    (1..=63).contains(&text.len()) && text.as_bytes().first().is_some_and(is_first) && text.bytes().all(is_rest)
}

/// The messages and policies of an xApp.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Messages {
    /// Names or numbers of types that it sends.
    pub tx: Vec<String>,
    /// Names or numbers of types that it receives.
    pub rx: Vec<String>,
    /// Policy types.
    pub policies: Vec<i32>,
}

impl Messages {
    /// Reads them of a configuration: of `rmr` if it is there, else of the ports of `messaging`, as the platform does.
    pub fn of(config: &Value) -> Self {
        let mut messages = Messages::default();
        let mut add = |part: &Value| {
            let texts = |key: &str| {
                let values = part[key].as_array().into_iter().flatten();
                let texts = values.filter_map(|value| match value {
                    Value::String(text) => Some(text.trim().to_owned()),
                    Value::Number(number) => Some(number.to_string()),
                    _ => None,
                });
                texts.take(MAX_MESSAGES).collect::<Vec<_>>()
            };
            messages.tx.extend(texts("txMessages"));
            messages.rx.extend(texts("rxMessages"));
            let policies = texts("policies").into_iter().filter_map(|text| text.parse::<i32>().ok());
            messages.policies.extend(policies.filter(|policy| *policy > 0));
        };
        match config.get("rmr") {
            Some(rmr) => add(rmr),
            None => config["messaging"]["ports"].as_array().into_iter().flatten().take(64).for_each(add),
        }
        messages.tx.truncate(MAX_MESSAGES);
        messages.rx.truncate(MAX_MESSAGES);
        messages.policies.truncate(MAX_MESSAGES);
        messages
    }
}

/// A descriptor that was checked.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Descriptor {
    /// The name of the xApp.
    pub name: String,
    pub version: String,
    pub messages: Messages,
    /// The port for RMR.
    pub rmr_port: Option<u16>,
    /// The port for HTTP.
    pub http_port: Option<u16>,
    /// The whole document.
    pub config: Value,
}

/// Members of a document, and what is wrong with each.
pub(super) type Mistakes = Vec<(String, String)>;

impl Descriptor {
    /// Checks a descriptor, its controls by the schema of the xApp.
    pub fn check(config: Value, controls: Option<&Schema>) -> Result<Self, Mistakes> {
        let at_top = |why: String| vec![("/".to_owned(), why)];
        if config.to_string().len() > MAX_DESCRIPTOR_OCTETS {
            return Err(at_top(format!("it has more than {MAX_DESCRIPTOR_OCTETS} octets")));
        }
        let schema = DESCRIPTOR.as_ref().map_err(|why| at_top(why.clone()))?;
        let mut mistakes = schema.mistakes(&config);
        if let Some(schema) = controls {
            let of_controls = schema.mistakes(config.get("controls").unwrap_or(&Value::Null)).into_iter();
            mistakes.extend(of_controls.map(|(at, why)| (format!("/controls{}", at.trim_end_matches('/')), why)));
        }
        if !mistakes.is_empty() {
            return Err(mistakes);
        }
        let text = |key: &str| config[key].as_str().map(str::to_owned);
        let name = text("xapp_name").or_else(|| text("name")).filter(|name| is_name(name));
        let name = name.ok_or_else(|| vec![("/name".to_owned(), "it is not a name of an xApp".to_owned())])?;
        let ports = config["messaging"]["ports"].as_array().map_or(&[][..], Vec::as_slice);
        let port = |is: &dyn Fn(&str) -> bool| {
            let of_name = ports.iter().find(|port| port["name"].as_str().is_some_and(is));
            of_name.and_then(|port| u16::try_from(port["port"].as_u64()?).ok())
        };
        let rmr_port = port(&|name| matches!(name, "rmr-data" | "rmr_data" | "rmr"));
        let http_port = port(&|name| name == "http");
        let (version, messages) = (text("version").unwrap_or_default(), Messages::of(&config));
        Ok(Descriptor { name, version, messages, rmr_port, http_port, config })
    }
}

/// Mistakes in one line.
pub(super) fn described(mistakes: &Mistakes) -> String {
    mistakes.iter().map(|(at, why)| format!("{at}: {why}")).collect::<Vec<_>>().join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn descriptor() -> Value {
        json!({
            "xapp_name": "hw-python",
            "version": "1.0.0",
            "messaging": { "ports": [
                { "name": "http", "container": "hw", "port": 8080 },
                {
                    "name": "rmr-data", "container": "hw", "port": 4560,
                    "txMessages": ["RIC_SUB_REQ"], "rxMessages": ["RIC_SUB_RESP", 30000], "policies": [1, "2", 0, "x"],
                },
            ] },
            "controls": { "threshold": 3 },
        })
    }

    #[test]
    fn messages_and_ports_are_read() {
        let checked = Descriptor::check(descriptor(), None).unwrap();
        assert_eq!((checked.name.as_str(), checked.rmr_port, checked.http_port), ("hw-python", Some(4560), Some(8080)));
        let Messages { tx, rx, policies } = checked.messages;
        assert_eq!(
            (tx, rx, policies),
            (vec!["RIC_SUB_REQ".to_owned()], vec!["RIC_SUB_RESP".to_owned(), "30000".to_owned()], vec![1, 2])
        );
        let of_rmr =
            Messages::of(&json!({ "rmr": { "policies": [7] }, "messaging": { "ports": [{ "policies": [8] }] } }));
        assert_eq!(of_rmr.policies, [7], "as the platform does");
    }

    #[test]
    fn mistakes_name_the_member() {
        let mistakes = |change: &dyn Fn(&mut Value), schema: Option<&Schema>| {
            let mut config = descriptor();
            change(&mut config);
            described(&Descriptor::check(config, schema).unwrap_err())
        };
        let of = |change: &dyn Fn(&mut Value)| mistakes(change, None);
        assert!(of(&|config| config["xapp_name"] = json!("../x")).contains("/xapp_name: "));
        assert!(of(&|config| drop(config.as_object_mut().unwrap().remove("version"))).contains("version"));
        assert!(
            of(&|config| config["messaging"]["ports"][1]["port"] = json!(70000)).contains("/messaging/ports/1/port: ")
        );
        assert!(of(&|config| config["controls"] = json!([])).contains("/controls: "));
        assert!(of(&|config| config["x"] = json!("x".repeat(70_000))).contains("65536 octets"));
        assert!(of(&|config| *config = json!([])).contains("/: "));
        let schema = json!({ "$id": "#/controls", "type": "object", "required": ["threshold"],
            "properties": { "threshold": { "$id": "#/controls/threshold", "type": "integer", "maximum": 5 } } });
        let schema = Schema::new(&schema).unwrap();
        Descriptor::check(descriptor(), Some(&schema)).unwrap();
        let of_controls = mistakes(&|config| config["controls"]["threshold"] = json!(6), Some(&schema));
        assert!(of_controls.contains("/controls/threshold: 6 is greater"), "{of_controls}");
        let without = mistakes(&|config| drop(config.as_object_mut().unwrap().remove("controls")), Some(&schema));
        assert!(without.contains("/controls: "), "{without}");
    }
}
