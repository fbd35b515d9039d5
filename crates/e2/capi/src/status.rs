//! Status codes, the texts of errors, and the guard around every entry point.

use std::ffi::{CStr, c_char};
use std::fmt::Display;
use std::panic::{AssertUnwindSafe, catch_unwind};

use ferric::e2ap::Cause;
use ferric::xapp;

use crate::function::cause_number;

/// The call succeeded.
pub const FERRIC_OK: i32 = 0;
/// A pointer that must not be NULL is NULL.
pub const FERRIC_ERROR_NULL: i32 = -1;
/// The handle names no object of its type: it was never valid, or its object was freed.
pub const FERRIC_ERROR_HANDLE: i32 = -2;
/// An argument is out of range; the text names it.
pub const FERRIC_ERROR_ARGUMENT: i32 = -3;
/// The call does not fit the state of the object, such as a RAN function that is added after the start.
pub const FERRIC_ERROR_STATE: i32 = -4;
/// A bounded resource is used up, such as the rows for UEs.
pub const FERRIC_ERROR_LIMIT: i32 = -5;
/// Another thread uses the object, and the call may not wait.
pub const FERRIC_ERROR_BUSY: i32 = -6;
/// The ring has no room for the report, which was dropped and counted.
pub const FERRIC_ERROR_FULL: i32 = -7;
/// The call was made from a callback, where it would wait for itself.
pub const FERRIC_ERROR_CALLBACK: i32 = -8;
/// The object belongs to the process from which this one was forked.
pub const FERRIC_ERROR_FORKED: i32 = -9;
/// The operating system refused a resource; the text has its reason.
pub const FERRIC_ERROR_SYSTEM: i32 = -10;
/// The UE was removed, or its row has another UE.
pub const FERRIC_ERROR_UE: i32 = -11;
/// A defect of the library; the text has its message. The object should be freed.
pub const FERRIC_ERROR_INTERNAL: i32 = -12;
/// Nothing is waiting.
pub const FERRIC_ERROR_EMPTY: i32 = -13;
/// A signal has interrupted the wait.
pub const FERRIC_ERROR_INTERRUPTED: i32 = -14;
/// The deadline has passed.
pub const FERRIC_ERROR_TIMEOUT: i32 = -15;
/// There is no session: nothing listens at the address, or the RIC refused it.
pub const FERRIC_ERROR_CONNECT: i32 = -16;
/// The session was closed, or has ended.
pub const FERRIC_ERROR_CLOSED: i32 = -17;
/// There is no such node, cell, UE or slice; the text has the nearest known names.
pub const FERRIC_ERROR_UNKNOWN: i32 = -18;
/// A node does not offer it, or no node does; the text has the nearest that are offered.
pub const FERRIC_ERROR_NOT_OFFERED: i32 = -19;
/// The node refused: `cause` and `cause_text` have the cause of E2AP.
pub const FERRIC_ERROR_REFUSED: i32 = -20;
/// The RIC refused, and sent nothing to the node.
pub const FERRIC_ERROR_REFUSED_BY_RIC: i32 = -21;
/// The node or the RIC was lost before the answer.
pub const FERRIC_ERROR_NODE_LOST: i32 = -22;
/// The answer of the node cannot be read.
pub const FERRIC_ERROR_MALFORMED: i32 = -23;
/// The node acknowledged the control, and no report shows its effect.
pub const FERRIC_ERROR_UNVERIFIED: i32 = -24;

/// The length of the text of an error in octets, with its final zero.
pub const FERRIC_ERROR_TEXT_OCTETS: usize = 512;
/// The length of names in octets, with their final zero: of nodes, UEs, fields and causes.
pub const FERRIC_NAME_OCTETS: usize = 96;

