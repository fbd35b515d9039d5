//! The threads of the control plane: RRC suspends and resumes UEs, S1AP encodes it, and the association carries it to the MME, which
//! answers.

use std::net::{SocketAddr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc;
use std::time::Duration;

use ap::s1ap::{UeContextResumeRequest, UeContextSuspendRequest, UeS1apIds};
use ids::MmeUeS1apId;

use crate::network::Pair;
use crate::threads::{Role, Threads};
use crate::{Error, POLL};

/// The period of RRC's work: the reporting interval of UEs (TS 36.331 ReportConfigEUTRA, ms120).
const RRC_PERIOD: Duration = Duration::from_millis(120);
/// Messages that wait between two threads.
const QUEUE: usize = 64;
const MAX_OCTETS: usize = 512;

/// Starts TASK_RRC, TASK_S1AP and TASK_SCTP, and the MME, which returns each message. Returns the count of answers.
pub(crate) fn start(threads: &mut Threads, s1: &Pair, ues: u32) -> Result<Arc<AtomicU64>, Error> {
    let answered = Arc::new(AtomicU64::new(0));
    let (to_s1ap, from_rrc) = mpsc::sync_channel::<(u32, bool)>(QUEUE);
    let (to_sctp, from_s1ap) = mpsc::sync_channel::<Vec<u8>>(QUEUE);
    let stop = Arc::clone(&threads.stop);
    threads.start(Role::Rrc, move || {
        let (mut ue, mut is_suspended) = (0, false);
        while !stop.load(Ordering::Acquire) {
            std::thread::sleep(RRC_PERIOD);
            // S1AP is late: RRC repeats it in the next period
            if to_s1ap.try_send((ue, is_suspended)).is_ok() {
                (ue, is_suspended) = if is_suspended { ((ue + 1) % ues.max(1), false) } else { (ue, true) };
            }
        }
    })?;
    threads.start(Role::S1ap, move || {
        while let Ok((ue, is_suspended)) = from_rrc.recv() {
            let ids = UeS1apIds { mme_ue_s1ap_id: MmeUeS1apId(ue + 1), enb_ue_s1ap_id: ue };
            let message = match is_suspended {
                true => UeContextResumeRequest(ids).encode(),
                false => UeContextSuspendRequest(ids).encode(),
            };
            if let Ok(message) = message {
                let _ = to_sctp.try_send(message);
            }
        }
    })?;
    let share = |socket: &UdpSocket| -> Result<UdpSocket, Error> {
        socket.set_read_timeout(Some(POLL)).map_err(Error::socket("limit the wait of S1"))?;
        socket.try_clone().map_err(Error::socket("share the socket of S1"))
    };
    let (socket, mme) = (share(&s1.unit)?, s1.peer_address);
    let counted = Arc::clone(&answered);
    threads.start(Role::Sctp, move || {
        let mut buffer = [0; MAX_OCTETS];
        while let Ok(message) = from_s1ap.recv() {
            let is_answer = socket.send_to(&message, mme).is_ok()
                && matches!(socket.recv_from(&mut buffer), Ok((length, from)) if from == mme && buffer[..length] == message);
            counted.fetch_add(u64::from(is_answer), Ordering::Relaxed);
        }
    })?;
    let socket = share(&s1.peer)?;
    let unit: SocketAddr = s1.unit_address;
    let stop = Arc::clone(&threads.stop);
    threads.start_outside("mme", move || {
        let mut buffer = [0; MAX_OCTETS];
        while !stop.load(Ordering::Acquire) {
            if let Ok((length, from)) = socket.recv_from(&mut buffer)
                && from == unit
            {
                let _ = socket.send_to(&buffer[..length], unit);
            }
        }
    })?;
    Ok(answered)
}
