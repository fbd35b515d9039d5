//! What real-time threads call allocates nothing.
#![allow(unsafe_code, reason = "the calls are those of C")]

use std::mem::{size_of, zeroed};
use std::ptr;

use ferric_capi::*;
use testkit::CountingAllocator;

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

unsafe extern "C" fn subscribe(_: *mut std::ffi::c_void, _: *const ferric_subscription_request) -> i32 {
    0
}

#[test]
fn counting_reporting_and_answering_do_not_allocate() {
    let measurement = |name: &'static std::ffi::CStr, kind| ferric_measurement {
        name: name.as_ptr(),
        scope: FERRIC_SCOPE_CELL_AND_UE,
        kind,
        scale: 1.0,
        is_real: 0,
    };
    let measurements = [
        measurement(c"DRB.UEThpDl", FERRIC_KIND_RATE),
        measurement(c"DRB.RlcSduDelayDl", FERRIC_KIND_MEAN),
        measurement(c"RRU.PrbUsedDl", FERRIC_KIND_CURRENT),
    ];
    // SAFETY: zeros are valid in these structures, whose pointers are valid during the calls
    let (kpm, ue, reporter, rc) = unsafe {
        let mut agent = zeroed();
        let mut config: ferric_agent_config = zeroed();
        config.size = size_of::<ferric_agent_config>() as u32;
        (config.plmn, config.ric) = (c"00101".as_ptr(), c"tcp://127.0.0.1:9".as_ptr());
        assert_eq!(ferric_agent_new(&raw const config, &raw mut agent, ptr::null_mut()), FERRIC_OK);
        let mut table: ferric_kpm_config = zeroed();
        table.size = size_of::<ferric_kpm_config>() as u32;
        (table.measurement_count, table.measurements, table.max_ues) = (3, measurements.as_ptr(), 4);
        let mut kpm = zeroed();
        assert_eq!(ferric_agent_add_kpm(agent, &raw const table, &raw mut kpm, ptr::null_mut()), FERRIC_OK);
        let mut controls: ferric_rc_config = zeroed();
        controls.size = size_of::<ferric_rc_config>() as u32;
        (controls.actions, controls.queue_length) = (FERRIC_RC_DRX, FERRIC_RC_MAX_QUEUE);
        let mut rc = zeroed();
        assert_eq!(ferric_agent_add_rc(agent, kpm, &raw const controls, &raw mut rc, ptr::null_mut()), FERRIC_OK);
        let mut own: ferric_function_config = zeroed();
        own.size = size_of::<ferric_function_config>() as u32;
        (own.id, own.oid) = (99, c"1.3.6.1.4.1.32473.1.99".as_ptr());
        own.subscribe = Some(subscribe);
        let mut function = zeroed();
        assert_eq!(ferric_agent_add_function(agent, &raw const own, &raw mut function, ptr::null_mut()), FERRIC_OK);
        let mut reporter = zeroed();
        assert_eq!(ferric_reporter_new(function, 1 << 20, &raw mut reporter, ptr::null_mut()), FERRIC_OK);
        let mut identity: ferric_ue_identity = zeroed();
        identity.size = size_of::<ferric_ue_identity>() as u32;
        identity.kind = FERRIC_UE_GNB_DU;
        let mut ue = zeroed();
        assert_eq!(ferric_kpm_add_ue(kpm, &raw const identity, &raw mut ue, ptr::null_mut()), FERRIC_OK);
        (kpm, ue, reporter, rc)
    };
    let subscription = ferric_subscription { controller: 0, requestor: 1, instance: 1 };
    let message = [7; 100];
    let slot = || {
        assert_eq!(ferric_kpm_count(kpm, ue, 0, 1250.0), FERRIC_OK);
        assert_eq!(ferric_kpm_sample(kpm, ue, 1, 2.5), FERRIC_OK);
        assert_eq!(ferric_kpm_set(kpm, ue, 2, 42.0), FERRIC_OK);
        // SAFETY: zeros are valid, and the text ends with a zero
        unsafe {
            let mut control = zeroed();
            assert_eq!(ferric_rc_next(rc, &raw mut control), FERRIC_ERROR_EMPTY);
            let answered = ferric_rc_answer(rc, 1, FERRIC_CAUSE_UNSPECIFIED, c"the UE has left".as_ptr());
            assert!(answered == FERRIC_OK || answered == FERRIC_ERROR_FULL);
        }
        // SAFETY: the pointers are valid for their lengths
        unsafe { ferric_report(reporter, subscription, 1, ptr::null(), 0, message.as_ptr(), message.len()) }
    };
    // the first call registers the thread with the table of handles
    assert_eq!(slot(), FERRIC_OK);
    let before = CountingAllocator::count();
    let mut results = [0; 2];
    for _ in 0..20_000 {
        // the ring is full at some time: that is no exception
        results[usize::from(slot() != FERRIC_OK)] += 1;
    }
    assert_eq!(CountingAllocator::count() - before, 0);
    assert!(results[0] > 8000 && results[1] > 1000, "{results:?}");
}
