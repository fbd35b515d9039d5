//! Arbitrary controls in any order: a refused one changes nothing, an accepted one is reported, and the RAN continues.

use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

use e2sm::Wire;
use e2sm::common::{PlmnIdentity, SNssai, Sst};
use e2sm::rc::{
    ConditionalHandover, Control, ControlAction, DrbQos, Drx, Handover, MappedFlow, MeasurementChange,
    MeasurementCondition, MeasurementEvent, MeasurementTrigger, QosFlowMapping, SlicePrbQuota,
};
use e2sm::slice::{self, DirectionSlices, NvsParameters, Parameters, Positions, Share, Slice, UeSlices};
use e2sm::tc::{self, QueueParameters};
use ferric::agent::{ControllerId, FunctionContext, FunctionTransport, RequestKey, Ue, Views};
use ferric::e2::{self, ControlRequest, Time};
use ferric::e2ap::{GlobalRicId, RicActionId, RicRequestId};
use per::{List, PrintableString};
use radio::Random;
use ran_functions::kpm::KpmSource;
use ran_functions::slice::SliceSource;
use ran_functions::tc::TcSource;

use crate::node::{Node, ue_of};
use crate::{RanConfig, Scenario, testing};

const SEEDS: u64 = 60;

/// A wire form that all models have.
const WIRE: Wire = Wire::Per;

/// Discards reports.
struct NullTransport;

impl FunctionTransport for NullTransport {
    fn send(
        &mut self,
        _: RequestKey,
        _: RicActionId,
        _: Option<&[u8]>,
        _: &[u8],
        _: &[u8],
    ) -> Result<(), e2::AgentMisuse> {
        Ok(())
    }

    fn controllers(&self) -> Vec<(ControllerId, Option<GlobalRicId>)> {
        Vec::new()
    }
}

struct Dice(Random);

impl Dice {
    fn of<T: Clone>(&mut self, all: &[T]) -> T {
        all[(self.0.next_u64() % all.len() as u64) as usize].clone()
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.0.next_u64() % bound
    }

    /// A number that is likely to be at a bound.
    fn number(&mut self) -> u32 {
        self.of(&[0, 1, 2, 3, 7, 8, 13, 14, 63, 64, 100, 255, 1514, 65_535, 1 << 20, u32::MAX - 1, u32::MAX])
    }

    fn id(&mut self) -> u32 {
        self.of(&[0, 0, 1, 1, 2, 3, 4, 64, u32::MAX])
    }

    fn share(&mut self) -> f32 {
        self.of(&[0.0, 0.1, 0.3, 0.5, 0.9, 1.0, 1.1, -0.5, 1e-30, 1e30, f32::NAN, f32::INFINITY])
    }

    fn name(&mut self) -> PrintableString<'static> {
        PrintableString::literal(self.of(&["", "", "RR", "PF", "MT", "NVS", "NVS-PARTITION", "STATIC", "EDF", "x"]))
    }

    fn list<T: Clone>(&mut self, most: u64, mut make: impl FnMut(&mut Dice) -> T) -> Vec<T> {
        let count = if self.below(20) == 0 { most * 40 } else { self.below(most + 1) };
        (0..count).map(|_| make(self)).collect()
    }
}

fn slices(dice: &mut Dice) -> DirectionSlices<'static> {
    let is_static = dice.below(4) == 0;
    let slices = dice.list(3, |dice| {
        let parameters = match (is_static ^ (dice.below(8) == 0), dice.below(8)) {
            (true, _) => {
                let low = dice.below(16) as u32;
                Parameters::Static(Positions { low, high: if dice.below(4) == 0 { dice.number() } else { low + 2 } })
            }
            (false, 0) => Parameters::Scn19(slice::Scn19Parameters::Fixed(Positions { low: 0, high: 1 })),
            (false, 1..4) => Parameters::Nvs(NvsParameters::Rate(slice::Rate {
                required_mbps: 10.0 * dice.share(),
                reference_mbps: 60.0 * dice.share(),
            })),
            _ => Parameters::Nvs(NvsParameters::Capacity(Share { reserved: dice.share() })),
        };
        let label = PrintableString::literal("slice");
        Slice {
            id: dice.id(),
            label,
            ue_scheduler: dice.of(&["", "RR", "PF", "MT", "NVS"]).try_into().unwrap(),
            parameters,
        }
    });
    DirectionSlices { scheduler: dice.name(), slices: slices.into() }
}

