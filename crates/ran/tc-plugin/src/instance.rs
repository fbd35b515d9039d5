//! An instance of a plug-in, which implements the traits of `radio::tc`.

use core::ffi::CStr;
use std::sync::Arc;

use radio::tc::{
    Amount, Candidates, Classifier, Discipline, MAX_QUEUES, Pacer, RlcState, Scheduler, Transmission, Verdict,
};
use radio::{Packet, Time};

use crate::Loaded;
use crate::table::{Functions, State, TcPacket, TcQueue};

/// Memory aligned for every type of C.
#[derive(Clone, Copy)]
#[repr(C, align(16))]
struct Block([u8; 16]);

/// An instance of a plug-in. If it rejected its settings, its functions are not called.
pub(super) struct Instance {
    loaded: Arc<Loaded>,
    state: Box<[Block]>,
    code: i32,
    /// The argument of a scheduler; reused.
    queues: Vec<TcQueue>,
}

impl Instance {
    pub(super) fn new(loaded: Arc<Loaded>, settings: &CStr) -> Self {
        // at least one block, so that the pointer is valid
        let blocks = (loaded.functions.state_octets as usize).div_ceil(size_of::<Block>()).max(1);
        let state = vec![Block([0; 16]); blocks].into_boxed_slice();
        let mut instance = Instance { loaded, state, code: 0, queues: Vec::with_capacity(MAX_QUEUES) };
        if let Some(init) = instance.loaded.functions.init {
            #[allow(unsafe_code)]
            // SAFETY: required by the ABI. The state has the size that the plug-in requires and is not shared; the settings
            // end with a zero.
            let code = unsafe { init(instance.state(), settings.as_ptr()) };
            instance.code = code;
        }
        instance
    }

    /// The return value of `init`: 0 if the instance accepted its settings.
    pub(super) fn code(&self) -> i32 {
        self.code
    }

    fn state(&mut self) -> State {
        self.state.as_mut_ptr().cast()
    }

    /// A function of the plug-in, if it exists and may be called.
    fn function<F>(&self, of: impl Fn(&Functions) -> Option<F>) -> Option<F> {
        if self.code == 0 { of(&self.loaded.functions) } else { None }
    }
}

fn verdict(number: i32) -> Option<Verdict> {
    match number {
        0 => Some(Verdict::Pass),
        1 => Some(Verdict::Mark),
        2 => Some(Verdict::Drop),
        _ => None,
    }
}

impl Classifier for Instance {
    fn classify(&mut self, packet: &Packet, queues: usize) -> Option<usize> {
        // the packet arrives now
        let now = packet.entered;
        let classify = self.function(|functions| functions.classify)?;
        let packet = TcPacket::new(now, packet);
        #[allow(unsafe_code)]
        // SAFETY: required by the ABI. The state belongs to this instance and is not shared.
        let place = unsafe { classify(self.state(), now.as_nanos(), packet, queues as u32) };
        usize::try_from(place).ok()
    }
}

impl Discipline for Instance {
    fn on_enqueue(&mut self, now: Time, packet: &Packet, waiting: Amount) -> Option<Verdict> {
        if self.code == 0 && self.loaded.functions.on_enqueue.is_none() {
            return Some(Verdict::Pass);
        }
        let on_enqueue = self.function(|functions| functions.on_enqueue)?;
        #[allow(unsafe_code)]
        // SAFETY: required by the ABI. The state belongs to this instance and is not shared.
        let number = unsafe { on_enqueue(self.state(), now.as_nanos(), TcPacket::new(now, packet), waiting.into()) };
        verdict(number)
    }

    fn on_dequeue(&mut self, now: Time, packet: &Packet, waiting: Amount) -> Option<Verdict> {
        let on_dequeue = self.function(|functions| functions.on_dequeue)?;
        #[allow(unsafe_code)]
        // SAFETY: required by the ABI. The state belongs to this instance and is not shared.
        let number = unsafe { on_dequeue(self.state(), now.as_nanos(), TcPacket::new(now, packet), waiting.into()) };
        verdict(number)
    }
}

impl Scheduler for Instance {
    fn choose(&mut self, candidates: &Candidates<'_>) -> Option<usize> {
        let choose = self.function(|functions| functions.choose)?;
        self.queues.clear();
        self.queues.extend(candidates.iter().map(TcQueue::from));
        let now_ns = candidates.now().as_nanos();
        #[allow(unsafe_code)]
        // SAFETY: required by the ABI. The state belongs to this instance and is not shared; the count is that of `queues`.
        let place = unsafe { choose(self.state(), now_ns, self.queues.as_ptr(), self.queues.len() as u32) };
        usize::try_from(place).ok()
    }

    fn served(&mut self, place: usize, octets: u32) {
        let Some(served) = self.function(|functions| functions.served) else { return };
        #[allow(unsafe_code)]
        // SAFETY: required by the ABI. The state belongs to this instance and is not shared.
        unsafe {
            served(self.state(), place as u32, octets);
        }
    }
}

impl Pacer for Instance {
    fn allowance(&mut self, now: Time, below: RlcState) -> Option<u32> {
        let allowance = self.function(|functions| functions.allowance)?;
        #[allow(unsafe_code)]
        // SAFETY: required by the ABI. The state belongs to this instance and is not shared.
        let octets = unsafe { allowance(self.state(), now.as_nanos(), below.into()) };
        // a negative value is invalid; values beyond u32 mean no limit
        u64::try_from(octets).ok().map(|octets| u32::try_from(octets).unwrap_or(u32::MAX))
    }

    fn forwarded(&mut self, now: Time, octets: u32) {
        let Some(handed_on) = self.function(|functions| functions.handed_on) else { return };
        #[allow(unsafe_code)]
        // SAFETY: required by the ABI. The state belongs to this instance and is not shared.
        unsafe {
            handed_on(self.state(), now.as_nanos(), octets);
        }
    }

    fn transmitted(&mut self, now: Time, transmission: Transmission) {
        let Some(transmitted) = self.function(|functions| functions.transmitted) else { return };
        #[allow(unsafe_code)]
        // SAFETY: required by the ABI. The state belongs to this instance and is not shared.
        unsafe {
            transmitted(self.state(), now.as_nanos(), transmission.into());
        }
    }
}
