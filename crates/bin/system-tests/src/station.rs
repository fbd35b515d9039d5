//! A base station whose UEs and functions a test controls.

use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use e2sm::common::{Cgi, EutraCgi, GnbCuUeF1apId, NrCgi, PlmnIdentity, RntiValue, SNssai, Sd, Sst, UeId, UeIdGnbDu};
use e2sm::rrc::{Event, Notification};
use e2sm::slice::{Algorithm, MODEL, SliceConfiguration};
use ferric::agent::{AgentLoop, AgentLoopConfig, NodeConfig, RanFunction, Ue};
use ferric::e2ap::{self, GlobalE2NodeId, RanFunctionId};
use ferric::link::Address;
use per::Bits;
use ran_functions::PeriodicConfig;
use ran_functions::rrc::{RrcConfig, RrcFunction, RrcSource};
use ran_functions::slice::{Capacity, Direction, SliceAssociation, SliceConfig, SliceFunction, SliceSource};

/// The eNB's id, as logged.
pub const NAME: &str = "enb-00101-77";

/// An F1 SETUP REQUEST whose first cell serves the UEs, encoded with pycrate's TS 38.473.
const F1_SETUP: &str = "0001008092000005004e00020003002a0003200e00002d400400806475002c00710002002b0021080000f1101234567890\
    00000000010000f110410009a73400004d002700021011002b0021080000f11012345678a000010000010000f110410009a73400004d0027\
    00021011002b0021080000f11012345678b000020000010000f110410009a73400004d00270002101100ab000100";

/// An order of a test.
enum Order {
    Attach {
        rnti: u16,
        plmn: [u16; 2],
        s_nssais: Vec<SNssai>,
        event: Event,
    },
    Detach(u16),
    /// The scheduler loses a UE that RRC still has.
    Lose(u16),
    /// A UE moves to another cell and C-RNTI.
    HandOver(u16, u16),
    /// A DU connects, with its cells in its node configuration or not.
    AddDu(i64, bool),
    /// The SLICE function is added or removed.
    Offer(bool),
    /// The scheduler refuses all slices, or accepts them.
    Break(bool),
}

/// A base station on a thread of its own.
pub struct Station {
    orders: Option<Sender<(Order, Sender<()>)>>,
    thread: Option<JoinHandle<()>>,
}

impl Station {
    /// Starts an eNB with SLICE and RRC.
    #[must_use]
    pub fn start(ric: &Address) -> Station {
        Station::start_as(ric, false)
    }

    /// Starts the CU-CP of a gNB without DUs.
    #[must_use]
    pub fn split(ric: &Address) -> Station {
        Station::start_as(ric, true)
    }

    fn start_as(ric: &Address, is_split: bool) -> Station {
        let (orders, received) = channel();
        let ric = ric.clone();
        let thread = std::thread::spawn(move || run(&ric, is_split, &received));
        Station { orders: Some(orders), thread: Some(thread) }
    }

    /// Executes an order, and returns when it is in effect.
    fn order(&self, order: Order) {
        let (done, is_done) = channel();
        self.orders.as_ref().unwrap().send((order, done)).unwrap();
        is_done.recv().unwrap();
    }

    /// Attaches a UE with its network (MCC, MNC) and its requested S-NSSAIs (SST, SD).
    pub fn attach(&self, rnti: u16, plmn: [u16; 2], s_nssais: &[(u8, Option<u32>)]) {
        self.attach_as(rnti, plmn, s_nssais, Event::Attached);
    }

    /// Adds a UE as [`Station::attach`], and reports another event for it.
    pub fn attach_as(&self, rnti: u16, plmn: [u16; 2], s_nssais: &[(u8, Option<u32>)], event: Event) {
        let sd = |sd: u32| {
            let [_, a, b, c] = sd.to_be_bytes();
            Sd([a, b, c])
        };
        let s_nssais = s_nssais.iter().map(|(sst, of)| SNssai { sst: Sst([*sst]), sd: of.map(sd) }).collect();
        self.order(Order::Attach { rnti, plmn, s_nssais, event });
    }

    /// Adds a DU, whose node configuration contains an F1 SETUP REQUEST with its cells or not.
    pub fn add_du(&self, du: i64, has_cells: bool) {
        self.order(Order::AddDu(du, has_cells));
    }

    /// Detaches a UE.
    pub fn detach(&self, rnti: u16) {
        self.order(Order::Detach(rnti));
    }

    /// Hands a UE over to another cell, where it has another C-RNTI.
    pub fn hand_over(&self, from: u16, to: u16) {
        self.order(Order::HandOver(from, to));
    }

