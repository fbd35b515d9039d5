//! The RAN functions of a node.

use std::borrow::Cow;
use std::cell::RefCell;
use std::rc::Rc;
use std::time::{Duration, SystemTime};

use e2sm::FunctionSummary;
#[cfg(feature = "statistics")]
use e2sm::gtp::Tunnel;
#[cfg(feature = "statistics")]
use e2sm::pdcp;
use ferric::agent::RanFunction;
use ferric::e2::Function;
use ferric::e2ap::RanFunctionId;
use ran_functions::Announcement;
#[cfg(any(feature = "control", feature = "statistics", feature = "tc"))]
use ran_functions::PeriodicConfig;
#[cfg(feature = "control")]
use ran_functions::association::{AssociationFunction, UeDirectory};
#[cfg(feature = "control")]
use ran_functions::ccc::{CccConfig, CccFunction, CccSource};
#[cfg(feature = "hw")]
use ran_functions::hw::HwFunction;
use ran_functions::kpm::{KpmConfig, KpmFunction, KpmSource};
#[cfg(feature = "llc")]
use ran_functions::llc::LlcFunction;
#[cfg(feature = "control")]
use ran_functions::ni::{NiConfig, NiFunction, NiSource};
#[cfg(feature = "control")]
use ran_functions::rc::{RcConfig, RcFunction, RcSource};
#[cfg(feature = "control")]
use ran_functions::rrc::{RrcConfig, RrcFunction, RrcSource};
#[cfg(feature = "control")]
use ran_functions::slice::{SliceConfig, SliceFunction};
#[cfg(feature = "statistics")]
use ran_functions::statistics::{GtpFunction, MacFunction, PdcpFunction, RlcFunction, StatisticsSource};
#[cfg(feature = "tc")]
use ran_functions::tc::{TcFunction, TcSource};

use crate::NodeProfile;
use crate::RanConfig;
use crate::clocked::ClockedFunction;
use crate::cu::Cu;
use crate::node::Node;
#[cfg(any(feature = "control", feature = "statistics", feature = "tc"))]
use crate::node_type::NodeType;
#[cfg(feature = "control")]
use crate::profile::CccProfile;
use crate::profile::KpmProfile;
use crate::simulation::Steps;

/// The most periods of a KPM action that a poll reports one by one: with a speed of 1000 and periods of 100 ms, 50 end in a tick of
/// the event loop. Beyond it, reports are skipped and counted.
const MAX_CATCH_UP_PERIODS: u32 = 64;
/// The RAN function id of E2SM-RC.
#[cfg(feature = "control")]
const RC: RanFunctionId = RanFunctionId(3);

/// The RAN functions of a node, in the model's time, with its time of day.
pub fn of_node(
    node: &Rc<RefCell<Node>>,
    config: &RanConfig,
    clock: &(impl Fn() -> SystemTime + Clone + Send + 'static),
) -> Vec<Box<dyn RanFunction>> {
    let part = (node.borrow().node_type, node.borrow().profile);
    #[cfg_attr(
        not(any(feature = "control", feature = "llc", feature = "hw", feature = "statistics", feature = "tc")),
        expect(unused_mut)
    )]
    let mut functions: Vec<Box<dyn RanFunction>> = Vec::new();
    #[cfg(feature = "control")]
    functions.extend(control(node, part, config, clock));
    #[cfg(feature = "llc")]
    if node.borrow().has_lower_layers() {
        let llc = LlcFunction::new(Rc::clone(node), config.llc.clone());
        functions.push(Box::new(llc.with_wall_clock(clock.clone())));
    }
    #[cfg(feature = "hw")]
    functions.push(Box::new(HwFunction::with_wire(config.wire)));
    #[cfg(feature = "statistics")]
    if part.0.has_mac() {
        let periodic = periodic(config);
        let mac = PeriodicConfig { accepts_controls: part.1.accepts_unknown, ..periodic.clone() };
        functions.push(Box::new(MacFunction::new(Rc::clone(node), mac).with_wall_clock(clock.clone())));
        functions.push(Box::new(RlcFunction::new(Rc::clone(node), periodic).with_wall_clock(clock.clone())));
    }
    #[cfg(feature = "statistics")]
    functions.extend(statistics_of_pdcp(node, part.0, config, clock));
    #[cfg(feature = "control")]
    if part.0.has_mac() {
        let config = SliceConfig { periodic: periodic(config), ..SliceConfig::default() };
        functions.push(Box::new(SliceFunction::new(Rc::clone(node), config).with_wall_clock(clock.clone())));
    }
    #[cfg(feature = "tc")]
    functions.extend(traffic_control(node, part.0, config, clock));
    #[cfg(feature = "control")]
    functions.extend(notifications(node, part.0, clock));
    announced(node, part.1, functions, config, clock)
}

