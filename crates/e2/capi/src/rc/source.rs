//! The base station as E2SM-RC sees it: the UEs of its table, and what executes controls.

use std::borrow::Cow;
use std::ffi::{CStr, c_char, c_void};
use std::sync::Arc;

use e2sm::common::{Cgi, GnbCuUeF1apId, UeId, UeIdGnbDu};
use e2sm::rc::{ActionId, ControlAction, DrbQos, RanParameterElementItem, RanParameterId, SlicePrbQuota};
use ferric::agent::Ue;
use ferric::e2::Time;
use ferric::e2ap::{Cause, CauseRicRequest};
use ran_functions::rc::{Origin, RcSource, Refusal};

use super::{
    FERRIC_RC_ABSENT, FERRIC_RC_DRB_QOS, FERRIC_RC_DRX, FERRIC_RC_HANDOVER, FERRIC_RC_MAX_QUOTAS,
    FERRIC_RC_REASON_OCTETS, FERRIC_RC_SLICE_QUOTA, ferric_rc_control, ferric_rc_quota,
};
use crate::function::cause;
use crate::handle::InCallback;
use crate::kpm::{Counters, ferric_ue};
use crate::status::write_text;
use crate::ue::{Identity, ferric_slice};

/// Parameters of a handover that the interface in C does not have: PDU sessions, bearers and secondary cells (RC 8.4.4.1).
const REFUSED_OF_HANDOVER: [RanParameterId; 3] = [RanParameterId(7), RanParameterId(13), RanParameterId(19)];
/// Parameters of a bearer's QoS that it does not have: all but DRB ID, 5QI and priority level (RC 8.4.2.1).
const REFUSED_OF_DRB_QOS: [RanParameterId; 8] = [
    RanParameterId(3),
    RanParameterId(4),
    RanParameterId(7),
    RanParameterId(12),
    RanParameterId(19),
    RanParameterId(20),
    RanParameterId(21),
    RanParameterId(22),
];

/// What executes controls.
pub(super) enum Handler {
    /// A function of the base station.
    Callback {
        function:
            unsafe extern "C" fn(user: *mut c_void, control: *const ferric_rc_control, reason: *mut c_char) -> i32,
        user: *mut c_void,
    },
    /// A thread of the base station.
    Queue,
}

// SAFETY: the base station states that its callback and `user` may be used on the agent's thread
unsafe impl Send for Handler {}

impl Handler {
    pub fn callback(
        function: unsafe extern "C" fn(
            user: *mut c_void,
            control: *const ferric_rc_control,
            reason: *mut c_char,
        ) -> i32,
        user: *mut c_void,
    ) -> Self {
        Handler::Callback { function, user }
    }
}

/// A control for a thread of the base station, with the identity of its UE: the UE may have left when the answer comes.
#[derive(Clone)]
pub(super) struct Staged {
    pub control: ferric_rc_control,
    pub ue: Option<(Ue, Arc<Identity>)>,
}

/// What [`RcSource::control`] does.
pub(super) enum Pass {
    /// Has the handler execute.
    Execute,
    /// Collects what is to be executed by a thread of the base station.
    Collect(Vec<Staged>),
    /// Returns the answer of that thread.
    Answer(Box<Staged>, Option<Refusal>),
}

pub(super) struct Source {
    counters: Arc<Counters>,
    actions: Vec<ActionId>,
    handler: Handler,
    pub pass: Pass,
}

/// A refusal with a reason of the base station.
pub(super) fn refusal(code: i32, reason: &str) -> Refusal {
    let reason: String = reason.chars().map(|c| if c.is_ascii_graphic() || c == ' ' { c } else { '?' }).collect();
    Refusal::new(cause(code), Cow::Owned(reason))
}

fn refuse<T>(cause: CauseRicRequest, reason: impl Into<Cow<'static, str>>) -> Result<T, Refusal> {
    Err(Refusal::new(Cause::RicRequest(cause), reason))
}

impl Source {
    pub fn new(counters: Arc<Counters>, actions: Vec<ActionId>, handler: Handler) -> Self {
        Source { counters, actions, handler, pass: Pass::Execute }
    }