/// An error: a code, a text in English that names the argument or the reason, and what programs need of it. Texts end with a
/// zero, and are empty where there is nothing to say.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct ferric_error {
    /// FERRIC_OK, or one of the codes FERRIC_ERROR_….
    pub code: i32,
    /// The cause, FERRIC_CAUSE_…, if a node refused; else 0.
    pub cause: i32,
    /// The cause in words, such as "RIC request: ControlFailedToExecute".
    pub cause_text: [c_char; FERRIC_NAME_OCTETS],
    /// The argument or parameter at fault.
    pub field: [c_char; FERRIC_NAME_OCTETS],
    /// The node that it is about.
    pub node: [c_char; FERRIC_NAME_OCTETS],
    /// The text.
    pub text: [c_char; FERRIC_ERROR_TEXT_OCTETS],
}

/// The failure of a call.
#[derive(Debug, Default)]
pub(crate) struct Failure {
    code: i32,
    text: String,
    field: String,
    /// Of a node that refused.
    cause: Option<Cause>,
    node: String,
}

impl Failure {
    pub fn new(code: i32, text: impl Display) -> Self {
        Failure { text: text.to_string(), ..Failure::code(code) }
    }

    pub fn null(argument: &str) -> Self {
        Failure::new(FERRIC_ERROR_NULL, format_args!("{argument} is NULL")).with_field(argument)
    }

    pub fn argument(field: &str, text: impl Display) -> Self {
        Failure::new(FERRIC_ERROR_ARGUMENT, text).with_field(field)
    }

    pub fn system(text: impl Display) -> Self {
        Failure::new(FERRIC_ERROR_SYSTEM, text)
    }

    /// The failure of a call on a path where nothing may be allocated: the code has its own text.
    pub const fn code(code: i32) -> Self {
        Failure { code, text: String::new(), field: String::new(), cause: None, node: String::new() }
    }

    /// Names the field at fault: the member, without the structure.
    fn with_field(mut self, field: &str) -> Self {
        field.rsplit('.').next().unwrap_or(field).clone_into(&mut self.field);
        self
    }

    fn write_to(&self, error: &mut ferric_error) {
        error.code = self.code;
        error.cause = self.cause.map_or(0, cause_number);
        let cause = self.cause.map(|cause| cause.to_string()).unwrap_or_default();
        write_text(&mut error.cause_text, cause.as_bytes());
        write_text(&mut error.field, self.field.as_bytes());
        write_text(&mut error.node, self.node.as_bytes());
        let text = if self.text.is_empty() { text_of(self.code).to_bytes() } else { self.text.as_bytes() };
        write_text(&mut error.text, text);
    }
}

impl From<xapp::Error> for Failure {
    fn from(error: xapp::Error) -> Self {
        use xapp::Error;

        let code = match &error {
            Error::Address { .. } | Error::Invalid { .. } => FERRIC_ERROR_ARGUMENT,
            Error::Connect { .. } => FERRIC_ERROR_CONNECT,
            Error::Timeout { .. } => FERRIC_ERROR_TIMEOUT,
            Error::Closed => FERRIC_ERROR_CLOSED,
            Error::Forked => FERRIC_ERROR_FORKED,
            Error::Unknown { .. } => FERRIC_ERROR_UNKNOWN,
            Error::NotOffered { .. } => FERRIC_ERROR_NOT_OFFERED,
            Error::Refused { .. } => FERRIC_ERROR_REFUSED,
            Error::RefusedByRic { .. } => FERRIC_ERROR_REFUSED_BY_RIC,
            Error::NodeLost { .. } => FERRIC_ERROR_NODE_LOST,
            Error::Malformed { .. } => FERRIC_ERROR_MALFORMED,
            Error::Unverified { .. } => FERRIC_ERROR_UNVERIFIED,
            _ => FERRIC_ERROR_INTERNAL,
        };
        let field = match &error {
            Error::Address { .. } => "ric",
            other => other.parameter().unwrap_or_default(),
        };
        Failure {
            code,
            text: error.to_string(),
            field: field.to_owned(),
            cause: error.cause(),
            node: error.node().unwrap_or_default().to_owned(),
        }
    }
}

