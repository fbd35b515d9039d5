//! The controllers that a virtual node stems from, so that a controller recognises its own base station over any number of levels.
//!
//! A controller that shares its base stations sets up virtual nodes at the controllers of its tenants, which may share them again. The
//! setup of a virtual node names each controller of this path and the node there. A controller that finds itself in the path refuses
//! the setup: its base station would be its own virtual node.
//!
//! The path is the request part of a component: in v2 and later of an NG interface with the AMF name [`AMF_NAME`], in v01.01 of a gNB
//! without id. v01.00 has no components: there it is the definition of a RAN function, which the controller does not list with the
//! others. Its octets are ASCII text, a line `virtual node`, then for each controller a line with its number in 16 hexadecimal digits, a
//! space and the node: `00000000000000a1 gnb-00101-e00`. The first controller is that of the base station itself.
//!
//! The path of a node is that of its setup. It does not depend on whether the controller has room for the component, and an update that
//! names another one fails.

use core::fmt::Write;

use e2ap::{
    E2NodeComponentConfigAdditionItem, E2NodeComponentConfigUpdateGnbV1, E2NodeComponentConfigUpdateItemV1,
    E2NodeComponentConfigUpdateV1, E2NodeComponentConfiguration, E2NodeComponentId, E2NodeComponentInterfaceNg,
    E2NodeComponentInterfaceType, E2NodeComponentTypeV1, E2NodeConfigurationUpdate, E2SetupRequest, GlobalE2NodeId,
    RanFunctionId, RanFunctionItem, RanFunctionRevision,
};
use per::{Octets, PrintableString};

use crate::change::all;

/// The AMF name of the component.
const AMF_NAME: &str = "virtual node";
/// The first line of its text.
const FIRST_LINE: &str = "virtual node";
/// The highest id of a RAN function (E2AP v03.01 9.2.8).
const LAST_FUNCTION: u16 = 4095;
/// The longest name of a node.
const MAX_NODE: usize = 64;

/// The number of a running controller: a random one, so that no two controllers have the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ControllerInstance(pub u64);

/// A controller, and the node that it shares.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PathEntry {
    /// The controller.
    pub controller: ControllerInstance,
    /// The node, as logged: `gnb-00101-e00`.
    pub node: String,
}

/// The controllers that a virtual node stems from, that of the base station first; empty for a base station.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ControllerPath(Vec<PathEntry>);

/// That a path is longer than [`ControllerPath::MAX_LEVELS`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PathTooLong;

impl ControllerPath {
    /// The maximum number of controllers of a path; a setup with a longer one is refused.
    pub const MAX_LEVELS: usize = 256;

    /// Returns the controllers and their nodes, that of the base station first.
    #[must_use]
    pub fn entries(&self) -> &[PathEntry] {
        &self.0
    }

    /// Returns the path of a virtual node that `controller` makes of `node`, which has this path itself.
    #[must_use]
    pub fn with(&self, controller: ControllerInstance, node: &GlobalE2NodeId) -> ControllerPath {
        let entry = PathEntry { controller, node: node.to_string() };
        ControllerPath(self.0.iter().cloned().chain([entry]).collect())
    }

    /// Returns the node that a controller shares, and the number of controllers from it on.
    pub(crate) fn find(&self, controller: ControllerInstance) -> Option<(&str, usize)> {
        let at = self.0.iter().position(|entry| entry.controller == controller)?;
        Some((&self.0[at].node, self.0.len() - at))
    }

    /// Returns the path that a setup request names.
    ///
    /// # Errors
    /// If it is too long.
    pub(crate) fn of_setup(request: &E2SetupRequest<'_>) -> Result<ControllerPath, PathTooLong> {
        let v2 = all(&request.component_config_addition).find_map(text);
        let v1 = || all(&request.component_config_update_v1).find_map(text_v1);
        let v1_00 = || all(&request.ran_functions_added).find(|item| is_path(item)).map(|item| &item.definition);
        let octets = v2.or_else(v1).or_else(v1_00);
        octets.map_or(Ok(ControllerPath::default()), |octets| ControllerPath::parse(&octets.to_cow()))
    }

