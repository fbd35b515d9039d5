//! The session of an xApp with a near-RT RIC.

use std::ffi::{c_char, c_void};
use std::mem;
use std::process;
use std::time::Duration;

use ferric::xapp::{Ric, XappConfig};
use tracing::dispatcher;

use crate::handle::{InCallback, Table};
use crate::input::{optional_text, result, structure};
use crate::log::{LogTarget, dispatch, ferric_log_function};
use crate::status::{FERRIC_ERROR_FORKED, FERRIC_ERROR_HANDLE, Failure, ferric_error, guard, guard_real_time};

/// The longest deadline and the longest wait for a RIC: a day.
const MAX_MS: u32 = 86_400_000;

/// How to connect to a RIC. Set it to zeros, then `size` and what differs from the defaults.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct ferric_xapp_config {
    /// sizeof(struct ferric_xapp_config)
    pub size: u32,
    /// How long to wait for a RIC that does not listen yet, in milliseconds; 0 stands for 30,000.
    pub connect_timeout_ms: u32,
    /// The address of the RIC for xApps, or the addresses of several RICs that share nodes, with spaces in between (docs/several-rics.md);
    /// NULL: the variable FERRIC_RIC, or "tcp://127.0.0.1:36423".
    pub ric: *const c_char,
    /// The name of the xApp in the log of the RIC, 1 to 64 octets; NULL: the name of the program.
    pub name: *const c_char,
    /// How long verbs wait for their answers, in milliseconds; 0 stands for 10,000.
    pub deadline_ms: u32,
    /// The least severe lines that are logged: FERRIC_LOG_…; 0 stands for FERRIC_LOG_INFO.
    pub log_level: u32,
    /// Takes log lines, on a thread of the library; NULL: nothing is logged.
    pub log: ferric_log_function,
    /// Passed to `log`.
    pub log_user: *mut c_void,
    /// For an address tls://…: the PEM file with the certificates of the CAs that are trusted to sign that of the RIC; else NULL. The
    /// three files are given together (docs/tls.md).
    pub tls_ca: *const c_char,
    /// The PEM file with the certificate of the xApp, followed by intermediate certificates.
    pub tls_certificate: *const c_char,
    /// The PEM file with the private key of that certificate, not encrypted.
    pub tls_key: *const c_char,
}

/// A session with a near-RT RIC.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct ferric_xapp {
    /// The number of the object; 0 is none.
    pub id: u64,
}

/// A handle of a session, with its deadline and whether its controls are verified.
pub(crate) struct XappObject {
    process: u32,
    ric: Ric,
}

static XAPPS: Table<XappObject> = Table::new(5);

/// Fails in a child of the process that opened a session.
pub(crate) fn check_process(process: u32) -> Result<(), Failure> {
    if process == process::id() { Ok(()) } else { Err(Failure::code(FERRIC_ERROR_FORKED)) }
}

/// The session of a handle, for a call that waits for the session's thread.
pub(crate) fn session(xapp: ferric_xapp) -> Result<Ric, Failure> {
    let entry = XAPPS.get(xapp.id)?;
    let object = &entry.as_ref().ok_or(Failure::code(FERRIC_ERROR_HANDLE))?.object;
    check_process(object.process)?;
    InCallback::refuse()?;
    Ok(object.ric.clone())
}

fn milliseconds(value: u32, field: &str, default: u32) -> Result<Duration, Failure> {
    if value > MAX_MS {
        return Err(Failure::argument(field, format_args!("{field} {value} is more than a day ({MAX_MS})")));
    }
    Ok(Duration::from_millis(if value == 0 { default } else { value }.into()))
}