/// Writes a text that ends with a zero, cut between two characters if it is too long.
pub(crate) fn write_text(to: &mut [c_char], text: &[u8]) {
    let mut length = text.len().min(to.len() - 1);
    while length < text.len() && text[length] & 0xC0 == 0x80 {
        length -= 1;
    }
    for (to, from) in to.iter_mut().zip(&text[..length]) {
        *to = from.cast_signed() as c_char;
    }
    to[length] = 0;
}

/// Runs an entry point: writes its failure to `error`, unless that is NULL, and turns a panic into a code.
///
/// # Safety
/// `error` is NULL, or valid for writing.
pub(crate) unsafe fn guard(error: *mut ferric_error, call: impl FnOnce() -> Result<(), Failure>) -> i32 {
    let result = catch_unwind(AssertUnwindSafe(call)).unwrap_or_else(|panic| {
        let message = panic.downcast_ref::<&str>().copied();
        let message = message.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
        Err(Failure::new(FERRIC_ERROR_INTERNAL, message.unwrap_or("the library panicked")))
    });
    // SAFETY: the caller passes NULL or a valid pointer
    let error = unsafe { error.as_mut() };
    match result {
        Ok(()) => {
            if let Some(error) = error {
                (error.code, error.cause) = (FERRIC_OK, 0);
                for text in [&mut error.cause_text, &mut error.field, &mut error.node] {
                    text[0] = 0;
                }
                error.text[0] = 0;
            }
            FERRIC_OK
        }
        Err(failure) => {
            if let Some(error) = error {
                failure.write_to(error);
            }
            failure.code
        }
    }
}

/// Runs an entry point that real-time threads call: without an error text.
pub(crate) fn guard_real_time(call: impl FnOnce() -> Result<(), Failure>) -> i32 {
    match catch_unwind(AssertUnwindSafe(call)) {
        Ok(Ok(())) => FERRIC_OK,
        Ok(Err(failure)) => failure.code,
        Err(_) => FERRIC_ERROR_INTERNAL,
    }
}

/// The general text of a code.
fn text_of(code: i32) -> &'static CStr {
    match code {
        FERRIC_OK => c"success",
        FERRIC_ERROR_NULL => c"a pointer that must not be NULL is NULL",
        FERRIC_ERROR_HANDLE => c"the handle names no object: it was never valid, or its object was freed",
        FERRIC_ERROR_ARGUMENT => c"an argument is out of range",
        FERRIC_ERROR_STATE => c"the call does not fit the state of the object",
        FERRIC_ERROR_LIMIT => c"a bounded resource is used up",
        FERRIC_ERROR_BUSY => c"another thread uses the object",
        FERRIC_ERROR_FULL => c"the ring has no room: the report was dropped",
        FERRIC_ERROR_CALLBACK => c"the call is not allowed in a callback",
        FERRIC_ERROR_FORKED => c"the object belongs to the process from which this one was forked",
        FERRIC_ERROR_SYSTEM => c"the operating system refused a resource",
        FERRIC_ERROR_UE => c"the UE was removed",
        FERRIC_ERROR_INTERNAL => c"a defect of the library",
        FERRIC_ERROR_EMPTY => c"nothing is waiting",
        FERRIC_ERROR_INTERRUPTED => c"a signal has interrupted the wait",
        FERRIC_ERROR_TIMEOUT => c"the deadline has passed",
        FERRIC_ERROR_CONNECT => c"there is no session with the RIC",
        FERRIC_ERROR_CLOSED => c"the session with the RIC is closed",
        FERRIC_ERROR_UNKNOWN => c"there is no such node, cell, UE or slice",
        FERRIC_ERROR_NOT_OFFERED => c"the node does not offer it",
        FERRIC_ERROR_REFUSED => c"the node refused",
        FERRIC_ERROR_REFUSED_BY_RIC => c"the RIC refused",
        FERRIC_ERROR_NODE_LOST => c"the node was lost before it answered",
        FERRIC_ERROR_MALFORMED => c"the answer of the node cannot be read",
        FERRIC_ERROR_UNVERIFIED => c"no report shows the effect of the control",
        _ => c"unknown code",
    }
}

