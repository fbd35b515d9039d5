//! Grants that are limited to parameters of controls and to UEs.
//!
//! What cannot be shown to be within the limits is not: a control that cannot be read, a UE that is not known, reports of all UEs.

use std::collections::BTreeSet;
use std::sync::Arc;

use e2ap::RanFunctionId;
use e2sm::common::{PlmnIdentity, SNssai};

use super::{Grant, Right};
use crate::content::{ActionContent, ConcernedUes, ControlModel, ParameterPattern, Setting, TargetUe};
use crate::topology::{RanDatabase, Ue, UeName, UeReference};
use crate::{Action, Node, SubscriptionSpec};

/// The most settings of a control.
const MAX_SETTINGS: usize = 256;

/// What of RAN functions is granted. What is `None` is not limited; all that are there must hold.
///
/// A UE is one that the RIC knows, by all names that a request gives it: those that an E2 node has reported, of one UE. A UE that
/// the RIC does not know is within `ues` if these have all names of the request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GrantLimits {
    /// Parameters of controls, of E2SM-RC by style and action, of E2SM-CCC by structure. Those of a policy have the names of the controls with the same style and action, and an insert that
    /// of the control that answers it.
    pub parameters: Option<Vec<ParameterPattern>>,
    /// UEs.
    pub ues: Option<Vec<UeReference>>,
    /// The PLMNs of UEs: the ones that they selected, or else those of their AMF or MME.
    pub plmns: Option<BTreeSet<PlmnIdentity>>,
    /// The slices of UEs, one of which a UE has; one without an SD has all of its SST.
    pub slices: Option<Vec<SNssai>>,
}

impl GrantLimits {
    fn has_parameter(&self, parameter: &str) -> bool {
        let parameter = granted_part(parameter);
        self.parameters.as_ref().is_none_or(|all| all.iter().any(|pattern| pattern.has(parameter)))
    }

    fn has_all_ues(&self) -> bool {
        self.ues.is_none() && self.plmns.is_none() && self.slices.is_none()
    }

    fn has_slice(&self, slice: &SNssai) -> bool {
        self.slices.as_ref().is_none_or(|all| all.iter().any(|own| own.includes(slice)))
    }

    fn has_ue(&self, ran: &RanDatabase, node: &Node, target: &TargetUe) -> bool {
        if self.has_all_ues() {
            return true;
        }
        if target.has_more_names {
            return false;
        }
        let Some(ue) = target.names.iter().find_map(|name| ran.find_ue(node.id, name)) else {
            let name_of_node = node.global_id.to_string();
            let is_listed = |name: &UeName| self.ues.iter().flatten().any(|ue| ue.is(name, &name_of_node));
            let is_limited_otherwise = self.plmns.is_some() || self.slices.is_some();
            return !is_limited_otherwise && !target.names.is_empty() && target.names.iter().all(is_listed);
        };
        // which of several names the node goes by is not known
        target.names.iter().all(|name| ran.find_ue(node.id, name).is_some_and(|of| of.id() == ue.id()))
            && self.ues.as_ref().is_none_or(|all| is_any(ran, ue, all))
            && self.plmns.as_ref().is_none_or(|all| plmn_of(ue).is_some_and(|plmn| all.contains(&plmn)))
            && (self.slices.is_none() || ue.context().s_nssais.iter().any(|slice| self.has_slice(slice)))
    }

    fn has_ues(&self, ran: &RanDatabase, node: &Node, ues: &ConcernedUes) -> bool {
        match ues {
            ConcernedUes::No => true,
            ConcernedUes::One(ue) => self.has_ue(ran, node, ue),
            ConcernedUes::WithSlices(slices) => {
                self.has_all_ues()
                    || self.ues.is_none() && self.plmns.is_none() && slices.iter().any(|slice| self.has_slice(slice))
            }
            ConcernedUes::All => self.has_all_ues(),
        }
    }
}

/// The part of a parameter's path that grants go by. Below it a control may set what is not among its [`Setting`]s: RAN parameters that
/// are no numbers, and attributes that identify a structure.
fn granted_part(parameter: &str) -> &str {
    let parts = match parameter.split('/').next() {
        Some("rc") => 3,
        Some("ccc") => 2,
        _ => return parameter,
    };
    parameter.match_indices('/').nth(parts - 1).map_or(parameter, |(end, _)| &parameter[..end])
}

/// Whether a UE is one of those that references name.
fn is_any(ran: &RanDatabase, ue: &Ue, references: &[UeReference]) -> bool {
    let station = ran.station(ue.station());
    let views = ue.views().iter().map(|view| {
        let node = station.and_then(|station| station.global_id_of(view.node));
        (node.map(|node| node.to_string()).unwrap_or_default(), &view.names)
    });
    let views: Vec<_> = views.collect();
    references.iter().any(|wanted| match wanted {
        UeReference::Ip(address) => ue.context().addresses.contains(address),
        wanted => views.iter().any(|(node, names)| names.iter().any(|name| wanted.is(name, node))),
    })
}