    /// Removes a UE from the scheduler without a notification of RRC.
    pub fn lose(&self, rnti: u16) {
        self.order(Order::Lose(rnti));
    }

    /// Adds or removes the SLICE function.
    pub fn offer_slices(&self, offers: bool) {
        self.order(Order::Offer(offers));
    }

    /// Makes the scheduler refuse all slices, or accept them again.
    pub fn set_broken(&self, is_broken: bool) {
        self.order(Order::Break(is_broken));
    }
}

impl Drop for Station {
    fn drop(&mut self) {
        drop(self.orders.take());
        let ended = self.thread.take().unwrap().join();
        assert!(ended.is_ok() || std::thread::panicking(), "the base station panicked");
    }
}

/// Returns an E-UTRA cell.
pub fn cell(number: u64) -> Cgi {
    let plmn_identity = PlmnIdentity::from_codes(1, 1, 2);
    Cgi::EutraCgi(EutraCgi { plmn_identity, eutra_cell_identity: Bits::new(number, 28) })
}

/// Returns an NR cell.
fn nr_cell(number: u64) -> Cgi {
    let plmn_identity = PlmnIdentity::from_codes(1, 1, 2);
    Cgi::NrCgi(NrCgi { plmn_identity, nr_cell_identity: Bits::new(number, 36) })
}

fn enb() -> GlobalE2NodeId {
    let enb_id = e2ap::EnbId::MacroEnbId(Bits::new(0x77, 20));
    let global_enb_id = e2ap::GlobalEnbId { plmn_identity: PlmnIdentity::from_codes(1, 1, 2), enb_id };
    GlobalE2NodeId::Enb(e2ap::GlobalE2NodeEnbId { global_enb_id })
}

/// The F1 interface of a DU, with its cells.
fn f1(du: i64) -> e2ap::E2NodeComponentConfigAdditionItem<'static> {
    let octets = F1_SETUP.as_bytes().chunks(2).map(|two| std::str::from_utf8(two).unwrap());
    let request: Vec<u8> = octets.map(|two| u8::from_str_radix(two, 16).unwrap()).collect();
    let gnb_du_id = e2ap::GnbDuId(du);
    e2ap::E2NodeComponentConfigAdditionItem {
        interface_type: e2ap::E2NodeComponentInterfaceType::F1,
        id: e2ap::E2NodeComponentId::F1(e2ap::E2NodeComponentInterfaceF1 { gnb_du_id }),
        configuration: e2ap::E2NodeComponentConfiguration {
            request_part: request.into(),
            response_part: per::Octets::default(),
        },
    }
}

/// A gNB's CU-CP, or one of its DUs.
fn gnb(du: Option<i64>) -> GlobalE2NodeId {
    let whole = GlobalE2NodeId::gnb(e2ap::PlmnIdentity::from_codes(1, 1, 2), e2ap::GnbId::new(0x77, 22));
    let GlobalE2NodeId::Gnb(mut id) = whole else { unreachable!("a gNB") };
    id.gnb_du_id = du.map(e2ap::GnbDuId);
    GlobalE2NodeId::Gnb(id)
}

fn run(ric: &Address, is_split: bool, orders: &Receiver<(Order, Sender<()>)>) {
    let state = Rc::new(RefCell::new(State { is_nr: is_split, ..State::default() }));
    let mut agents = AgentLoop::new(AgentLoopConfig::default()).unwrap();
    let add = |agents: &mut AgentLoop, id, components, functions: Vec<Box<dyn RanFunction>>| {
        let node = agents.add_node(NodeConfig { components, ..NodeConfig::new(id) }, functions);
        agents.add_controller(node, ric.clone().into());
        node
    };
    let rrc = Box::new(RrcFunction::new(Rc::clone(&state), RrcConfig::default()));
    let node = if is_split {
        add(&mut agents, gnb(None), Vec::new(), vec![rrc])
    } else {
        add(&mut agents, enb(), Vec::new(), vec![Box::new(slice_function(&state)), rrc])
    };
    loop {
        match orders.try_recv() {
            Ok((order, done)) => {
                match order {
                    Order::AddDu(du, has_cells) => {
                        let components = if has_cells { vec![f1(du)] } else { Vec::new() };
                        add(&mut agents, gnb(Some(du)), components, vec![Box::new(slice_function(&state))]);
                    }
                    Order::Offer(offers) => {
                        if offers {
                            agents.add_function(node, Box::new(slice_function(&state))).unwrap();
                        } else {
                            agents.remove_function(node, RanFunctionId(MODEL.function_id)).unwrap();
                        }
                        agents.update_functions(node).unwrap();
                    }
                    order => state.borrow_mut().execute(order),
                }
                done.send(()).unwrap();
                agents.wake(node);
            }
            Err(std::sync::mpsc::TryRecvError::Disconnected) => return,
            Err(std::sync::mpsc::TryRecvError::Empty) => {}
        }
        agents.poll(Some(Duration::from_millis(2))).unwrap();
    }
}