/// The RAN functions of a CU-CP or CU-UP of several DUs, as [`of_node`].
pub fn of_cu(
    cu: &Rc<RefCell<Cu>>,
    config: &RanConfig,
    clock: &(impl Fn() -> SystemTime + Clone + Send + 'static),
) -> Vec<Box<dyn RanFunction>> {
    let part = (cu.borrow().node_type(), cu.borrow().profile());
    #[cfg_attr(
        not(any(feature = "control", feature = "hw", feature = "statistics", feature = "tc")),
        expect(unused_mut)
    )]
    let mut functions: Vec<Box<dyn RanFunction>> = Vec::new();
    #[cfg(feature = "control")]
    functions.extend(control(cu, part, config, clock));
    #[cfg(feature = "hw")]
    functions.push(Box::new(HwFunction::with_wire(config.wire)));
    #[cfg(feature = "statistics")]
    functions.extend(statistics_of_pdcp(cu, part.0, config, clock));
    #[cfg(feature = "tc")]
    functions.extend(traffic_control(cu, part.0, config, clock));
    #[cfg(feature = "control")]
    functions.extend(notifications(cu, part.0, clock));
    announced(cu, part.1, functions, config, clock)
}

/// Those of the functions that a profile announces, and KPM first.
fn announced<N: KpmSource + 'static>(
    node: &Rc<RefCell<N>>,
    profile: &NodeProfile,
    mut functions: Vec<Box<dyn RanFunction>>,
    config: &RanConfig,
    clock: &(impl Fn() -> SystemTime + Clone + Send + 'static),
) -> Vec<Box<dyn RanFunction>> {
    functions.retain(|function| profile.functions.is_none_or(|announced| announced.contains(&function.id().0)));
    let kpm = KpmFunction::new(Rc::clone(node), kpm(&profile.kpm, config));
    functions.insert(0, Box::new(kpm.with_wall_clock(clock.clone())));
    let pace = config.pace();
    if pace.is_real_time() {
        return functions;
    }
    functions
        .into_iter()
        .map(|function| Box::new(ClockedFunction { function, clock: pace }) as Box<dyn RanFunction>)
        .collect()
}

/// The time of day that reports state: it advances with `steps`, if present, otherwise at the model's pace.
pub fn clock(config: &RanConfig, steps: Option<&Steps>) -> impl Fn() -> SystemTime + Clone + Send + 'static {
    let (pace, steps, start) = (config.pace(), steps.cloned(), SystemTime::now());
    let paced = pace.wall_clock();
    move || match &steps {
        Some(steps) => start + Duration::from_nanos(steps.until().as_nanos()),
        None if pace.is_real_time() => SystemTime::now(),
        None => paced(),
    }
}

/// The service models of RAN functions, for the log: `KPM v3.00, RC v3.00`.
pub fn models(functions: &[Box<dyn RanFunction>]) -> String {
    let name = |function: &dyn RanFunction| {
        let Function { id, oid, revision, definition } = function.definition();
        let summary = FunctionSummary::of(&oid, revision.0, &definition);
        summary.map_or_else(|_| format!("function {}", id.0), |summary| summary.name().to_owned())
    };
    functions.iter().map(|function| name(&**function)).collect::<Vec<_>>().join(", ")
}

/// The configuration of E2SM-KPM that a profile announces.
fn kpm(profile: &KpmProfile, config: &RanConfig) -> KpmConfig {
    let styles = profile.styles.map_or_else(|| config.kpm.styles.clone(), <[_]>::to_vec);
    let (timestamp_format, timestamp_moment) =
        profile.timestamps.unwrap_or((config.kpm.timestamp_format, config.kpm.timestamp_moment));
    let of_profile = |limit: usize| limit.min(profile.max_actions_per_subscription);
    KpmConfig {
        function_id: RanFunctionId(profile.function_id),
        revision: config.kpm_revision,
        wire: config.wire,
        styles,
        max_actions_per_subscription: of_profile(config.kpm.max_actions_per_subscription),
        announcement: Announcement {
            revision: profile.revision,
            oid: profile.oid.map(Cow::Borrowed),
            definition_oid: profile.definition_oid.map(Cow::Borrowed),
            short_name: profile.short_name.map(Cow::Borrowed),
        },
        v1_name: profile.v1_name.map(per::PrintableString::literal),
        missing_value: profile.missing_value,
        timestamp_format,
        timestamp_moment,
        evaluates_conditions: profile.evaluates_conditions,
        // at a high speed, several periods end between two polls
        catch_up_periods: if config.scenario.speed > 1.0 { MAX_CATCH_UP_PERIODS } else { 0 },
        ..config.kpm.clone()
    }
}

