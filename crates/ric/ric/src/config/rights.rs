//! `[[node_rights]]`, `[[xapp_rights]]` and `[e42_rights]`.

use std::sync::Arc;

use ferric::e2::{FunctionName, Grant, Selection, XappRights};
use ferric::e2ap::RanFunctionId;
use ferric::server::{NodeEntry, Rights, XappEntry};
use serde::Deserialize;

use super::ConfigError;

pub(super) const NODE_RIGHTS_KEYS: &[&str] = &["certificate", "nodes"];
pub(super) const XAPP_RIGHTS_KEYS: &[&str] = &["certificate", "read", "control"];
pub(super) const E42_RIGHTS_KEYS: &[&str] = &["read", "control"];
pub(super) const GRANT_KEYS: &[&str] = &["nodes", "functions"];

#[derive(Deserialize)]
pub(super) struct FileNodeRights {
    certificate: String,
    nodes: Vec<String>,
}

#[derive(Deserialize)]
pub(super) struct FileXappRights {
    certificate: String,
    #[serde(default)]
    read: Vec<FileGrant>,
    #[serde(default)]
    control: Vec<FileGrant>,
}

#[derive(Deserialize)]
struct FileGrant {
    nodes: Vec<String>,
    functions: Vec<FileFunction>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum FileFunction {
    Id(i64),
    Name(String),
}

/// `[e42_rights]`: what FlexRIC's xApps may do that show no certificate.
#[derive(Deserialize)]
pub(super) struct FileE42Rights {
    #[serde(default)]
    read: Vec<FileGrant>,
    #[serde(default)]
    control: Vec<FileGrant>,
}

impl FileE42Rights {
    pub(super) fn rights(self) -> Result<XappRights, ConfigError> {
        Ok(XappRights { read: grants(self.read)?, control: grants(self.control)? })
    }
}

fn grants(grants: Vec<FileGrant>) -> Result<Vec<Grant>, ConfigError> {
    grants.into_iter().map(grant).collect()
}

/// What the entries of a file come to. No entry of a kind: no rights to keep to.
pub(super) fn rights(
    nodes: Option<Vec<FileNodeRights>>,
    xapps: Option<Vec<FileXappRights>>,
) -> Result<Rights, ConfigError> {
    let node = |entry: FileNodeRights| {
        let certificate = certificate("node_rights", entry.certificate)?;
        Ok(NodeEntry { certificate, node_ids: names(entry.nodes) })
    };
    let xapp = |entry: FileXappRights| {
        let certificate = certificate("xapp_rights", entry.certificate)?;
        let rights = XappRights { read: grants(entry.read)?, control: grants(entry.control)? };
        Ok(XappEntry { certificate, rights: Arc::new(rights) })
    };
    Ok(Rights {
        nodes: nodes.map(|entries| entries.into_iter().map(node).collect()).transpose()?,
        xapps: xapps.map(|entries| entries.into_iter().map(xapp).collect()).transpose()?,
    })
}

fn certificate(key: &'static str, name: String) -> Result<String, ConfigError> {
    if name.is_empty() {
        return Err(ConfigError::BadValue { key, why: "`certificate` names nobody".into() });
    }
    if name.starts_with("sha256:") {
        let parsed = name.parse::<ferric::link::Fingerprint>();
        parsed.map_err(|error| ConfigError::BadValue { key, why: format!("`{name}`: {error}") })?;
    }
    Ok(name)
}

fn names(names: Vec<String>) -> Selection<String> {
    if names.iter().any(|name| name == "*") { Selection::All } else { names.into_iter().collect() }
}

fn grant(grant: FileGrant) -> Result<Grant, ConfigError> {
    let mut functions = Vec::new();
    let mut is_all = false;
    for function in grant.functions {
        match function {
            FileFunction::Name(name) if name == "*" => is_all = true,
            FileFunction::Name(name) if is_oid(&name) => functions.push(FunctionName::Oid(name)),
            FileFunction::Name(name) => {
                let why = format!("`{name}` is no function: give an OID, an id without quotes, or \"*\"");
                return Err(ConfigError::BadValue { key: "xapp_rights", why });
            }
            FileFunction::Id(id) => match u16::try_from(id) {
                Ok(id) if id < 4096 => functions.push(FunctionName::Id(RanFunctionId(id))),
                _ => {
                    let why = format!("RAN function {id} is not between 0 and 4095");
                    return Err(ConfigError::BadValue { key: "xapp_rights", why });
                }
            },
        }
    }
    let functions = if is_all { Selection::All } else { functions.into_iter().collect() };
    Ok(Grant { nodes: names(grant.nodes), functions })
}

fn is_oid(text: &str) -> bool {
    text.contains('.') && text.split('.').all(|arc| !arc.is_empty() && arc.bytes().all(|b| b.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::RicConfig;

    #[test]
    fn rights_of_nodes_and_xapps() {
        let config = RicConfig::from_toml(
            r#"
            [tls]
            ca = "ca.pem"
            certificate = "ric.pem"
            key = "ric.key"
            [[node_rights]]
            certificate = "gnb1.example"
            nodes = ["gnb-00101-e00"]
            [[node_rights]]
            certificate = "any.example"
            nodes = ["*"]
            [[xapp_rights]]
            certificate = "kpm.example"
            read = [{ nodes = ["*"], functions = ["1.3.6.1.4.1.53148.1.2.2.2", 3] }]
            [[xapp_rights]]
            certificate = "all.example"
            read = [{ nodes = ["*"], functions = ["*"] }]
            control = [{ nodes = ["gnb-00101-e00"], functions = ["*"] }]
            [e42_rights]
            read = [{ nodes = ["gnb-00101-e00"], functions = [7] }]
            "#,
        )
        .unwrap();
        assert_eq!(config.tls.unwrap().key.to_str(), Some("ric.key"));
        let nodes = config.server.rights.nodes.unwrap();
        assert_eq!(nodes[0].node_ids, ["gnb-00101-e00".to_owned()].into_iter().collect());
        assert_eq!((nodes[1].certificate.as_str(), &nodes[1].node_ids), ("any.example", &Selection::All));
        let xapps = config.server.rights.xapps.unwrap();
        let functions = [FunctionName::Oid("1.3.6.1.4.1.53148.1.2.2.2".into()), FunctionName::Id(RanFunctionId(3))];
        assert_eq!(xapps[0].rights.read, [Grant { nodes: Selection::All, functions: functions.into_iter().collect() }]);
        assert!(xapps[0].rights.control.is_empty());
        assert_eq!(xapps[1].rights.control[0].functions, Selection::All);
        let e42 = config.server.e42.unwrap();
        assert!(e42.addresses.is_empty());
        assert_eq!(e42.without_certificate.unwrap().read.len(), 1);
        // Without entries there is nothing to keep to; with none but of nodes, nothing for xApps.
        assert_eq!(RicConfig::from_toml("").unwrap().server.rights, Rights::default());
        let only = RicConfig::from_toml("[[node_rights]]\ncertificate = \"a\"\nnodes = []").unwrap().server.rights;
        assert!(only.nodes.is_some() && only.xapps.is_none());
    }

    #[test]
    fn mistakes() {
        let says = |text: &str| RicConfig::from_toml(text).unwrap_err().to_string();
        let xapp = |grant: &str| says(&format!("[[xapp_rights]]\ncertificate = \"a\"\nread = [{grant}]"));
        assert!(xapp("{ nodes = [], functions = [\"kpm\"] }").contains("`kpm` is no function"));
        assert!(xapp("{ nodes = [], functions = [4096] }").contains("4096 is not between 0 and 4095"));
        assert!(xapp("{ nodes = [], functions = [-1] }").contains("-1 is not between"));
        assert!(xapp("{ nodes = [] }").contains("functions"));
        assert_eq!(xapp("{ node = [], functions = [] }"), "unknown key `node`; did you mean `nodes`?");
        let e42 = |grant: &str| says(&format!("[e42_rights]\nread = [{grant}]"));
        assert!(e42("{ nodes = [], functions = [\"kpm\"] }").contains("`kpm` is no function"));
        assert_eq!(e42("{ node = [], functions = [] }"), "unknown key `node`; did you mean `nodes`?");
        assert_eq!(says("[e42_rights]\nreads = []"), "unknown key `reads`; did you mean `read`?");
        assert_eq!(says("[[xapp_right]]"), "unknown key `xapp_right`; did you mean `xapp_rights`?");
        assert_eq!(says("[[node_rights]]\nnode = []"), "unknown key `node`; did you mean `nodes`?");
        assert!(says("[[node_rights]]\ncertificate = \"\"\nnodes = []").contains("names nobody"));
        let message = says("[[node_rights]]\ncertificate = \"sha256:12\"\nnodes = []");
        assert!(message.contains("64 hexadecimal digits"), "{message}");
        assert_eq!(says("[tls]\ncertficate = \"x\""), "unknown key `certficate`; did you mean `certificate`?");
        assert!(says("[tls]\nca = \"x\"").contains("certificate"));
    }
}
