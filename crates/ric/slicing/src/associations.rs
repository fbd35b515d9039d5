//! Rules that associate UEs with slices, by their PLMN and requested S-NSSAIs, or a UE by any of its names.
//!
//! Rules are evaluated when a UE attaches or is handed over, and for all UEs when a rule is added or deleted. The first match
//! decides: rules of the node before rules for all nodes, older before newer. The UE is moved as soon as the rule's slices exist;
//! a rule creates no slice. If the node refuses, the UE stays in its slice and the rule shows the reason; if it does not answer,
//! the control is repeated after the node's next report of its slices.

use e2sm::common::{PlmnIdentity, SNssai};
use e2sm::slice::{ControlMessage, UeSlices};
use ferric::e2::topology::UeReference;
use ferric::server::IappContext;
use tracing::{info, warn};

use super::controls::{Controls, Order, Origin, Plan};
use super::database::Database;
use super::direction::Direction;
use super::node::Node;
use super::ues::Ue;
use rest::Problem;

/// The most rules.
pub(super) const MAX_RULES: usize = 1024;
/// The most concurrent orders of rules per node, so that requests of clients do not wait for them.
const MAX_ORDERS: usize = 4;

/// The UEs that a rule selects, and their slices.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Rule {
    pub id: u32,
    /// Its node; `None` for all nodes.
    pub node: Option<String>,
    pub plmn: Option<PlmnIdentity>,
    pub s_nssai: Option<SNssaiPattern>,
    pub ue: Option<UeReference>,
    pub dl: Option<u32>,
    pub ul: Option<u32>,
}

/// An S-NSSAI; without a slice differentiator, all S-NSSAIs of the type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SNssaiPattern {
    pub sst: u8,
    pub sd: Option<[u8; 3]>,
}

/// The rule that applies to a UE.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum RuleOfUe {
    /// Not evaluated yet.
    New,
    /// No rule matches.
    None,
    /// The matching rule, and its state.
    Fits(u32, RuleState),
}

/// The state of a rule for a UE.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum RuleState {
    /// Its slices do not exist yet, or other UEs are moved first.
    Waiting,
    InProgress,
    Moved,
    /// The outcome is unknown, with the reason; the rule waits for the node's next report of its slices.
    Unanswered(String),
    /// The node refused, with its reason.
    Refused(String),
}

impl SNssaiPattern {
    fn fits(self, s_nssai: &SNssai) -> bool {
        s_nssai.sst.0 == [self.sst] && self.sd.is_none_or(|sd| s_nssai.sd.is_some_and(|of_ue| of_ue.0 == sd))
    }
}

impl Rule {
    fn fits(&self, node: &str, rnti: u16, ue: &Ue) -> bool {
        self.node.as_ref().is_none_or(|own| own == node)
            && self.plmn.is_none_or(|plmn| plmn == ue.plmn)
            && self.s_nssai.is_none_or(|wanted| ue.s_nssais.iter().any(|s_nssai| wanted.fits(s_nssai)))
            && self.ue.as_ref().is_none_or(|wanted| ue.is(wanted, rnti, node))
    }

    /// Returns its slices, by direction.
    pub fn slices(&self) -> impl Iterator<Item = (Direction, u32)> {
        let dl = self.dl.map(|id| (Direction::Downlink, id));
        dl.into_iter().chain(self.ul.map(|id| (Direction::Uplink, id)))
    }

    /// Returns a slice of the rule that does not exist.
    pub fn missing(&self, node: &Node) -> Option<(Direction, u32)> {
        let is_there = |(direction, id): &(Direction, u32)| {
            node.slices.as_ref().is_some_and(|slices| slices.slice(*direction, *id).is_some())
        };
        self.slices().find(|slice| !is_there(slice))
    }

    /// Returns the slices that the UE is to have.
    fn wanted(&self, now: UeSlices) -> UeSlices {
        UeSlices { dl_id: self.dl.unwrap_or(now.dl_id), ul_id: self.ul.unwrap_or(now.ul_id), rnti: now.rnti }
    }
}

/// All rules.
#[derive(Clone, Debug, Default)]
pub(super) struct Rules {
    /// By id, so the oldest first.
    rules: Vec<Rule>,
    last_id: u32,
}

impl Rules {
    /// Restores stored rules, the oldest first. Returns `None` if an id exceeds the last id.
    pub fn restored(rules: Vec<Rule>, last_id: u32) -> Option<Self> {
        let is_given = rules.last().is_none_or(|rule| rule.id <= last_id);
        is_given.then_some(Rules { rules, last_id })
    }

    pub fn all(&self) -> &[Rule] {
        &self.rules
    }

    /// The last id that was assigned.
    pub fn last_id(&self) -> u32 {
        self.last_id
    }

    /// Adds a rule, and evaluates the UEs for which it is the first match. Returns its id.
    pub fn add(&mut self, rule: Rule, database: &mut Database) -> Result<u32, Problem> {
        if self.rules.len() >= MAX_RULES {
            return Err(Problem::unavailable(format!("there are {MAX_RULES} rules already; delete some")));
        }
        let alike = |other: &&Rule| Rule { id: 0, ..(*other).clone() } == Rule { id: 0, ..rule.clone() };
        if let Some(other) = self.rules.iter().find(alike) {
            return Err(Problem::conflict(format!("rule {} is identical", other.id)).with("id", other.id));
        }
        self.last_id = match self.last_id.checked_add(1) {
            Some(id) => id,
            None => {
                return Err(Problem::unavailable(
                    "all ids of rules have been used; restart the RIC with a new rule file",
                ));
            }
        };
        let rule = Rule { id: self.last_id, ..rule };
        self.rules.push(rule.clone());
        self.reevaluate(database, |node, rnti, ue| rule.fits(node, rnti, ue));
        Ok(self.last_id)
    }