fn slice_function(state: &Rc<RefCell<State>>) -> SliceFunction<Rc<RefCell<State>>> {
    let per = PeriodicConfig { wire: e2sm::Wire::Per, ..PeriodicConfig::default() };
    SliceFunction::new(Rc::clone(state), SliceConfig { periodic: per, ..SliceConfig::default() })
}

#[derive(Default)]
struct State {
    slices: SliceConfiguration<'static>,
    ues: BTreeMap<u64, (SliceAssociation, Notification<'static>)>,
    news: Vec<(Ue, Notification<'static>)>,
    is_broken: bool,
    is_nr: bool,
}

impl State {
    fn execute(&mut self, order: Order) {
        match order {
            Order::Attach { rnti, plmn: [mcc, mnc], s_nssais, event } => {
                let ue_id = UeId::GnbDu(UeIdGnbDu {
                    gnb_cu_ue_f1ap_id: GnbCuUeF1apId(rnti.into()),
                    ran_ueid: None,
                    cell_rnti: None,
                });
                let notification = Notification {
                    event,
                    ue_id,
                    rnti: RntiValue(rnti),
                    cell: if self.is_nr { nr_cell(0x1_2345_6789) } else { cell(1) },
                    plmn: PlmnIdentity::from_codes(mcc, mnc, 2),
                    s_nssais: s_nssais.into(),
                    addresses: None,
                };
                let ue = Ue(rnti.into());
                self.ues.insert(ue.0, (SliceAssociation::default(), notification.clone()));
                self.news.push((ue, notification));
            }
            Order::Detach(rnti) => {
                let ue = Ue(rnti.into());
                let (_, attached) = self.ues.remove(&ue.0).unwrap();
                self.news.push((ue, Notification { event: Event::Detached, ..attached }));
            }
            Order::HandOver(from, to) => {
                let (_, attached) = self.ues.remove(&from.into()).unwrap();
                let event = Event::HandedOver(attached.cell);
                let notification = Notification { event, rnti: RntiValue(to), cell: cell(2), ..attached };
                self.ues.insert(to.into(), (SliceAssociation::default(), notification.clone()));
                self.news.push((Ue(to.into()), notification));
            }
            Order::Lose(rnti) => drop(self.ues.remove(&rnti.into())),
            Order::AddDu(..) | Order::Offer(_) => unreachable!("the loop executes it"),
            Order::Break(is_broken) => self.is_broken = is_broken,
        }
    }
}

impl RrcSource for State {
    fn ues(&self, out: &mut Vec<Ue>) {
        out.extend(self.ues.keys().map(|ue| Ue(*ue)));
    }

    fn present(&self, ue: Ue) -> Notification<'static> {
        Notification { event: Event::Present, ..self.ues[&ue.0].1.clone() }
    }

    fn has_events(&self) -> bool {
        !self.news.is_empty()
    }

    fn take_events(&mut self, out: &mut Vec<(Ue, Notification<'static>)>) {
        out.append(&mut self.news);
    }
}

impl SliceSource for State {
    fn capacity(&self, _direction: Direction) -> Capacity {
        Capacity { prbs: 100, positions: 13 }
    }

    fn algorithms(&self) -> &[Algorithm] {
        &[Algorithm::Nvs, Algorithm::Static, Algorithm::Scn19, Algorithm::Edf]
    }

    fn has_ue_scheduler(&self, name: &str) -> bool {
        name == "PF"
    }

    fn slices(&self) -> &SliceConfiguration<'static> {
        &self.slices
    }

    fn set_slices(&mut self, slices: SliceConfiguration<'static>) -> Result<(), Cow<'static, str>> {
        if self.is_broken {
            return Err("the scheduler restarts".into());
        }
        self.slices = slices;
        Ok(())
    }

    fn ues(&self, out: &mut Vec<Ue>) {
        RrcSource::ues(self, out);
    }

    fn rnti(&self, ue: Ue) -> u16 {
        ue.0 as u16
    }

    fn slice_association(&self, ue: Ue) -> SliceAssociation {
        self.ues[&ue.0].0
    }

    fn set_slice_association(&mut self, ue: Ue, slice_association: SliceAssociation) {
        if let Some((there, _)) = self.ues.get_mut(&ue.0) {
            *there = slice_association;
        }
    }
}