/// Returns the general text of a status code. The text is constant.
#[unsafe(no_mangle)]
pub extern "C" fn ferric_status_text(code: i32) -> *const c_char {
    text_of(code).as_ptr()
}

#[cfg(test)]
mod tests {
    use ferric::e2ap::CauseRicRequest;

    use super::*;

    fn empty() -> ferric_error {
        let name = [1; FERRIC_NAME_OCTETS];
        let text = [1; FERRIC_ERROR_TEXT_OCTETS];
        ferric_error { code: 1, cause: 1, cause_text: name, field: name, node: name, text }
    }

    fn read(text: &[c_char]) -> String {
        let octets: Vec<u8> = text.iter().map(|c| *c as u8).take_while(|c| *c != 0).collect();
        String::from_utf8(octets).unwrap()
    }

    fn text(error: &ferric_error) -> String {
        read(&error.text)
    }

    #[test]
    fn failure_has_code_and_text() {
        let mut error = empty();
        // SAFETY: the pointer is valid
        let code = unsafe { guard(&raw mut error, || Err(Failure::null("config"))) };
        assert_eq!((code, error.code), (FERRIC_ERROR_NULL, FERRIC_ERROR_NULL));
        assert_eq!((text(&error), read(&error.field)), ("config is NULL".into(), "config".into()));
        // SAFETY: NULL is allowed
        assert_eq!(unsafe { guard(std::ptr::null_mut(), || Err(Failure::null("config"))) }, FERRIC_ERROR_NULL);
    }

    #[test]
    fn refusal_has_cause_node_and_parameter() {
        let mut error = empty();
        let refused = xapp::Error::Refused {
            node: "gnb-00101-e00".into(),
            cause: Cause::RicRequest(CauseRicRequest::ControlFailedToExecute),
            parameter: Some("RAN parameter 1".into()),
            text: Some("too long".into()),
        };
        // SAFETY: the pointer is valid
        let code = unsafe { guard(&raw mut error, || Err(refused.into())) };
        assert_eq!((code, error.cause), (FERRIC_ERROR_REFUSED, crate::FERRIC_CAUSE_CONTROL_FAILED_TO_EXECUTE));
        assert_eq!((read(&error.node), read(&error.field)), ("gnb-00101-e00".into(), "RAN parameter 1".into()));
        assert_eq!(read(&error.cause_text), "RIC request: ControlFailedToExecute");
        assert!(text(&error).contains("too long"), "{}", text(&error));
    }

    #[test]
    fn success_clears_the_texts() {
        let mut error = empty();
        // SAFETY: the pointer is valid
        assert_eq!(unsafe { guard(&raw mut error, || Ok(())) }, FERRIC_OK);
        assert_eq!((error.code, error.cause), (FERRIC_OK, 0));
        let texts = [&error.cause_text, &error.field, &error.node].map(|text| read(text));
        assert!(text(&error).is_empty() && texts.iter().all(String::is_empty), "{texts:?}");
    }

    #[test]
    fn panic_becomes_a_code() {
        let mut error = empty();
        // SAFETY: the pointer is valid
        let code = unsafe { guard(&raw mut error, || panic!("row {} is lost", 7)) };
        assert_eq!((code, text(&error).as_str()), (FERRIC_ERROR_INTERNAL, "row 7 is lost"));
        assert_eq!(guard_real_time(|| panic!("lost")), FERRIC_ERROR_INTERNAL);
    }

    #[test]
    fn long_text_is_cut_between_characters() {
        let mut error = empty();
        let long = "é".repeat(FERRIC_ERROR_TEXT_OCTETS);
        // SAFETY: the pointer is valid
        unsafe { guard(&raw mut error, || Err(Failure::argument("plmn", &long))) };
        assert_eq!(text(&error), "é".repeat((FERRIC_ERROR_TEXT_OCTETS - 1) / 2));
    }
}