    /// Whether a configuration update names another path.
    pub(crate) fn is_changed_by(&self, update: &E2NodeConfigurationUpdate<'_>) -> bool {
        let added = all(&update.component_config_addition).filter_map(text);
        let changed = all(&update.component_config_update)
            .filter_map(|item| is_path_id(&item.id).then_some(&item.configuration.request_part));
        let mut named = added.chain(changed).chain(all(&update.component_config_update_v1).filter_map(text_v1));
        named.any(|octets| ControllerPath::parse(&octets.to_cow()).as_ref() != Ok(self))
    }

    /// Octets stored of it.
    pub(crate) fn octets(&self) -> usize {
        self.0.iter().map(|entry| size_of::<PathEntry>() + entry.node.len()).sum()
    }

    /// Octets that are not such a text are those of another interface.
    fn parse(octets: &[u8]) -> Result<ControllerPath, PathTooLong> {
        let none = Ok(ControllerPath::default());
        let Ok(text) = core::str::from_utf8(octets) else { return none };
        let mut lines = text.lines();
        if lines.next() != Some(FIRST_LINE) {
            return none;
        }
        let mut entries = Vec::new();
        for line in lines {
            if entries.len() == ControllerPath::MAX_LEVELS {
                return Err(PathTooLong);
            }
            let Some(entry) = parse_line(line) else { return none };
            entries.push(entry);
        }
        Ok(ControllerPath(entries))
    }

    fn to_text(&self) -> String {
        let mut text = format!("{FIRST_LINE}\n");
        for PathEntry { controller, node } in &self.0 {
            // writing to a String does not fail
            let _ = writeln!(text, "{:016x} {node}", controller.0);
        }
        text
    }

    /// Returns the component in v2 and later; `None` for a base station.
    pub(crate) fn component(&self) -> Option<E2NodeComponentConfigAdditionItem<'static>> {
        (!self.0.is_empty()).then(|| E2NodeComponentConfigAdditionItem {
            interface_type: E2NodeComponentInterfaceType::Ng,
            id: E2NodeComponentId::Ng(E2NodeComponentInterfaceNg { amf_name: PrintableString::literal(AMF_NAME) }),
            configuration: E2NodeComponentConfiguration {
                request_part: self.to_text().into_bytes().into(),
                response_part: Octets::default(),
            },
        })
    }

    /// Returns the RAN function in v01.00, with the highest id that is free; `None` for a base station.
    pub(crate) fn function(&self, is_taken: impl Fn(RanFunctionId) -> bool) -> Option<RanFunctionItem<'static>> {
        let id = (0..=LAST_FUNCTION).rev().map(RanFunctionId).find(|id| !is_taken(*id))?;
        (!self.0.is_empty()).then(|| RanFunctionItem {
            id,
            definition: self.to_text().into_bytes().into(),
            revision: RanFunctionRevision(0),
            oid: None,
        })
    }

    /// Returns the component in v01.01; `None` for a base station.
    pub(crate) fn component_v1(&self) -> Option<E2NodeComponentConfigUpdateItemV1<'static>> {
        let gnb = || E2NodeComponentConfigUpdateGnbV1 {
            ng_ap: Some(self.to_text().into_bytes().into()),
            xn_ap: None,
            e1_ap: None,
            f1_ap: None,
        };
        (!self.0.is_empty()).then(|| E2NodeComponentConfigUpdateItemV1 {
            component_type: E2NodeComponentTypeV1::Gnb,
            id: None,
            configuration: E2NodeComponentConfigUpdateV1::Gnb(gnb()),
        })
    }
}

/// Whether a RAN function is the path of a node in v01.00.
pub(crate) fn is_path(item: &RanFunctionItem<'_>) -> bool {
    let is_text = || item.definition.to_cow().strip_prefix(FIRST_LINE.as_bytes()).is_some_and(|rest| rest[0] == b'\n');
    item.oid.is_none() && item.definition.len() > FIRST_LINE.len() && is_text()
}

fn is_path_id(id: &E2NodeComponentId<'_>) -> bool {
    matches!(id, E2NodeComponentId::Ng(ng) if ng.amf_name.as_str() == AMF_NAME)
}

fn text<'s, 'a>(item: &'s E2NodeComponentConfigAdditionItem<'a>) -> Option<&'s Octets<'a>> {
    is_path_id(&item.id).then_some(&item.configuration.request_part)
}