fn slice_control(dice: &mut Dice) -> Vec<u8> {
    let message = match dice.below(4) {
        0 | 1 => slice::ControlMessage::AddOrModify(slice::SliceConfiguration {
            dl: slices(dice),
            ul: if dice.below(2) == 0 { slices(dice) } else { DirectionSlices::default() },
        }),
        2 => slice::ControlMessage::Delete(slice::DeleteSlices {
            dl: dice.list(2, Dice::id).into(),
            ul: dice.list(1, Dice::id).into(),
        }),
        _ => slice::ControlMessage::Associate(
            dice.list(3, |dice| UeSlices { dl_id: dice.id(), ul_id: dice.id(), rnti: 0x4601 + dice.below(6) as u16 })
                .into(),
        ),
    };
    let mut octets = Vec::new();
    // what cannot be encoded is sent as an empty message
    drop(message.encode(WIRE, &mut octets));
    octets
}

fn queue_parameters(dice: &mut Dice) -> QueueParameters {
    let target = tc::DelayTarget { target_ms: dice.number(), interval_ms: dice.number() };
    dice.of(&[
        QueueParameters::Fifo,
        QueueParameters::Fifo,
        QueueParameters::CoDel(target),
        QueueParameters::EcnCoDel(target),
        QueueParameters::CoDel(tc::DelayTarget { target_ms: 5, interval_ms: 100 }),
    ])
}

fn tc_control(dice: &mut Dice) -> Vec<u8> {
    let flow = tc::FiveTuple {
        source_address: dice.of(&[None, Some(0x0a00_0001), Some(u32::MAX)]),
        destination_address: dice.of(&[None, Some(0x0a2d_0002), Some(0)]),
        source_port: dice.of(&[None, Some(80), Some(0)]),
        destination_port: dice.of(&[None, Some(u16::MAX)]),
        protocol: dice.of(&[None, Some(17), Some(6), Some(0), Some(1), Some(255)]),
    };
    let message = match dice.below(6) {
        0 => tc::ControlMessage::Classifier(match dice.below(6) {
            0 => tc::ClassifierControl::Add(tc::NewFilter::RoundRobin),
            1 => tc::ClassifierControl::Add(tc::NewFilter::Stochastic),
            2 => tc::ClassifierControl::Delete(tc::DeleteFilter::Osi(dice.id())),
            3 => tc::ClassifierControl::Modify(tc::ModifyFilter::Osi(tc::OsiFilter {
                id: dice.id(),
                flow,
                queue_id: dice.id(),
            })),
            _ => tc::ClassifierControl::Add(tc::NewFilter::Osi(tc::NewOsiFilter { flow, queue_id: dice.id() })),
        }),
        1 => tc::ControlMessage::Policer(match dice.below(5) {
            0 => tc::PolicerControl::Delete(dice.id()),
            1 => tc::PolicerControl::Add,
            _ => tc::PolicerControl::Modify(tc::ChangePolicer {
                id: dice.id(),
                drop_rate_kbps: dice.number(),
                deviation_id: dice.id(),
                deviation_rate_kbps: dice.number(),
                active: dice.below(2) == 0,
            }),
        }),
        2 => tc::ControlMessage::Queue(match dice.below(4) {
            0 => tc::QueueControl::Delete(tc::DeleteQueue {
                id: dice.id(),
                kind: dice.of(&[tc::QueueKind::Fifo, tc::QueueKind::CoDel, tc::QueueKind::EcnCoDel]),
            }),
            1 => tc::QueueControl::Modify(tc::ModifyQueue { id: dice.id(), parameters: queue_parameters(dice) }),
            _ => tc::QueueControl::Add(queue_parameters(dice)),
        }),
        3 => {
            let of_queues: List<'static, u32> = dice.list(3, Dice::number).into();
            tc::ControlMessage::Scheduler(match dice.below(4) {
                0 => tc::SchedulerControl::Modify(tc::Scheduler::RoundRobin),
                1 => tc::SchedulerControl::Modify(tc::Scheduler::Priority(of_queues)),
                2 => tc::SchedulerControl::Modify(tc::Scheduler::DeficitRoundRobin(of_queues)),
                _ => tc::SchedulerControl::Delete,
            })
        }
        4 => tc::ControlMessage::Shaper(match dice.below(4) {
            0 => tc::ShaperControl::Delete(dice.id()),
            _ => tc::ShaperControl::Modify(tc::ChangeShaper {
                id: dice.id(),
                window_ms: dice.number(),
                max_rate_kbps: dice.number(),
                active: dice.below(3) > 0,
            }),
        }),
        _ => tc::ControlMessage::Pacer(tc::PacerControl::Modify(dice.of(&[
            tc::PacerParameters::Off,
            tc::PacerParameters::Bdp5g(tc::Bdp { drb_octets: u32::MAX, timestamp_us: i64::MIN }),
        ]))),
    };
    let mut octets = Vec::new();
    // what cannot be encoded is sent as an empty message
    drop(message.encode(WIRE, &mut octets));
    octets
}

