//! `[[node_rights]]`, `[[xapp_rights]]` and `[e42_rights]`.
//!
//! As soon as there is an `[[xapp_rights]]`, of a certificate or over RMR, an xApp that none of them names may do nothing.

use std::sync::Arc;

use ferric::e2::content::ParameterPattern;
use ferric::e2::{FunctionName, Grant, GrantLimits, Selection, XappRights};
use ferric::e2ap::RanFunctionId;
use ferric::server::{NodeEntry, Rights, XappEntry};
use ids::PlmnIdentity;
use settings::reference::names;
use settings::{Element, Table, TableKeys};

use super::super::reference::{E42_RIGHTS_KEYS, GRANT_KEYS, NODE_RIGHTS_KEYS, XAPP_RIGHTS_KEYS};
use super::{ConfigError, MAX_ENTRIES};

const NODE_RIGHTS: TableKeys = TableKeys { name: "[[node_rights]]", keys: &names(&NODE_RIGHTS_KEYS) };
const XAPP_RIGHTS: TableKeys = TableKeys { name: "[[xapp_rights]]", keys: &names(&XAPP_RIGHTS_KEYS) };
const E42_RIGHTS: TableKeys = TableKeys { name: "[e42_rights]", keys: &names(&E42_RIGHTS_KEYS) };
const GRANT: TableKeys = TableKeys { name: "a grant", keys: &names(&GRANT_KEYS) };

/// The most parameters, UEs, networks and slices of a grant.
const MAX_LIMITS: usize = 256;

/// The highest RAN function id.
const MAX_FUNCTION_ID: u16 = 4095;

/// Reads `[[node_rights]]` and `[[xapp_rights]]`. Without entries of a kind, there are no restrictions of that kind.
pub(super) fn rights(file: &Table<'_>) -> Result<Rights, ConfigError> {
    let mut rights = Rights::default();
    for table in file.tables("node_rights", &NODE_RIGHTS, MAX_ENTRIES)? {
        let entry = NodeEntry { certificate: certificate(&table)?, node_ids: nodes(&table)? };
        rights.nodes.get_or_insert_default().push(entry);
    }
    for table in file.tables("xapp_rights", &XAPP_RIGHTS, MAX_ENTRIES)? {
        let entries = rights.xapps.get_or_insert_default();
        if !is_over_rmr_only(&table)? {
            entries.push(XappEntry { certificate: certificate(&table)?, rights: Arc::new(xapp_rights(&table)?) });
        }
    }
    Ok(rights)
}

/// Whether an `[[xapp_rights]]` is of xApps over RMR only.
fn is_over_rmr_only(table: &Table<'_>) -> Result<bool, ConfigError> {
    let is_over_rmr = table.contains("rmr");
    if is_over_rmr && !cfg!(feature = "oran") {
        return Err(table.invalid("rmr", "this program was built without the feature `oran`"));
    }
    Ok(is_over_rmr && !table.contains("certificate"))
}

/// Reads the `[[xapp_rights]]` of xApps over RMR; `None` if there is none of any xApp.
#[cfg(feature = "oran")]
pub(super) fn rmr_rights(file: &Table<'_>) -> Result<Option<Vec<oran::messaging::RmrEntry>>, ConfigError> {
    let mut entries = None;
    for table in file.tables("xapp_rights", &XAPP_RIGHTS, MAX_ENTRIES)? {
        let entries: &mut Vec<_> = entries.get_or_insert_default();
        if let Some(text) = table.text("rmr", "the name or address of an xApp")? {
            let peer = text.parse().map_err(|reason: String| table.invalid("rmr", reason))?;
            entries.push(oran::messaging::RmrEntry { peer, rights: Arc::new(xapp_rights(&table)?) });
        }
    }
    Ok(entries)
}

/// Reads `[e42_rights]`.
pub(super) fn e42_rights(file: &Table<'_>) -> Result<Option<XappRights>, ConfigError> {
    file.table("e42_rights", &E42_RIGHTS)?.map(|table| xapp_rights(&table)).transpose()
}

fn xapp_rights(table: &Table<'_>) -> Result<XappRights, ConfigError> {
    let grants = |key| -> Result<Vec<Grant>, ConfigError> {
        table.tables(key, &GRANT, MAX_ENTRIES)?.iter().map(|table| grant(table, key)).collect()
    };
    Ok(XappRights { read: grants("read")?, control: grants("control")? })
}

