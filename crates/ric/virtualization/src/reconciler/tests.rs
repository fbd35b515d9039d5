//! The reconciler against a model of a base station.

use std::cell::Cell;
use std::sync::Arc;

use e2sm::Arena;
use e2sm::common::{Cgi, GnbCuUeF1apId, NrCgi, PlmnIdentity, RntiValue, UeId, UeIdGnbDu};
use e2sm::rrc::{self, Event, Notification};
use e2sm::slice::{
    DeleteSlices, DirectionSlices, NO_SLICE, NvsParameters, Parameters, Share, Slice, SliceConfiguration, UeSlices,
};
use ferric::e2::Function;
use ferric::e2ap::{GlobalE2NodeId, RanFunctionRevision};
use ids::{Direction, GnbId};

use super::*;
use crate::base_station::{Changes, observe};
use crate::node::{NodeState, Offered, SharedNode};

const WIRE: Wire = Wire::Per;
const RRC: RanFunctionId = RanFunctionId(1);
const SLICE: RanFunctionId = RanFunctionId(2);
/// Rounding errors of shares on the wire.
const ROUNDING: f64 = 1e-5;
/// No slice has less than this share, nearly.
const LEAST_SHARE: f64 = 2e-4;

fn plmn(number: u16) -> PlmnIdentity {
    PlmnIdentity::from_codes(1, number, 2)
}

/// Agreements of tenants with these numbers, which are those of their PLMNs, and shares in percent.
fn sla(tenants: &[(u16, u32)]) -> Sla {
    let table = |(number, share): &(u16, u32)| {
        let plmn = plmn(*number);
        format!(
            "[[tenant]]\nname = \"t{number}\"\nshare_percent = {share}\nplmn = \"{plmn}\"\nric = \"tcp://127.0.0.1:1\"\n"
        )
    };
    Sla::parse(&tenants.iter().map(table).collect::<String>()).unwrap()
}

fn share_of(slice: &Slice<'_>) -> f64 {
    match &slice.parameters {
        Parameters::Nvs(NvsParameters::Capacity(share)) => share.reserved.into(),
        Parameters::Nvs(NvsParameters::Rate(rate)) => f64::from(rate.required_mbps) / f64::from(rate.reference_mbps),
        other => panic!("{other:?}"),
    }
}

fn sum<'a, 's: 'a>(slices: impl Iterator<Item = &'a Slice<'s>>) -> f64 {
    slices.map(share_of).sum()
}

/// A base station with slices: the sum of each direction is at most the cell.
#[derive(Default)]
struct Model {
    state: PhysicalSlices,
    /// The UEs of the cell, and the tenants' numbers of their PLMNs.
    ues: BTreeMap<u16, u16>,
    /// Controls that would have exceeded the cell.
    over_capacity: usize,
}

impl Model {
    fn execute(&mut self, step: &ControlMessage<'static>) -> Result<(), &'static str> {
        match step {
            ControlMessage::Delete(ids) => {
                let exists = |at: usize, ids: &[u32]| ids.iter().all(|id| self.state.slices[at].contains_key(id));
                if !exists(0, &ids.dl) || !exists(1, &ids.ul) {
                    return Err("there is no such slice");
                }
            }
            ControlMessage::AddOrModify(_) => {}
            ControlMessage::Associate(ues) => {
                let exists = |at: usize, id: u32| id == NO_SLICE || self.state.slices[at].contains_key(&id);
                let is_valid =
                    |ue: &UeSlices| self.ues.contains_key(&ue.rnti) && exists(0, ue.dl_id) && exists(1, ue.ul_id);
                if !ues.iter().all(is_valid) {
                    return Err("there is no such slice or UE");
                }
            }
        }
        let mut next = self.state.clone();
        next.apply(step);
        if next.slices.iter().any(|slices| sum(slices.values()) > 1.0 + ROUNDING) {
            self.over_capacity += 1;
            return Err("the slices would exceed the cell");
        }
        self.state = next;
        Ok(())
    }

    fn report(&self) -> Vec<u8> {
        let direction = |at: usize| DirectionSlices {
            scheduler: PrintableString::literal("NVS"),
            slices: self.state.slices[at].values().cloned().collect(),
        };
        let of_ue = |rnti: &u16| self.state.ues.get(rnti).copied().unwrap_or([NO_SLICE; 2]);
        let ues = self.ues.keys().map(|rnti| UeSlices { dl_id: of_ue(rnti)[0], ul_id: of_ue(rnti)[1], rnti: *rnti });
        let slices = SliceConfiguration { dl: direction(0), ul: direction(1) };
        let mut out = Vec::new();
        SliceMessage { slices, ues: ues.collect(), timestamp_us: 0 }.encode(WIRE, &mut out).unwrap();
        out
    }
}

/// A base station as the controller has it, with the model behind it.
struct Bench {
    node: BaseStation,
    model: Model,
    /// The control that waits for its answer.
    sent: Option<(Ticket, ControlMessage<'static>)>,
    tickets: u32,
}

impl Bench {
    fn new(sla: Sla) -> Bench {
        let sla = Arc::new(sla);
        let function =
            |id| Function { id, revision: RanFunctionRevision(0), oid: String::new(), definition: Vec::new() };
        let node = BaseStation {
            global_id: GlobalE2NodeId::gnb(plmn(1), GnbId::new(1, 22)),
            functions: vec![(function(RRC), Offered::Rrc(WIRE)), (function(SLICE), Offered::Slice(WIRE))],
            virtual_nodes: vec![None; sla.tenants.len()],
            shared: SharedNode::new(NodeState::new("gnb".to_owned(), plmn(1), sla)),
            slices: Reconciler::default(),
            tc: crate::tc::Jobs::default(),
            has_outgoing: Cell::new(false),
        };
        Bench { node, model: Model::default(), sent: None, tickets: 0 }
    }