/// The network of a UE.
fn plmn_of(ue: &Ue) -> Option<PlmnIdentity> {
    let of_core = |name: &UeName| match *name {
        UeName::Ngap { guami: [a, b, c, ..], .. } | UeName::S1ap { gummei: [a, b, c, ..], .. } => {
            Some(PlmnIdentity([a, b, c]))
        }
        _ => None,
    };
    ue.context().plmn.or_else(|| ue.names().find_map(of_core))
}

/// What a refusal says of a UE that is refused because the RIC does not know it.
fn unless_known(grants: &[&Grant], ran: &RanDatabase, node: &Node, ue: &TargetUe) -> &'static str {
    let is_known = ue.names.iter().any(|name| ran.find_ue(node.id, name).is_some());
    let is_limited = grants.iter().any(|grant| !grant.limits.has_all_ues());
    if is_known || !is_limited { "" } else { ", which the RIC does not know" }
}

/// Checks that each setting of a control is within one of the grants.
///
/// # Errors
/// What is not, in words.
pub(super) fn check_control(
    grants: &[&Grant],
    ran: &RanDatabase,
    node: &Node,
    function: RanFunctionId,
    header: &[u8],
    message: &[u8],
) -> Result<(), String> {
    let model = node.function(function).and_then(ControlModel::of);
    let model = model.ok_or("a control of a service model whose parameters the RIC does not know")?;
    let mut beyond = None;
    let mut settings = 0_usize;
    // most controls name one UE
    let mut last: Option<(Arc<TargetUe>, Vec<bool>)> = None;
    let mut is_within = |setting: &Setting| {
        let Some(ue) = &setting.ue else {
            return grants
                .iter()
                .any(|grant| grant.limits.has_all_ues() && grant.limits.has_parameter(&setting.parameter));
        };
        if last.as_ref().is_none_or(|(of, _)| !Arc::ptr_eq(of, ue)) {
            let has = grants.iter().map(|grant| grant.limits.has_ue(ran, node, ue)).collect();
            last = Some((Arc::clone(ue), has));
        }
        let has_ue = last.iter().flat_map(|(_, has)| has);
        grants.iter().zip(has_ue).any(|(grant, has_ue)| *has_ue && grant.limits.has_parameter(&setting.parameter))
    };
    let visited = model.visit(header, message, &mut |setting| {
        settings += 1;
        if beyond.is_none() && (settings > MAX_SETTINGS || !is_within(&setting)) {
            let target = setting.target();
            let of = if target.is_empty() { "the node or a cell" } else { &target };
            let unknown = setting.ue.as_ref().map_or("", |ue| unless_known(grants, ran, node, ue));
            beyond = Some(format!("{} of {of}{unknown}", setting.parameter));
        }
        None
    });
    if let Err(error) = visited {
        return Err(format!("a control that cannot be read ({error})"));
    }
    if settings > MAX_SETTINGS {
        return Err(format!("a control of {settings} parameters; at most {MAX_SETTINGS} are checked"));
    }
    match beyond {
        Some(beyond) => Err(beyond),
        None if settings == 0 => Err("a control that sets no parameter".to_owned()),
        None => Ok(()),
    }
}

/// Checks that all that an action of a subscription concerns is within one of the grants.
///
/// # Errors
/// What is not, in words.
pub(super) fn check_action(
    grants: &[&Grant],
    right: Right,
    ran: &RanDatabase,
    node: &Node,
    function: RanFunctionId,
    spec: &SubscriptionSpec,
    action: &Action,
) -> Result<(), String> {
    let Some(function) = node.function(function) else { return Ok(()) };
    let content = ActionContent::of(function, spec, action);
    let unknown = [String::new()];
    let parameters = match right {
        Right::Read => &[][..],
        // no pattern has it
        Right::Control => content.parameters.as_deref().filter(|known| !known.is_empty()).unwrap_or(&unknown),
    };
    for ues in &content.ues {
        let is_within = |parameter: Option<&String>| {
            grants.iter().any(|grant| {
                parameter.is_none_or(|parameter| grant.limits.has_parameter(parameter))
                    && grant.limits.has_ues(ran, node, ues)
            })
        };
        let beyond = match parameters {
            [] => (!is_within(None)).then_some(""),
            all => all.iter().find(|parameter| !is_within(Some(parameter))).map(String::as_str),
        };
        if let Some(parameter) = beyond {
            let unknown = match ues {
                ConcernedUes::One(ue) => unless_known(grants, ran, node, ue),
                _ => "",
            };
            return Err(format!("{}{unknown}", describe(parameter, ues, right)));
        }
    }
    Ok(())
}

fn describe(parameter: &str, ues: &ConcernedUes, right: Right) -> String {
    let what = match (right, parameter) {
        (Right::Read, _) => "reports",
        (Right::Control, "") => "an action whose parameters the RIC does not know",
        (Right::Control, parameter) => parameter,
    };
    let of = match ues {
        ConcernedUes::No => "the node or a cell".to_owned(),
        ConcernedUes::One(ue) => ue.text.clone(),
        ConcernedUes::WithSlices(slices) => {
            let slices: Vec<_> = slices.iter().map(SNssai::to_string).collect();
            format!("the UEs of slice {}", slices.join(" and "))
        }
        ConcernedUes::All => "all UEs".to_owned(),
    };
    format!("{what} of {of}")
}

#[cfg(test)]
mod tests;