    /// The identity of a UE, which the replay of a control keeps.
    fn identity(&self, ue: Ue) -> Option<Arc<Identity>> {
        if let Pass::Answer(staged, _) = &self.pass
            && let Some((staged, identity)) = &staged.ue
            && *staged == ue
        {
            return Some(Arc::clone(identity));
        }
        let (generation, identity) = self.counters.ue_in((ue.0 >> 32) as usize)?;
        (generation == ue.0 as u32).then_some(identity)
    }

    fn quotas(&self, quota: &SlicePrbQuota, control: &mut ferric_rc_control) -> Result<(), Refusal> {
        if quota.policies.len() > FERRIC_RC_MAX_QUOTAS {
            return refuse(
                CauseRicRequest::FunctionResourceLimit,
                format!("a control has at most {FERRIC_RC_MAX_QUOTAS} network slices"),
            );
        }
        for (quota, policy) in control.quotas.iter_mut().zip(&quota.policies) {
            let [member] = policy.members[..] else {
                return refuse(CauseRicRequest::ControlMessageInvalid, "a quota of several network slices together");
            };
            if member.plmn_identity != self.counters.plmn_identity() {
                return refuse(CauseRicRequest::ControlMessageInvalid, "a network slice of another PLMN");
            }
            let percent = |share: Option<u8>| share.map_or(FERRIC_RC_ABSENT, u32::from);
            let sd = member.slice.sd.map(|sd| u32::from_be_bytes([0, sd.0[0], sd.0[1], sd.0[2]]));
            *quota = ferric_rc_quota {
                slice: ferric_slice { sst: member.slice.sst.0[0], has_sd: u8::from(sd.is_some()), sd: sd.unwrap_or(0) },
                min_percent: percent(policy.min_percent),
                max_percent: percent(policy.max_percent),
                dedicated_percent: percent(policy.dedicated_percent),
            };
        }
        control.quota_count = quota.policies.len() as u32;
        Ok(())
    }

    /// A control in C.
    fn control_of(&self, ue: Option<Ue>, action: &ControlAction) -> Result<ferric_rc_control, Refusal> {
        let no_quota = ferric_rc_quota {
            slice: ferric_slice { sst: 0, has_sd: 0, sd: 0 },
            min_percent: 0,
            max_percent: 0,
            dedicated_percent: 0,
        };
        let mut control = ferric_rc_control {
            id: 0,
            action: 0,
            ue: ferric_ue { id: ue.map_or(0, |ue| ue.0) },
            target_cell: 0,
            target_plmn: [0; 8],
            target_is_eutra: 0,
            long_cycle_ms: 0,
            short_cycle_ms: 0,
            short_cycle_timer: 0,
            drb: 0,
            has_five_qi: 0,
            five_qi: 0,
            priority: 0,
            quota_count: 0,
            quotas: [no_quota; FERRIC_RC_MAX_QUOTAS],
        };
        match action {
            ControlAction::Handover(handover) => {
                if let Some(other) = handover.other.first() {
                    let refusal = Refusal::new(
                        Cause::RicRequest(CauseRicRequest::ControlMessageInvalid),
                        "a handover has a target cell only",
                    );
                    return Err(Refusal { parameter: Some(other.ran_parameter_id), ..refusal });
                }
                let (plmn, cell, is_eutra) = match &handover.target {
                    Cgi::NrCgi(cell) => (cell.plmn_identity, cell.nr_cell_identity.value, 0),
                    Cgi::EutraCgi(cell) => (cell.plmn_identity, cell.eutra_cell_identity.value, 1),
                };
                (control.action, control.target_cell, control.target_is_eutra) = (FERRIC_RC_HANDOVER, cell, is_eutra);
                write_text(&mut control.target_plmn, plmn.to_string().as_bytes());
            }
            ControlAction::Drx(drx) => {
                control.action = FERRIC_RC_DRX;
                control.long_cycle_ms = drx.long_cycle_ms().map_or(0, u32::from);
                control.short_cycle_ms = drx.short_cycle_ms().map_or(0, u32::from);
                control.short_cycle_timer = drx.short_cycle_timer.map_or(0, u32::from);
            }
            ControlAction::DrbQos(qos) => {
                let DrbQos { drb_id, five_qi, priority_level, .. } = *qos;
                if *qos != (DrbQos { drb_id, five_qi, priority_level, ..DrbQos::default() }) {
                    let reason = "only 5QI and priority level of a bearer can be changed";
                    return refuse(CauseRicRequest::ControlMessageInvalid, reason);
                }
                (control.action, control.drb) = (FERRIC_RC_DRB_QOS, drb_id.into());
                (control.has_five_qi, control.five_qi) = (five_qi.is_some().into(), five_qi.map_or(0, u32::from));
                control.priority = priority_level.map_or(0, u32::from);
            }
            ControlAction::SlicePrbQuota(quota) => {
                control.action = FERRIC_RC_SLICE_QUOTA;
                self.quotas(quota, &mut control)?;
            }
            other => return refuse(CauseRicRequest::ActionNotSupported, format!("{} is not offered", other.id())),
        }
        Ok(control)
    }
}