fn text_v1<'s, 'a>(item: &'s E2NodeComponentConfigUpdateItemV1<'a>) -> Option<&'s Octets<'a>> {
    match &item.configuration {
        E2NodeComponentConfigUpdateV1::Gnb(gnb) if item.id.is_none() => {
            gnb.ng_ap.as_ref().filter(|octets| octets.to_cow().starts_with(FIRST_LINE.as_bytes()))
        }
        _ => None,
    }
}

fn parse_line(line: &str) -> Option<PathEntry> {
    let (controller, node) = line.split_once(' ')?;
    let is_number = controller.len() == 16 && controller.bytes().all(|c| c.is_ascii_hexdigit());
    let is_node = (1..=MAX_NODE).contains(&node.len()) && node.bytes().all(|c| c.is_ascii_graphic());
    let controller = u64::from_str_radix(controller, 16).ok().filter(|_| is_number && is_node)?;
    Some(PathEntry { controller: ControllerInstance(controller), node: node.to_owned() })
}

#[cfg(test)]
mod tests {
    use e2ap::{GnbId, PlmnIdentity};

    use super::*;
    use crate::change::list;

    fn node(mnc: u16) -> GlobalE2NodeId {
        GlobalE2NodeId::gnb(PlmnIdentity::from_codes(1, mnc, 2), GnbId::new(0xe00, 28))
    }

    fn path(levels: u64) -> ControllerPath {
        let add = |path: ControllerPath, at: u64| path.with(ControllerInstance(at), &node(at as u16 % 90));
        (1..=levels).fold(ControllerPath::default(), add)
    }

    /// The setups of a virtual node: in v2, v01.01 and v01.00.
    fn setups(path: &ControllerPath) -> [E2SetupRequest<'static>; 3] {
        let setup = || E2SetupRequest {
            transaction_id: None,
            global_e2_node_id: node(1),
            ran_functions_added: None,
            component_config_update_v1: None,
            component_config_addition: None,
        };
        [
            E2SetupRequest { component_config_addition: list(path.component().into_iter()), ..setup() },
            E2SetupRequest { component_config_update_v1: list(path.component_v1().into_iter()), ..setup() },
            E2SetupRequest { ran_functions_added: list(path.function(|id| id.0 > 4000).into_iter()), ..setup() },
        ]
    }

    #[test]
    fn path_is_read_from_the_setup_of_each_version() {
        for levels in [0, 1, 2, 256] {
            let path = path(levels);
            for setup in setups(&path) {
                assert_eq!(ControllerPath::of_setup(&setup), Ok(path.clone()));
            }
        }
        assert_eq!(path(1).function(|id| id.0 > 4000).map(|item| item.id), Some(RanFunctionId(4000)));
        assert_eq!(path(1).function(|_| true), None);
        let path = path(3);
        assert_eq!(path.entries()[0].node, "gnb-00101-e00");
        assert_eq!(path.find(ControllerInstance(1)), Some(("gnb-00101-e00", 3)));
        assert_eq!(path.find(ControllerInstance(3)), Some(("gnb-00103-e00", 1)));
        assert_eq!(path.find(ControllerInstance(4)), None);
    }

    #[test]
    fn text_that_is_no_path_is_that_of_a_base_station_and_a_long_one_is_refused() {
        let one = "virtual node\n00000000000000a1 gnb-00101-e00\n";
        assert_eq!(ControllerPath::parse(one.as_bytes()).unwrap().entries().len(), 1);
        let long = "0".repeat(17);
        let texts = [
            "".to_owned(),
            "virtual nodes\n".to_owned(),
            format!("{one}x"),
            format!("{one}00000000000000a1 \n"),
            format!("{one}+0000000000000a1 gnb\n"),
            format!("{one}{long} gnb\n"),
            format!("{one}00000000000000a1 {}\n", "g".repeat(65)),
            format!("{one}00000000000000a1 gnb\u{7}\n"),
        ];
        for text in texts {
            assert_eq!(ControllerPath::parse(text.as_bytes()), Ok(ControllerPath::default()), "{text:?}");
        }
        assert_eq!(ControllerPath::parse(&[0xff; 64]), Ok(ControllerPath::default()));
        assert_eq!(ControllerPath::parse(path(257).to_text().as_bytes()), Err(PathTooLong));
    }
}