    /// Deletes rules, and returns their number. The UEs that they moved stay in their slices, unless another rule matches.
    pub fn delete(&mut self, is_it: impl Fn(&Rule) -> bool, database: &mut Database) -> usize {
        let before = self.rules.len();
        self.rules.retain(|rule| !is_it(rule));
        self.reevaluate(database, |_, _, ue| matches!(ue.rule, RuleOfUe::Fits(id, _) if self.get(id).is_none()));
        before - self.rules.len()
    }

    /// Marks the UEs to be evaluated for which another rule decides now.
    fn reevaluate(&self, database: &mut Database, is_concerned: impl Fn(&str, u16, &Ue) -> bool) {
        for node in database.nodes_mut() {
            for (rnti, ue) in node.ues.iter_mut() {
                if !is_concerned(&node.name, rnti, ue) {
                    continue;
                }
                let decided = match &ue.rule {
                    RuleOfUe::New => continue,
                    RuleOfUe::None => None,
                    RuleOfUe::Fits(id, _) => Some(*id),
                };
                if self.first(&node.name, rnti, ue).map(|rule| rule.id) != decided {
                    ue.rule = RuleOfUe::New;
                }
            }
        }
    }

    /// Returns the rule of an id.
    pub fn get(&self, id: u32) -> Option<&Rule> {
        self.rules.binary_search_by_key(&id, |rule| rule.id).ok().map(|at| &self.rules[at])
    }

    /// Returns the rule that decides for a UE.
    fn first(&self, node: &str, rnti: u16, ue: &Ue) -> Option<&Rule> {
        let fits = |rule: &&Rule| rule.fits(node, rnti, ue);
        let own = self.rules.iter().filter(|rule| rule.node.is_some()).find(fits);
        own.or_else(|| self.rules.iter().find(fits))
    }

    /// Moves the UEs of a node into the slices of their rules, as far as these exist.
    pub fn apply(
        &self,
        node: ferric::e2::NodeId,
        controls: &mut Controls,
        database: &mut Database,
        ric: &mut IappContext<'_>,
    ) {
        let Some(known) = database.node_mut(node) else { return };
        if self.rules.is_empty() || known.slices.is_none() {
            return;
        }
        let mut room = MAX_ORDERS.saturating_sub(controls.waiting(node));
        let mut orders = Vec::new();
        let mut ues = std::mem::take(&mut known.ues);
        for (rnti, ue) in ues.iter_mut() {
            if ue.rule == RuleOfUe::New {
                let first = self.first(&known.name, rnti, ue);
                ue.rule = first.map_or(RuleOfUe::None, |rule| RuleOfUe::Fits(rule.id, RuleState::Waiting));
            }
            let RuleOfUe::Fits(id, state) = &mut ue.rule else { continue };
            let Some(rule) = self.get(*id) else { continue };
            let is_missing = rule.missing(known).is_some();
            if *state == RuleState::Moved && is_missing {
                // it is moved again when its slice exists again
                *state = RuleState::Waiting;
            }
            if *state != RuleState::Waiting || is_missing {
                continue;
            }
            let now = known.slices_of(rnti);
            if rule.wanted(now) == now {
                *state = RuleState::Moved;
            } else if room > 0 {
                room -= 1;
                *state = RuleState::InProgress;
                orders.push((rule.clone(), rnti));
            }
        }
        known.ues = ues;
        for (rule, rnti) in orders {
            let origin = Origin::Rule { rule: rule.id, rnti };
            let plan = move |node: &Node| {
                let wanted = rule.wanted(node.slices_of(rnti));
                Ok(Plan::one(ControlMessage::Associate(vec![wanted].into())))
            };
            controls.order(node, Order { plan: Box::new(plan), origin }, database, ric);
        }
    }
}

impl Node {
    /// The node has reported its slices and their UEs: rules with an unknown outcome are applied again.
    pub fn slices_reported(&mut self) {
        for (_, ue) in self.ues.iter_mut() {
            if let RuleOfUe::Fits(_, state @ RuleState::Unanswered(_)) = &mut ue.rule {
                *state = RuleState::Waiting;
            }
        }
    }

    /// Records the outcome of a rule for a UE.
    pub fn rule_applied(&mut self, rule: u32, rnti: u16, result: Result<(), Problem>, ric: &IappContext<'_>) {
        let node = &self.name;
        let is_logged = ric.allows_line(self.id);
        let ue = self.ues.get(rnti).map(|ue| ue.identity(rnti).to_string()).unwrap_or_default();
        let state = match result {
            Ok(()) => {
                if is_logged {
                    info!(node, ue, rule, "UE moved to its slice");
                }
                RuleState::Moved
            }
            Err(problem) => {
                if is_logged {
                    warn!(node, ue, rule, "cannot move UE to its slice: {}", problem.detail());
                }
                let why = problem.detail().to_owned();
                if problem.status().is_client_error() { RuleState::Refused(why) } else { RuleState::Unanswered(why) }
            }
        };
        // the C-RNTI may belong to another UE by now, and rules may have changed
        if let Some(ue) = self.ues.get_mut(rnti)
            && ue.rule == RuleOfUe::Fits(rule, RuleState::InProgress)
        {
            ue.rule = RuleOfUe::Fits(rule, state);
        }
    }
}