impl RcSource for Source {
    fn cells(&self) -> Vec<Cgi> {
        vec![self.counters.cell()]
    }

    fn ues(&self, out: &mut Vec<Ue>) {
        if let Pass::Answer(staged, _) = &self.pass {
            return out.extend(staged.ue.as_ref().map(|(ue, _)| *ue));
        }
        out.extend((1..self.counters.row_count()).filter_map(|place| {
            let (generation, _) = self.counters.ue_in(place)?;
            Some(Ue((place as u64) << 32 | u64::from(generation)))
        }));
    }

    fn ue_id(&self, ue: Ue) -> UeId<'static> {
        match self.identity(ue) {
            Some(identity) => identity.id.clone(),
            // the UE has left since it was listed
            None => UeId::GnbDu(UeIdGnbDu { gnb_cu_ue_f1ap_id: GnbCuUeF1apId(0), ran_ueid: None, cell_rnti: None }),
        }
    }

    fn control_actions(&self) -> &[ActionId] {
        &self.actions
    }

    fn refused_parameters(&self, action: ActionId) -> &[RanParameterId] {
        match action {
            ControlAction::HANDOVER => &REFUSED_OF_HANDOVER,
            ControlAction::DRB_QOS => &REFUSED_OF_DRB_QOS,
            _ => &[],
        }
    }

    fn control(
        &mut self,
        _: Time,
        _: Origin,
        ue: Option<Ue>,
        action: &ControlAction,
    ) -> Result<Vec<RanParameterElementItem<'static>>, Refusal> {
        let control = self.control_of(ue, action)?;
        let identity = match ue {
            Some(ue) => match self.identity(ue) {
                Some(identity) => Some((ue, identity)),
                None => return refuse(CauseRicRequest::ControlFailedToExecute, "the UE has left"),
            },
            None => None,
        };
        match (&mut self.pass, &self.handler) {
            (Pass::Collect(staged), _) => staged.push(Staged { control, ue: identity }),
            (Pass::Answer(_, refusal), _) => return refusal.take().map_or(Ok(Vec::new()), Err),
            (Pass::Execute, Handler::Callback { function, user }) => {
                let mut reason = [0; FERRIC_RC_REASON_OCTETS];
                let callback = InCallback::enter();
                // SAFETY: the base station gave function and user for this call; all pointers are valid
                let answer = unsafe { function(*user, &raw const control, reason.as_mut_ptr()) };
                drop(callback);
                if answer != 0 {
                    // the base station may have overwritten the final zero
                    reason[FERRIC_RC_REASON_OCTETS - 1] = 0;
                    // SAFETY: the text ends with a zero
                    let reason = unsafe { CStr::from_ptr(reason.as_ptr()) };
                    return Err(refusal(answer, &reason.to_string_lossy()));
                }
            }
            // a queue collects, always
            (Pass::Execute, Handler::Queue) => return refuse(CauseRicRequest::SystemNotReady, "no thread executes"),
        }
        Ok(Vec::new())
    }
}