fn certificate(table: &Table<'_>) -> Result<String, ConfigError> {
    let expected = "a name in the certificate, or `sha256:` and its fingerprint";
    let missing = || table.missing("certificate", expected);
    let name = table.text("certificate", expected)?.ok_or_else(missing)?;
    if name.is_empty() {
        return Err(table.invalid("certificate", "the name is empty"));
    }
    if name.starts_with("sha256:") {
        let parsed = name.parse::<ferric::link::Fingerprint>();
        parsed.map_err(|error| table.invalid("certificate", format!("`{name}`: {error}")))?;
    }
    Ok(name.to_owned())
}

fn nodes(table: &Table<'_>) -> Result<Selection<String>, ConfigError> {
    let expected = "node ids, or \"*\"";
    let names = table.texts("nodes", MAX_ENTRIES, expected)?.ok_or_else(|| table.missing("nodes", expected))?;
    let is_all = names.contains(&"*");
    Ok(if is_all { Selection::All } else { names.into_iter().map(str::to_owned).collect() })
}

fn grant(table: &Table<'_>, right: &str) -> Result<Grant, ConfigError> {
    let expected = "OIDs, ids without quotes, or \"*\"";
    let elements = table.elements("functions", MAX_ENTRIES, expected)?;
    let mut functions = Vec::new();
    let mut is_all = false;
    for (index, element) in elements.ok_or_else(|| table.missing("functions", expected))?.into_iter().enumerate() {
        match element {
            Element::Text("*") => is_all = true,
            Element::Text(oid) if is_oid(oid) => functions.push(FunctionName::Oid(oid.to_owned())),
            Element::Text(name) => {
                let reason = format!("`{name}` is not a function: give an OID, an id without quotes, or \"*\"");
                return Err(table.invalid_element("functions", index, reason));
            }
            Element::Integer(id) => functions.push(FunctionName::Id(function_id(table, "functions", index, id)?)),
        }
    }
    let functions = if is_all { Selection::All } else { functions.into_iter().collect() };
    let mut grant = Grant::new(nodes(table)?, functions);
    grant.limits = limits(table)?;
    if right == "read" && grant.limits.parameters.is_some() {
        return Err(table.invalid("parameters", "is of controls: grants of `read` have no parameters"));
    }
    Ok(grant)
}

/// Reads what of the functions is granted.
fn limits(table: &Table<'_>) -> Result<GrantLimits, ConfigError> {
    let parameters = table.parsed_texts::<ParameterPattern>("parameters", MAX_LIMITS, "paths such as \"rc/3/1\"")?;
    for (index, parameter) in parameters.iter().flatten().enumerate() {
        let path = parameter.to_string();
        let parts = path.split('/').count();
        let reason = match path.split('/').next() {
            Some("rc" | "*") if parts > 3 => "rights go by style and action, such as rc/3/1, not by RAN parameters",
            Some("ccc") if parts > 2 => "rights go by structure, such as ccc/O-RRMPolicyRatio, not by attributes",
            _ => continue,
        };
        return Err(table.invalid_element("parameters", index, format!("`{path}`: {reason}")));
    }
    let plmns = table.parsed_texts::<PlmnIdentity>("plmns", MAX_LIMITS, "PLMNs such as \"00101\"")?;
    Ok(GrantLimits {
        parameters,
        ues: table.parsed_texts("ues", MAX_LIMITS, "UEs such as \"amf:17\"")?,
        plmns: plmns.map(|plmns| plmns.into_iter().collect()),
        slices: table.parsed_texts("slices", MAX_LIMITS, "S-NSSAIs such as \"1\" or \"1-00000a\"")?,
    })
}

/// Reads the RAN functions that xApps see over E42.
pub(super) fn e42_functions(file: &Table<'_>) -> Result<Option<Selection<RanFunctionId>>, ConfigError> {
    const KEY: &str = "e42_functions";
    let Some(elements) = file.elements(KEY, MAX_ENTRIES, "ids, or \"*\"")? else { return Ok(None) };
    if elements.is_empty() {
        return Err(file.invalid(KEY, "is empty, so that xApps would see no node: give ids, or \"*\" for all"));
    }
    if let [Element::Text("*")] = elements[..] {
        return Ok(Some(Selection::All));
    }
    let id = |(index, element): (usize, Element<'_>)| match element {
        Element::Integer(id) => function_id(file, KEY, index, id),
        Element::Text(text) => {
            let reason = format!("`{text}` is not a function: give ids without quotes, or \"*\" alone for all");
            Err(file.invalid_element(KEY, index, reason))
        }
    };
    elements.into_iter().enumerate().map(id).collect::<Result<_, _>>().map(Some)
}

fn function_id(table: &Table<'_>, key: &'static str, index: usize, id: i64) -> Result<RanFunctionId, ConfigError> {
    let valid = u16::try_from(id).ok().filter(|id| *id <= MAX_FUNCTION_ID);
    let reason = || format!("{id} is out of range 0 to {MAX_FUNCTION_ID}");
    valid.map(RanFunctionId).ok_or_else(|| table.invalid_element(key, index, reason()))
}