#[cfg(feature = "control")]
fn control<N: CccSource + NiSource + RcSource + UeDirectory + 'static>(
    node: &Rc<RefCell<N>>,
    (node_type, profile): (NodeType, &NodeProfile),
    config: &RanConfig,
    clock: &(impl Fn() -> SystemTime + Clone + Send + 'static),
) -> Vec<Box<dyn RanFunction>> {
    let node = || Rc::clone(node);
    let mut functions: Vec<Box<dyn RanFunction>> = Vec::new();
    // all structures of E2SM-CCC 8.8 are those of NR, and the ones here belong to a gNB's CU-CP and DU
    if matches!(node_type, NodeType::Gnb | NodeType::CuCp | NodeType::Du) {
        let announcement = match profile.ccc {
            CccProfile::Short => Announcement::default(),
            CccProfile::RrmPolicyControl => Announcement { revision: Some(0), ..Announcement::default() },
        };
        let ccc = CccFunction::new(node(), CccConfig { announcement, ..CccConfig::default() });
        functions.push(Box::new(ccc.with_wall_clock(clock.clone())));
    }
    if node_type.has_rrc() {
        functions.push(Box::new(NiFunction::new(node(), NiConfig::default()).with_wall_clock(clock.clone())));
    }
    // a CU-UP has none of its services; in some profiles it announces the function without any
    if node_type != NodeType::CuUp || profile.functions.is_some_and(|announced| announced.contains(&RC.0)) {
        let rc = RcConfig {
            revision: config.rc_revision,
            wire: config.wire,
            offer: profile.rc.offer.clone().unwrap_or_else(|| config.rc.offer.clone()),
            announcement: Announcement { revision: profile.rc.revision, ..Announcement::default() },
            ..config.rc.clone()
        };
        functions.push(Box::new(RcFunction::new(node(), rc)));
    }
    if node_type.has_rrc() {
        functions.push(Box::new(AssociationFunction::new(node())));
    }
    functions
}

/// The bounds of FlexRIC's models, whose ids are their own.
#[cfg(any(feature = "control", feature = "statistics", feature = "tc"))]
fn periodic(config: &RanConfig) -> PeriodicConfig {
    PeriodicConfig { function_id: None, ..config.periodic.clone() }
}

#[cfg(feature = "statistics")]
fn statistics_of_pdcp<N>(
    node: &Rc<RefCell<N>>,
    node_type: NodeType,
    config: &RanConfig,
    clock: &(impl Fn() -> SystemTime + Clone + Send + 'static),
) -> Vec<Box<dyn RanFunction>>
where
    N: StatisticsSource<pdcp::BearerStats> + StatisticsSource<Tunnel> + 'static,
{
    if !node_type.has_pdcp() {
        return Vec::new();
    }
    vec![
        Box::new(PdcpFunction::new(Rc::clone(node), periodic(config)).with_wall_clock(clock.clone())),
        Box::new(GtpFunction::new(Rc::clone(node), periodic(config)).with_wall_clock(clock.clone())),
    ]
}

#[cfg(feature = "tc")]
fn traffic_control<N: TcSource + 'static>(
    node: &Rc<RefCell<N>>,
    node_type: NodeType,
    config: &RanConfig,
    clock: &(impl Fn() -> SystemTime + Clone + Send + 'static),
) -> Option<Box<dyn RanFunction>> {
    let function = || TcFunction::new(Rc::clone(node), periodic(config)).with_wall_clock(clock.clone());
    node_type.has_pdcp().then(|| Box::new(function()) as Box<dyn RanFunction>)
}

#[cfg(feature = "control")]
fn notifications<N: RrcSource + 'static>(
    node: &Rc<RefCell<N>>,
    node_type: NodeType,
    clock: &(impl Fn() -> SystemTime + Clone + Send + 'static),
) -> Option<Box<dyn RanFunction>> {
    let function = || RrcFunction::new(Rc::clone(node), RrcConfig::default()).with_wall_clock(clock.clone());
    node_type.has_rrc().then(|| Box::new(function()) as Box<dyn RanFunction>)
}