/// The configuration of the session with the files for TLS; `None` without any.
///
/// # Safety
/// The pointers in `config` are NULL or texts.
unsafe fn tls(config: &ferric_xapp_config) -> Result<Option<XappConfig>, Failure> {
    let file = |path: *const c_char, field: &'static str| {
        // SAFETY: as the caller states
        let path = unsafe { optional_text(path, field) }?;
        Ok::<_, Failure>(path.map(|path| (field, path)))
    };
    let ca = file(config.tls_ca, "tls_ca")?;
    let files = [ca, file(config.tls_certificate, "tls_certificate")?, file(config.tls_key, "tls_key")?];
    match files {
        [None, None, None] => Ok(None),
        [Some((_, ca)), Some((_, certificate)), Some((_, key))] => credentials(ca, certificate, key).map(Some),
        _ => {
            let names = ["tls_ca", "tls_certificate", "tls_key"];
            let absent = names.into_iter().zip(files).find(|(_, file)| file.is_none()).map_or("", |(name, _)| name);
            let text = format!("{absent} is NULL: tls_ca, tls_certificate and tls_key are given together");
            Err(Failure::argument(absent, text))
        }
    }
}

#[cfg(feature = "tls")]
fn credentials(ca: &str, certificate: &str, key: &str) -> Result<XappConfig, Failure> {
    use ferric::link::{Config, Tls, TlsFile, TlsFileError, TlsFiles};

    let files = TlsFiles { ca: ca.into(), certificate: certificate.into(), key: key.into() };
    let tls = Tls::load(&files).map_err(|error| {
        let field = match &error {
            TlsFileError::Read { file, .. }
            | TlsFileError::NoPem { file, .. }
            | TlsFileError::Unusable { file, .. } => match file {
                TlsFile::Ca => "tls_ca",
                TlsFile::Certificate => "tls_certificate",
                TlsFile::Key => "tls_key",
            },
            TlsFileError::KeyDoesNotFit { .. } => "tls_key",
        };
        Failure::argument(field, error)
    })?;
    let config = XappConfig::default();
    Ok(XappConfig { link: Config { tls: Some(tls), ..config.link }, ..config })
}

#[cfg(not(feature = "tls"))]
fn credentials(_: &str, _: &str, _: &str) -> Result<XappConfig, Failure> {
    let text =
        "tls_ca: this library is built without TLS: build it with C_FEATURES=tls make c, or cargo's --features tls";
    Err(Failure::argument("tls_ca", text))
}

/// Connects to a RIC, and waits for one that does not listen yet. `config` may be NULL: all defaults.
///
/// # Safety
/// `config` is NULL or valid, and so are the pointers in it; `log` and `log_user` may be used on a thread of the library until
/// the session has ended; `out` is valid; `error` is NULL or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ferric_xapp_connect(
    config: *const ferric_xapp_config,
    out: *mut ferric_xapp,
    error: *mut ferric_error,
) -> i32 {
    let call = || {
        // SAFETY: the caller passes a valid pointer
        let out = unsafe { result(out, "out") }?;
        InCallback::refuse()?;
        let mut options = Ric::options();
        let (mut log, mut deadline) = (dispatcher::Dispatch::none(), None);
        if !config.is_null() {
            // SAFETY: the caller passes a valid pointer, with texts or NULL
            let (config, ric, name) = unsafe {
                let config = structure(config, "config")?;
                (config, optional_text(config.ric, "ric")?, optional_text(config.name, "name")?)
            };
            options = options.timeout(milliseconds(config.connect_timeout_ms, "connect_timeout_ms", 30_000)?);
            deadline = Some(milliseconds(config.deadline_ms, "deadline_ms", 10_000)?);
            if let Some(ric) = ric.filter(|ric| !ric.is_empty()) {
                options = options.addresses(ric.split_whitespace());
            }
            if let Some(name) = name {
                options = options.name(name);
            }
            // SAFETY: the caller passes texts or NULL
            if let Some(config) = unsafe { tls(config) }? {
                options = options.config(config);
            }
            let target = config.log.map(|function| LogTarget { function, user: config.log_user });
            log = dispatch(target, config.log_level)?;
        }
        // the session's thread inherits the signal mask of the thread that creates it
        let connect = move || {
            ferric::link::block_signals();
            dispatcher::with_default(&log, || options.connect())
        };
        let thread = std::thread::Builder::new().name("ferric-connect".into()).spawn(connect);
        let connected = thread.map_err(Failure::system)?.join();
        let ric = connected.unwrap_or(Err(ferric::xapp::Error::Closed))?;
        let ric = deadline.map(|deadline| ric.deadline(deadline)).unwrap_or(ric);
        *out = ferric_xapp { id: XAPPS.insert(XappObject { process: process::id(), ric })? };
        Ok(())
    };
    // SAFETY: the caller passes NULL or a valid pointer
    unsafe { guard(error, call) }
}