    fn advance(&mut self) {
        let Bench { node, sent, tickets, .. } = self;
        advance_by(node, &mut |function, _, message| {
            assert_eq!(function, SLICE);
            assert!(sent.is_none(), "one control at a time");
            *tickets += 1;
            *sent = Some((Ticket(*tickets), ControlMessage::decode_owned(message, WIRE).unwrap()));
            Ok(Ticket(*tickets))
        });
    }

    /// The base station answers the control that waits, if there is one; it refuses each if `refuses`.
    fn answer(&mut self, refuses: bool) {
        self.answer_if(|_| refuses);
    }

    /// The same; it refuses the steps that `refuses` selects.
    fn answer_if(&mut self, refuses: impl Fn(&ControlMessage<'static>) -> bool) {
        let Some((ticket, step)) = self.sent.take() else { return };
        assert!(self.node.slices.is_awaited(ticket));
        let executed = if refuses(&step) { Err("not now") } else { self.model.execute(&step) };
        let cause = Cause::RicRequest(CauseRicRequest::ControlFailedToExecute);
        let answer = match executed {
            Ok(()) => ControlOutcome::Acknowledged(None),
            Err(_) => ControlOutcome::Failed { cause, outcome: None },
        };
        step_done(&mut self.node, &answer, false);
        self.advance();
    }

    fn report(&mut self) {
        observe(&mut self.node, Offered::Slice(WIRE), &self.model.report(), &Arena::new());
        self.advance();
    }

    /// A UE of a tenant comes or goes.
    fn notify(&mut self, rnti: u16, number: u16, event: Event) {
        if event == Event::Detached {
            self.model.ues.remove(&rnti);
            self.model.state.ues.remove(&rnti);
        } else {
            self.model.ues.insert(rnti, number);
        }
        let ue_id = UeIdGnbDu { gnb_cu_ue_f1ap_id: GnbCuUeF1apId(rnti.into()), ran_ueid: None, cell_rnti: None };
        let notification = Notification {
            event,
            ue_id: UeId::GnbDu(ue_id),
            rnti: RntiValue(rnti),
            cell: Cgi::NrCgi(NrCgi::new(plmn(1), 1)),
            plmn: plmn(number),
            s_nssais: Vec::new().into(),
            addresses: None,
        };
        let mut message = Vec::new();
        rrc::IndicationMessage { notifications: vec![notification].into() }.encode(WIRE, &mut message).unwrap();
        observe(&mut self.node, Offered::Rrc(WIRE), &message, &Arena::new());
        self.advance();
    }

    fn control(&mut self, tenant: usize, message: ControlMessage<'static>) {
        let job = Job::Control {
            controller: ControllerId(1),
            id: RicRequestId { requestor: 1, instance: 1 },
            message,
            wire: WIRE,
        };
        self.node.slices.push(tenant, job);
        self.advance();
    }

    fn replace_sla(&mut self, next: Sla) {
        let before = self.node.shared.lock().sla.clone();
        let next = Arc::new(before.succeeded_by(next));
        self.node.replace_sla(&next, &Changes::between(&before, &next));
        self.advance();
    }

    /// Answers and reports until nothing is to be done any more.
    fn settle(&mut self) {
        // the longest wait of a retry, and a wait after it
        let is_refused = !self.node.slices.refused.is_empty() || self.node.slices.ownerless_refused.is_some();
        let reports = if is_refused { MAX_RETRY_REPORTS + 8 } else { 4 };
        for _ in 0..reports {
            self.report();
            for _ in 0..100 {
                self.answer(false);
            }
            assert!(self.sent.is_none(), "it does not end");
        }
    }

    /// The sum of the slices of each place in a direction, and that of all others in ranges of tenants.
    fn sums(&self, direction: usize) -> (Vec<f64>, f64) {
        let sla = self.node.shared.lock().sla.clone();
        let mut sums = vec![0.0; sla.tenants.len()];
        let mut others = 0.0;
        for (id, slice) in &self.model.state.slices[direction] {
            match Part::tenant_of(*id).map(|tenant| tenant as usize).filter(|tenant| sla.has_tenant(*tenant)) {
                Some(tenant) => sums[tenant] += share_of(slice),
                None => others += share_of(slice),
            }
        }
        (sums, others)
    }

    /// Each tenant has its share, what it has configured, and its own UEs; nobody else has anything.
    fn check_settled(&self, seed: u64) {
        let shared = self.node.shared.lock();
        let sla = shared.sla.clone();
        let mut expected = PhysicalSlices::default();
        for tenant in (0..sla.tenants.len()).filter(|tenant| sla.has_tenant(*tenant)) {
            let state = &shared.tenants[tenant];
            let ues: Vec<u16> = shared.ues.of(tenant).collect();
            let number: u16 = sla.tenants[tenant].name[1..].parse().unwrap();
            let own = self.model.ues.iter().filter(|(_, of)| **of == number).map(|(rnti, _)| *rnti);
            assert_eq!(ues, own.collect::<Vec<_>>(), "seed {seed}: tenant {tenant}");
            let physical = state.slices.physical(state.part, ues.into_iter());
            for at in 0..2 {
                expected.slices[at].extend(physical.slices[at].clone());
            }
            expected.ues.extend(physical.ues);
        }
        drop(shared);
        assert_eq!(self.model.state.slices, expected.slices, "seed {seed}");
        for (rnti, slices) in &self.model.state.ues {
            let expected = expected.ues.get(rnti).copied().unwrap_or([NO_SLICE; 2]);
            assert_eq!(*slices, expected, "seed {seed}: UE {rnti}");
        }
        for direction in 0..2 {
            let (sums, others) = self.sums(direction);
            assert_eq!(others, 0.0, "seed {seed}");
            for (tenant, sum) in sums.iter().enumerate() {
                let share = sla.tenants[tenant].share;
                assert!((sum - share).abs() < LEAST_SHARE, "seed {seed}: tenant {tenant} has {sum} of {share}");
            }
        }
    }
}

fn capacity(id: u32, percent: u32) -> Slice<'static> {
    let parameters = NvsParameters::Capacity(Share { reserved: percent as f32 / 100.0 });
    let none = PrintableString::literal("");
    Slice { id, label: none.clone(), ue_scheduler: none, parameters: Parameters::Nvs(parameters) }
}

fn add(slices: Vec<Slice<'static>>, direction: Direction) -> ControlMessage<'static> {
    let slices = DirectionSlices { scheduler: PrintableString::literal("NVS"), slices: slices.into() };
    ControlMessage::AddOrModify(match direction {
        Direction::Downlink => SliceConfiguration { dl: slices, ul: DirectionSlices::default() },
        Direction::Uplink => SliceConfiguration { dl: DirectionSlices::default(), ul: slices },
    })
}

/// A refresh of a tenant that is to grow waits already when the agreements change.
#[test]
fn waiting_refresh_of_a_tenant_that_grows_is_behind_what_shrinks() {
    let mut bench = Bench::new(sla(&[(1, 80), (2, 20)]));
    bench.settle();
    bench.check_settled(0);
    // a control is in progress, and both tenants have more to do
    bench.notify(11, 1, Event::Attached);
    assert!(bench.sent.is_some());
    bench.notify(21, 2, Event::Attached);
    bench.control(1, add(vec![capacity(3, 60)], Direction::Downlink));
    bench.replace_sla(sla(&[(1, 20), (2, 80)]));
    bench.settle();
    bench.check_settled(0);
    assert_eq!(bench.model.over_capacity, 0);
    assert!((bench.sums(0).0[1] - 0.8).abs() < ROUNDING);
    assert_eq!(bench.node.shared.lock().tenants[1].slices.slices(Direction::Downlink).len(), 1);
}

#[test]
fn refused_change_of_a_share_is_tried_again_with_longer_waits() {
    let mut bench = Bench::new(sla(&[(1, 20), (2, 20)]));
    bench.settle();
    bench.replace_sla(sla(&[(1, 20), (2, 80)]));
    let mut tries = Vec::new();
    for report in 0..300 {
        tries.extend(bench.sent.is_some().then_some(report));
        bench.answer(true);
        assert!(bench.sent.is_none(), "it is tried again with a report only");
        bench.report();
    }
    assert_eq!(tries, [0, 1, 3, 7, 15, 31, 63, 127, 191, 255]);
    // the base station takes it at last
    bench.settle();
    bench.check_settled(0);
    // the next refusal is the first one again
    bench.replace_sla(sla(&[(1, 20), (2, 70)]));
    bench.answer(true);
    bench.report();
    assert!(bench.sent.is_some());
}

/// The base station refuses that a tenant shrinks, and the tenant has as many controls waiting as it may.
#[test]
fn tenant_whose_slices_are_refused_does_not_keep_others_waiting() {
    let mut bench = Bench::new(sla(&[(1, 80), (2, 20)]));
    bench.settle();
    let is_of_first = |step: &ControlMessage<'static>| match step {
        ControlMessage::AddOrModify(slices) => {
            slices.dl.slices.iter().chain(slices.ul.slices.iter()).any(|slice| Part::tenant_of(slice.id) == Some(0))
        }
        _ => false,
    };
    bench.replace_sla(sla(&[(1, 20), (2, 20)]));
    let (mut refreshes, mut controls, mut answers) = (0, 0, 0);
    // another tenant's slice is there after a control of each
    while bench.node.shared.lock().tenants[1].slices.slices(Direction::Downlink).is_empty() {
        let own = |bench: &Bench| bench.node.slices.queue.iter().filter(|(tenant, _)| *tenant == 0).count();
        while own(&bench) < crate::node::MAX_CONTROLS {
            bench.control(0, add(vec![capacity(3, 60)], Direction::Downlink));
        }
        if answers == 0 {
            bench.control(1, add(vec![capacity(3, 60)], Direction::Downlink));
        }
        match &bench.node.slices.running.as_ref().unwrap().owner {
            Some((0, Job::Refresh)) => refreshes += 1,
            Some((0, _)) => controls += 1,
            _ => {}
        }
        bench.answer_if(is_of_first);
        answers += 1;
        assert!(answers < 20, "{refreshes} refreshes and {controls} controls of the other tenant");
    }
    assert!(refreshes == 1 && controls <= 2, "{refreshes} refreshes, {controls} controls");
    // its controls fail, without a refresh each before the next report
    for _ in 0..crate::node::MAX_CONTROLS + 4 {
        if let Some(Running { owner: Some((0, Job::Refresh)), .. }) = &bench.node.slices.running {
            refreshes += 1;
        }
        bench.answer_if(is_of_first);
    }
    assert!(bench.sent.is_none() && bench.node.slices.queue.is_empty());
    assert_eq!(refreshes, 1);
    bench.settle();
    bench.check_settled(0);
}

#[test]
fn tenant_with_many_controls_has_one_in_each_turn() {
    let mut bench = Bench::new(sla(&[(1, 50), (2, 30), (3, 20)]));
    bench.settle();
    for tenant in [0, 0, 0, 0, 1, 1, 2] {
        bench.control(tenant, add(vec![capacity(3, 10 + bench.tickets % 50)], Direction::Downlink));
    }
    // each of another size
    for (at, (_, job)) in bench.node.slices.queue.iter_mut().enumerate() {
        if let Job::Control { message, .. } = job {
            *message = add(vec![capacity(3, 20 + at as u32)], Direction::Downlink);
        }
    }
    let mut served = Vec::new();
    while let Some(Running { owner: Some((tenant, _)), .. }) = &bench.node.slices.running {
        served.push(*tenant);
        bench.answer(false);
    }
    served.dedup();
    assert_eq!(served, [0, 1, 2, 0, 1, 0], "{served:?}");
}

#[test]
fn refused_deletion_for_a_former_tenant_is_tried_again_with_longer_waits_and_holds_growth() {
    let mut bench = Bench::new(sla(&[(1, 50), (2, 50)]));
    bench.settle();
    bench.replace_sla(sla(&[(1, 80)]));
    let mut tries = Vec::new();
    for report in 0..300 {
        for _ in 0..4 {
            if matches!(bench.sent, Some((_, ControlMessage::Delete(_)))) {
                tries.push(report);
            }
            bench.answer_if(|step| matches!(step, ControlMessage::Delete(_)));
        }
        assert!(bench.sent.is_none(), "it is tried again with a report only");
        assert!((bench.sums(0).0[0] - 0.5).abs() < ROUNDING, "{report}");
        bench.report();
    }
    assert_eq!(tries, [0, 1, 3, 7, 15, 31, 63, 127, 191, 255]);
    assert_eq!(bench.model.over_capacity, 0);
    // the base station takes it at last, and the tenant grows at once
    while !matches!(bench.sent, Some((_, ControlMessage::Delete(_)))) {
        bench.report();
    }
    for _ in 0..4 {
        bench.answer(false);
    }
    assert!((bench.sums(0).0[0] - 0.8).abs() < ROUNDING);
    bench.settle();
    bench.check_settled(0);
}

/// Random tenants, agreements, slices, arrivals and departures, with answers and reports at any time between. Half of the base
/// stations refuse some controls for reasons of their own.
#[test]
fn base_station_has_what_the_agreements_say_and_never_more_than_the_cell() {
    // the last two showed errors of their own
    for seed in (1..=200).chain([462, 1077]) {
        let mut random = crate::slices::tests::Random(seed);
        let refuses_some = seed % 2 == 0;
        let agreements = |random: &mut crate::slices::tests::Random| {
            let mut left = 100;
            let mut tenants: Vec<(u16, u32)> = Vec::new();
            for number in 1..=5 {
                if left > 1 && random.below(3) > 0 {
                    // the whole cell is often taken
                    let share = if random.below(3) == 0 { left } else { 1 + random.below(left - 1) };
                    left -= share;
                    tenants.push((number, share));
                }
            }
            if tenants.is_empty() { sla(&[(1, 100)]) } else { sla(&tenants) }
        };
        let mut bench = Bench::new(agreements(&mut random));
        // the largest share of each place since it was settled
        let mut largest: Vec<f64> = Vec::new();
        for step in 0..150 {
            match random.below(12) {
                0 | 1 => bench.report(),
                2..=5 => {
                    let refuses = refuses_some && random.below(5) == 0;
                    bench.answer(refuses);
                }
                6 => bench.replace_sla(agreements(&mut random)),
                7 => {
                    let (rnti, number) = (random.below(12) as u16, 1 + random.below(6) as u16);
                    if !bench.model.ues.contains_key(&rnti) {
                        bench.notify(rnti, number, Event::Attached);
                    }
                }
                8 => {
                    let rnti = random.below(12) as u16;
                    if let Some(number) = bench.model.ues.get(&rnti).copied() {
                        bench.notify(rnti, number, Event::Detached);
                    }
                }
                kind => {
                    let sla = bench.node.shared.lock().sla.clone();
                    let tenant = random.below(sla.tenants.len() as u32) as usize;
                    let id = random.below(4);
                    let direction = Direction::BOTH[random.below(2) as usize];
                    let control = match kind {
                        9 => {
                            add(vec![capacity(id, 1 + random.below(60)), capacity(id + 1, random.below(50))], direction)
                        }
                        10 => ControlMessage::Delete(DeleteSlices { dl: vec![id].into(), ul: vec![].into() }),
                        _ => {
                            let ue = UeSlices { dl_id: id, ul_id: NO_SLICE, rnti: random.below(12) as u16 };
                            ControlMessage::Associate(vec![ue].into())
                        }
                    };
                    if sla.has_tenant(tenant) {
                        bench.control(tenant, control);
                    }
                }
            }
            let sla = bench.node.shared.lock().sla.clone();
            largest.resize(sla.tenants.len(), 0.0);
            for (largest, tenant) in largest.iter_mut().zip(&sla.tenants) {
                *largest = largest.max(tenant.share);
            }
            for direction in 0..2 {
                let (sums, _) = bench.sums(direction);
                for (tenant, (sum, largest)) in sums.iter().zip(&largest).enumerate() {
                    assert!(*sum < largest + ROUNDING, "seed {seed}, step {step}: tenant {tenant}: {sum} of {largest}");
                }
            }
            if step % 50 == 49 {
                bench.settle();
                bench.check_settled(seed);
                largest = sla.tenants.iter().map(|tenant| tenant.share).collect();
            }
            // a base station that refuses that one tenant shrinks refuses that another one grows
            assert!(refuses_some || bench.model.over_capacity == 0, "seed {seed}, step {step}");
        }
    }
}