fn rc_control(dice: &mut Dice, node: &Node) -> (Vec<u8>, Vec<u8>) {
    let number = |dice: &mut Dice| dice.of(&[0u8, 1, 2, 5, 9, 32, 33, 63, 127, 255]);
    let ratio = |dice: &mut Dice| dice.of(&[0u8, 10, 50, 60, 100]);
    let network = PlmnIdentity::from_codes(1, 1, 2);
    let member = SNssai { sst: Sst([dice.of(&[1, 2, 9])]), sd: None };
    let condition = MeasurementCondition::A3 { offset_half_db: dice.of(&[-31, -30, 0, 30, 31]) };
    let event = MeasurementEvent {
        condition,
        hysteresis_half_db: dice.of(&[0, 30, 31]),
        time_to_trigger_ms: dice.of(&[0, 100, 101, 5120]),
    };
    let interval_ms = dice.of(&[0, 120, 5000]);
    let trigger = dice.of(&[MeasurementTrigger::Event(event), MeasurementTrigger::Periodic { interval_ms }]);
    let action = match dice.below(9) {
        0 => ControlAction::Handover(Handover::to(testing::cell_of(dice.below(3) as u16))),
        1 => ControlAction::Drx(Drx {
            long_cycle: number(dice),
            short_cycle: dice.of(&[None, None, Some(3), Some(255)]),
            short_cycle_timer: dice.of(&[None, Some(0), Some(4), Some(255)]),
        }),
        2 => ControlAction::SlicePrbQuota(SlicePrbQuota::of_slice(network, member, ratio(dice), ratio(dice))),
        3 => ControlAction::QosFlowMapping(QosFlowMapping {
            drb_id: number(dice),
            flows: vec![MappedFlow { qfi: number(dice), direction: None }],
        }),
        4 => ControlAction::ConditionalHandover(match dice.below(3) {
            0 => ConditionalHandover::Cancel,
            kind => {
                let target = testing::cell_of(dice.below(3) as u16);
                ConditionalHandover::Prepare { target, condition: (kind == 1).then_some(event) }
            }
        }),
        5 => ControlAction::AddMeasurement(trigger),
        6 => ControlAction::ModifyMeasurement(MeasurementChange { id: number(dice), trigger }),
        7 => ControlAction::DeleteMeasurement(number(dice)),
        _ => ControlAction::DrbQos(DrbQos {
            drb_id: number(dice),
            five_qi: dice.of(&[None, Some(1), Some(9), Some(0), Some(255)]),
            priority_level: dice.of(&[None, Some(1), Some(127)]),
            ..DrbQos::default()
        }),
    };
    let name = KpmSource::ue_id(node, Ue(dice.below(8)));
    Control::of_ue(name, action).encode(RanConfig::default().rc_revision).unwrap_or_default()
}

/// The state of a node that controllers see: slices and their UEs, traffic control, bearers.
fn visible_state(node: &Node) -> String {
    let mut ues = Vec::new();
    KpmSource::ues(node, &mut ues);
    let slice_associations: Vec<_> =
        ues.iter().map(|ue| (SliceSource::slice_association(node, *ue), node.context(*ue))).collect();
    format!("{:?} {:?} {slice_associations:?}", SliceSource::slices(node), TcSource::configuration(node))
}