/// Gives another handle of the same session, whose verbs wait `deadline_ms` (1 to 86,400,000) for their answers.
///
/// # Safety
/// `out` is valid; `error` is NULL or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ferric_xapp_with_deadline(
    xapp: ferric_xapp,
    deadline_ms: u32,
    out: *mut ferric_xapp,
    error: *mut ferric_error,
) -> i32 {
    // SAFETY: as the caller states
    unsafe { derive(xapp, deadline_ms, "deadline_ms", out, error, Ric::deadline) }
}

/// Gives another handle of the same session, whose controls are verified: after a node has acknowledged, they wait up to
/// `within_ms` (1 to 86,400,000) until reports show the effect, and fail with FERRIC_ERROR_UNVERIFIED if none does. Handovers,
/// slices and quotas can be verified.
///
/// # Safety
/// `out` is valid; `error` is NULL or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ferric_xapp_verified(
    xapp: ferric_xapp,
    within_ms: u32,
    out: *mut ferric_xapp,
    error: *mut ferric_error,
) -> i32 {
    // SAFETY: as the caller states
    unsafe { derive(xapp, within_ms, "within_ms", out, error, Ric::verified) }
}

/// # Safety
/// `out` is valid; `error` is NULL or valid.
unsafe fn derive(
    xapp: ferric_xapp,
    time_ms: u32,
    field: &str,
    out: *mut ferric_xapp,
    error: *mut ferric_error,
    with: impl FnOnce(&Ric, Duration) -> Ric,
) -> i32 {
    let call = || {
        // SAFETY: the caller passes a valid pointer
        let out = unsafe { result(out, "out") }?;
        if time_ms == 0 {
            return Err(Failure::argument(field, format_args!("{field} is 0: it has at least 1 ms")));
        }
        let time = milliseconds(time_ms, field, time_ms)?;
        let ric = with(&session(xapp)?, time);
        *out = ferric_xapp { id: XAPPS.insert(XappObject { process: process::id(), ric })? };
        Ok(())
    };
    // SAFETY: the caller passes NULL or a valid pointer
    unsafe { guard(error, call) }
}

/// Returns the number of reports that the RIC has dropped because this session reads too slowly; 0 without a session.
#[unsafe(no_mangle)]
pub extern "C" fn ferric_xapp_dropped_reports(xapp: ferric_xapp) -> u64 {
    session(xapp).ok().and_then(|ric| ric.dropped().ok()).unwrap_or(0)
}

/// Ends the session at once, for all its handles: calls that wait in other threads return FERRIC_ERROR_CLOSED, streams end after
/// what is buffered. A second call does nothing. The handles remain to be freed.
#[unsafe(no_mangle)]
pub extern "C" fn ferric_xapp_close(xapp: ferric_xapp) -> i32 {
    guard_real_time(|| {
        session(xapp)?.close();
        Ok(())
    })
}

/// Frees a handle. The session ends with the last of its handles and streams, and of the calls that use them: subscriptions are
/// deleted. In a forked process it only frees the handle.
#[unsafe(no_mangle)]
pub extern "C" fn ferric_xapp_free(xapp: ferric_xapp) -> i32 {
    guard_real_time(|| {
        let object = XAPPS.remove(xapp.id)?;
        if object.process != process::id() {
            // the session belongs to the other process
            mem::forget(object);
        }
        Ok(())
    })
}