fn is_oid(text: &str) -> bool {
    text.contains('.') && text.split('.').all(|arc| !arc.is_empty() && arc.bytes().all(|b| b.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::RicConfig;

    #[test]
    fn rights_of_nodes_and_xapps_are_read() {
        let config = RicConfig::from_toml(
            r#"
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
        let nodes = config.server.rights.nodes.unwrap();
        assert_eq!(nodes[0].node_ids, ["gnb-00101-e00".to_owned()].into_iter().collect());
        assert_eq!((nodes[1].certificate.as_str(), &nodes[1].node_ids), ("any.example", &Selection::All));
        let xapps = config.server.rights.xapps.unwrap();
        let functions = [FunctionName::Oid("1.3.6.1.4.1.53148.1.2.2.2".into()), FunctionName::Id(RanFunctionId(3))];
        assert_eq!(xapps[0].rights.read, [Grant::new(Selection::All, functions.into_iter().collect())]);
        assert!(xapps[0].rights.control.is_empty());
        assert_eq!(xapps[1].rights.control[0].functions, Selection::All);
        let e42 = config.server.e42.unwrap();
        assert!(e42.addresses.is_empty());
        assert_eq!(e42.without_certificate.unwrap().read.len(), 1);
        // without entries of a kind, there are no restrictions of that kind
        assert_eq!(RicConfig::from_toml("").unwrap().server.rights, Rights::default());
        let only = RicConfig::from_toml("[[node_rights]]\ncertificate = \"a\"\nnodes = []").unwrap().server.rights;
        assert!(only.nodes.is_some() && only.xapps.is_none());
    }

    #[cfg(feature = "oran")]
    #[test]
    fn rights_of_xapps_over_rmr_are_read() {
        let read = |text: &str| RicConfig::from_toml(text);
        assert_eq!(read("").unwrap().oran.rights, None);
        let table = |peer: &str| {
            format!("[[xapp_rights]]\nrmr = \"{peer}\"\nread = [{{ nodes = [\"gnb-00101-e00\"], functions = [2] }}]\n")
        };
        let certificate = "[[xapp_rights]]\ncertificate = \"kpm.example\"\n";
        let config =
            read(&format!("{certificate}{}{}{}", table("kpm"), table("10.0.0.7"), table("[::1]:4560"))).unwrap();
        assert_eq!(config.server.rights.xapps.unwrap().len(), 1, "the others have no certificate");
        let rules = config.oran.rights.unwrap();
        let peers: Vec<_> = rules.iter().map(|rule| rule.peer.clone()).collect();
        assert_eq!(peers, ["kpm", "10.0.0.7", "[::1]:4560"].map(|peer| peer.parse().unwrap()));
        assert_eq!(rules[0].rights.read[0].functions, [FunctionName::Id(RanFunctionId(2))].into_iter().collect());
        // rules of either kind are rules for all xApps: who is in none may do nothing
        assert_eq!(read(certificate).unwrap().oran.rights, Some(Vec::new()));
        assert_eq!(read(&table("kpm")).unwrap().server.rights.xapps, Some(Vec::new()));
        let error = |text: &str| read(text).unwrap_err().to_string();
        assert!(error(&table("kpm:4560")).contains("is not an IP address, an IP address and a port, or the name"));
        let both = read("[[xapp_rights]]\nrmr = \"kpm\"\ncertificate = \"kpm.example\"").unwrap();
        assert_eq!((both.oran.rights.unwrap().len(), both.server.rights.xapps.unwrap().len()), (1, 1));
        assert!(error("[[xapp_rights]]\nread = []").contains("certificate"));
    }

    #[test]
    fn functions_of_e42_are_read() {
        let functions =
            |text: &str| RicConfig::from_toml(text).map(|config| config.server.e42.map(|e42| e42.functions));
        assert_eq!(functions("").unwrap(), None);
        let known = functions("e42_version = \"2\"").unwrap().unwrap();
        assert!([2, 3, 142, 148].iter().all(|id| known.contains(&RanFunctionId(*id))));
        assert!([1, 4, 141, 149].iter().all(|id| !known.contains(&RanFunctionId(*id))));
        let chosen = [RanFunctionId(2), RanFunctionId(149)].into_iter().collect();
        assert_eq!(functions("e42_functions = [2, 149]").unwrap(), Some(chosen));
        assert_eq!(functions("e42_functions = [\"*\"]").unwrap(), Some(Selection::All));
        let error = |text: &str| functions(text).unwrap_err().to_string();
        assert!(error("e42_functions = []").contains("e42_functions: is empty"), "{}", error("e42_functions = []"));
        assert!(error("e42_functions = [2, 4096]").contains("4096 is out of range 0 to 4095"));
        assert!(error("e42_functions = [\"kpm\"]").contains("`kpm` is not a function"));
        assert!(error("e42_functions = [2, \"*\"]").contains("`*` is not a function"));
    }

    #[test]
    fn limits_of_grants_are_read() {
        let xapps = |right: &str, limits: &str| {
            let text = format!(
                "[[xapp_rights]]\ncertificate = \"a\"\n{right} = [{{ nodes = [\"*\"], functions = [\"*\"], {limits} }}]"
            );
            RicConfig::from_toml(&text).map(|config| config.server.rights.xapps.unwrap()[0].rights.clone())
        };
        let limits =
            r#"parameters = ["rc/3/1", "slice"], ues = ["amf:17"], plmns = ["00101"], slices = ["1", "2-00000a"]"#;
        let read = xapps("control", limits).unwrap().control[0].limits.clone();
        let patterns: Vec<_> = read.parameters.unwrap().iter().map(ToString::to_string).collect();
        assert_eq!(patterns, ["rc/3/1", "slice"]);
        assert_eq!(read.ues.unwrap(), ["amf:17".parse().unwrap()]);
        assert_eq!(read.plmns.unwrap(), ["00101".parse().unwrap()].into_iter().collect());
        assert_eq!(read.slices.unwrap(), ["1".parse().unwrap(), "2-00000a".parse().unwrap()]);
        let nothing = xapps("read", "ues = []").unwrap().read[0].limits.clone();
        assert_eq!((nothing.ues, nothing.slices), (Some(Vec::new()), None), "an empty list permits nothing");
        let error = |right: &str, limits: &str| xapps(right, limits).unwrap_err().to_string();
        assert!(error("read", "parameters = [\"rc/3\"]").contains("grants of `read` have no parameters"));
        assert!(error("control", "parameters = [\"rrc/3\"]").contains("a parameter is a path such as rc/2/6"));
        assert!(error("control", "parameters = [\"rc/3/1/5\"]").contains("rights go by style and action"));
        assert!(error("control", "parameters = [\"ccc/O-BWP/x\"]").contains("rights go by structure"));
        assert!(error("control", "ues = [\"imsi:1\"]").contains("not a UE: use amf:N"));
        assert!(error("control", "slices = [\"1-0\"]").contains("an S-NSSAI is SST"));
        assert!(error("control", "plmns = [\"1\"]").contains("plmns"));
        assert!(error("control", "slice = [\"1\"]").contains("unknown key `slice`; did you mean `slices`?"));
    }

    #[test]
    fn mistakes_are_located() {
        let error = |text: &str| RicConfig::from_toml(text).unwrap_err().to_string();
        let xapp = |grant: &str| error(&format!("[[xapp_rights]]\ncertificate = \"a\"\nread = [{grant}]"));
        assert!(xapp("{ nodes = [], functions = [\"kpm\"] }").contains("`kpm` is not a function"));
        assert!(xapp("{ nodes = [], functions = [4096] }").contains("4096 is out of range 0 to 4095"));
        assert!(xapp("{ nodes = [], functions = [-1] }").contains("-1 is out of range"));
        assert!(xapp("{ nodes = [] }").contains("functions"));
        assert!(xapp("{ node = [], functions = [] }").contains("unknown key `node`; did you mean `nodes`?"));
        let e42 = |grant: &str| error(&format!("[e42_rights]\nread = [{grant}]"));
        assert!(e42("{ nodes = [], functions = [\"kpm\"] }").contains("`kpm` is not a function"));
        assert!(e42("{ node = [], functions = [] }").contains("unknown key `node`; did you mean `nodes`?"));
        assert!(error("[e42_rights]\nreads = []").contains("unknown key `reads`; did you mean `read`?"));
        assert!(error("[[xapp_right]]").contains("unknown key `xapp_right`; did you mean `xapp_rights`?"));
        assert!(error("[[node_rights]]\nnode = []").contains("unknown key `node`; did you mean `nodes`?"));
        assert!(error("[[node_rights]]\ncertificate = \"\"\nnodes = []").contains("is empty"));
        let message = error("[[node_rights]]\ncertificate = \"sha256:12\"\nnodes = []");
        assert!(message.contains("64 hexadecimal digits"), "{message}");
        #[cfg(feature = "tls")]
        {
            assert!(
                error("[tls]\ncertficate = \"x\"").contains("unknown key `certficate`; did you mean `certificate`?")
            );
            assert!(error("[tls]\nca = \"x\"").contains("missing key `certificate`"));
        }
    }
}