/// Asserts that the reported state is that of the model.
fn assert_consistent(node: &Node) {
    let cell = node.cell();
    let (model, reported) = (crate::traffic_control::from_model(&cell.config().tc), TcSource::configuration(node));
    assert_eq!((&model.classifier, &model.scheduler), (&reported.classifier, &reported.scheduler));
    let queues = |of: &ran_functions::tc::Configuration| -> Vec<_> {
        of.queues.iter().map(|queue| (queue.id, queue.parameters)).collect()
    };
    assert_eq!(queues(&model), queues(reported));
    let direction = &SliceSource::slices(node).dl;
    let slices = &direction.slices;
    let algorithm = slices.first().map(|slice| slice.parameters.algorithm().to_string());
    let is_other = matches!(&*direction.scheduler, "NVS" | "NVS-PARTITION" | "STATIC")
        && algorithm.is_some_and(|algorithm| !direction.scheduler.starts_with(&*algorithm));
    assert!(!is_other, "{direction:?}");
    for (place, ue) in cell.ues() {
        let slice_association = SliceSource::slice_association(node, ue_of(cell.ue_entry(place)));
        let at = slices.iter().position(|slice| Some(slice.id) == slice_association.dl);
        if !slices.is_empty() {
            assert_eq!(ue.downlink().slice(), at.map(|at| at as u32));
        }
        let context = node.context(ue_of(cell.ue_entry(place))).unwrap();
        assert!(ue.bearers().iter().any(|bearer| bearer.id() == context.drb));
    }
}

#[test]
fn arbitrary_controls_keep_the_ran_consistent() {
    for seed in 0..SEEDS {
        let mut dice = Dice(Random::new(seed, 0));
        let mut config = RanConfig { scenario: Scenario::with_mixed_traffic(2, 4, seed), ..RanConfig::default() };
        config.periodic.wire = WIRE;
        let nodes: Vec<Rc<RefCell<Node>>> =
            testing::nodes(&config).into_iter().map(|node| Rc::new(RefCell::new(node))).collect();
        let mut functions = crate::functions::of_node(&nodes[0], &config, &crate::functions::clock(&config, None));
        let at = |id: u16| functions.iter().position(|function| function.id().0 == id).unwrap();
        let (rc, slice, tc) = (at(3), at(145), at(146));
        let mut now = Time::from_nanos(5_000_000_000);
        let mut views = Views::with_first(ControllerId(1));
        let (mut accepted, mut refused) = (0, 0);
        for step in 0..80 {
            now = now + Duration::from_millis(1 + dice.below(20));
            nodes.iter().for_each(|node| KpmSource::advance(&mut *node.borrow_mut(), now));
            let controller = ControllerId(1 + dice.below(8) as u32 / 7);
            let mut header = Vec::new();
            let (function, mut message) = match dice.below(3) {
                0 => {
                    let (of_control, message) = rc_control(&mut dice, &nodes[0].borrow());
                    header = of_control;
                    (rc, message)
                }
                1 => {
                    slice::ControlHeader::default().encode(WIRE, &mut header).unwrap();
                    (slice, slice_control(&mut dice))
                }
                _ => {
                    tc::ControlHeader::default().encode(WIRE, &mut header).unwrap();
                    (tc, tc_control(&mut dice))
                }
            };
            if dice.below(10) == 0 && !message.is_empty() {
                let place = dice.below(message.len() as u64) as usize;
                message[place] ^= 1 << dice.below(8);
            }
            let request = ControlRequest {
                request_id: RicRequestId { requestor: 1, instance: 1 },
                ran_function_id: functions[function].id(),
                call_process_id: None,
                header,
                message,
            };
            let before = visible_state(&nodes[0].borrow());
            let answer = functions[function].control(
                now,
                controller,
                &request,
                &mut FunctionContext::new(&mut views, &mut NullTransport),
            );
            match answer {
                Ok(_) => accepted += 1,
                Err(failure) => {
                    refused += 1;
                    assert_eq!(visible_state(&nodes[0].borrow()), before, "seed {seed}, step {step}: {failure:?}");
                }
            }
            assert_consistent(&nodes[0].borrow());
        }
        assert!(accepted > 5 && refused > 5, "seed {seed}: {accepted} accepted, {refused} refused");
    }
}
