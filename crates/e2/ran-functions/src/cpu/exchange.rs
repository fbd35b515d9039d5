//! A source in another process: the messages that a base station and the manager of its CPUs exchange over a pair of pipes.
//!
//! A base station with real-time threads does not change its own CPUs: this takes time that these threads do not have. It starts a
//! manager, sends it [`Request`]s, and receives [`Answer`]s. A manager whose pipe is closed restores what was before, and ends.
//!
//! Each message is a kind of one octet, a length of four octets (most significant first) and so many octets of PER, at most
//! [`MAX_OCTETS`].

use std::io::{self, Read, Write};

use e2sm::Wire;
use e2sm::cpu::{ControlMessage, ControlOutcome, IndicationMessage, MAX_DIAGNOSTIC, Unit, printable};

use super::{CpuSource, Refused, state};

/// The most octets of a message: a report of 4096 threads, 1024 CPUs and 64 steps has less than a quarter of it.
pub const MAX_OCTETS: u32 = 4 << 20;

const REPORT_REQUEST: u8 = 0;
const CONTROL: u8 = 1;
const REPORT: u8 = 2;
const OUTCOME: u8 = 3;

/// What a base station sends.
#[derive(Clone, Debug, PartialEq)]
pub enum Request {
    /// Reports are wanted: they are sent every 100 ms for two seconds from now.
    Report,
    /// Set the policy and the CPUs, or withdraw them. One [`Answer::Outcome`] follows.
    Control(ControlMessage<'static>),
}

/// What the manager of its CPUs sends.
#[derive(Clone, Debug, PartialEq)]
pub enum Answer {
    /// The state of the host, the unit and its threads. The first one is sent without a request: the manager is ready.
    Report(Box<IndicationMessage<'static>>),
    /// The result of a control, after a report of what is in force then.
    Outcome(Result<(), Refused>),
}

impl Request {
    /// Writes it.
    ///
    /// # Errors
    /// Those of the pipe; invalid data if a value is out of the range that the service model has.
    pub fn write(&self, pipe: &mut impl Write) -> io::Result<()> {
        match self {
            Request::Report => write(pipe, REPORT_REQUEST, &[]),
            Request::Control(message) => {
                let mut octets = Vec::new();
                message.encode(Wire::Per, &mut octets).map_err(invalid)?;
                write(pipe, CONTROL, &octets)
            }
        }
    }

    /// Waits for the next one. `None` at the end of the pipe.
    ///
    /// # Errors
    /// Those of the pipe; invalid data if the octets are no request.
    pub fn read(pipe: &mut impl Read) -> io::Result<Option<Request>> {
        Ok(Some(match read(pipe)? {
            None => return Ok(None),
            Some((REPORT_REQUEST, _)) => Request::Report,
            Some((CONTROL, octets)) => {
                Request::Control(ControlMessage::decode_owned(&octets, Wire::Per).map_err(invalid)?)
            }
            Some((kind, _)) => return Err(invalid(format!("no request has the kind {kind}"))),
        }))
    }
}

impl Answer {
    /// The report of a source.
    pub fn report(source: &impl CpuSource) -> Answer {
        Answer::Report(Box::new(state(source)))
    }

    /// Writes it.
    ///
    /// # Errors
    /// As [`Request::write`].
    pub fn write(&self, pipe: &mut impl Write) -> io::Result<()> {
        let mut octets = Vec::new();
        match self {
            Answer::Report(state) => {
                state.encode(Wire::Per, &mut octets).map_err(invalid)?;
                write(pipe, REPORT, &octets)
            }
            Answer::Outcome(result) => {
                let refused = result.as_ref().err();
                // what is in force is in the report before
                let Unit { policy, cpus, .. } = Unit::default();
                let outcome = ControlOutcome {
                    refusal: refused.map(|refused| refused.refusal),
                    diagnostic: printable(refused.map_or("", |refused| &refused.text), MAX_DIAGNOSTIC),
                    policy,
                    cpus,
                };
                outcome.encode(Wire::Per, &mut octets).map_err(invalid)?;
                write(pipe, OUTCOME, &octets)
            }
        }
    }

    /// Waits for the next one. `None` at the end of the pipe.
    ///
    /// # Errors
    /// Those of the pipe; invalid data if the octets are no answer.
    pub fn read(pipe: &mut impl Read) -> io::Result<Option<Answer>> {
        Ok(Some(match read(pipe)? {
            None => return Ok(None),
            Some((REPORT, octets)) => {
                Answer::Report(Box::new(IndicationMessage::decode_owned(&octets, Wire::Per).map_err(invalid)?))
            }
            Some((OUTCOME, octets)) => {
                let outcome = ControlOutcome::decode_owned(&octets, Wire::Per).map_err(invalid)?;
                let refused = |refusal| Refused::new(refusal, outcome.diagnostic.to_string());
                Answer::Outcome(outcome.refusal.map_or(Ok(()), |refusal| Err(refused(refusal))))
            }
            Some((kind, _)) => return Err(invalid(format!("no answer has the kind {kind}"))),
        }))
    }
}

fn invalid(error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, error)
}

fn write(pipe: &mut impl Write, kind: u8, octets: &[u8]) -> io::Result<()> {
    let length = u32::try_from(octets.len()).ok().filter(|length| *length <= MAX_OCTETS);
    let length = length.ok_or_else(|| invalid(format!("a message of {} octets is too long", octets.len())))?;
    // one write, so that a reader never waits for the rest of a small message
    let message = [&[kind][..], &length.to_be_bytes(), octets].concat();
    pipe.write_all(&message)?;
    pipe.flush()
}

/// A message's kind and octets. `None` at the end of the pipe, if no message has begun.
fn read(pipe: &mut impl Read) -> io::Result<Option<(u8, Vec<u8>)>> {
    let mut kind = [0];
    loop {
        match pipe.read(&mut kind) {
            Ok(0) => return Ok(None),
            Ok(_) => break,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    let mut length = [0; 4];
    pipe.read_exact(&mut length)?;
    let length = u32::from_be_bytes(length);
    if length > MAX_OCTETS {
        return Err(invalid(format!("a message of {length} octets is longer than {MAX_OCTETS}")));
    }
    let mut octets = vec![0; length as usize];
    pipe.read_exact(&mut octets)?;
    Ok(Some((kind[0], octets)))
}

#[cfg(test)]
mod tests {
    use e2sm::cpu::{CpuChoice, CpuNumber, Policy, Refusal, Setting, Thread, Waits};
    use per::PrintableString;

    use super::*;

    fn report() -> Answer {
        let thread = Thread {
            name: PrintableString::literal("ru-thread"),
            tid: 4711,
            waits: Waits::from_counts([5, 4, 3, 2, 1]),
            preempted: 6,
            subframes: Some(1000),
            deadline_misses: Some(3),
        };
        let state = IndicationMessage { measured_us: 7, threads: vec![thread].into(), ..IndicationMessage::default() };
        Answer::Report(Box::new(state))
    }

    #[test]
    fn messages_are_read_as_they_were_written() {
        let choice = Some(CpuChoice::List(vec![CpuNumber(1), CpuNumber(3)].into()));
        let setting = Setting { policy: Some(Policy::IaTa), cpus: choice, valid_s: None };
        let requests = [
            Request::Report,
            Request::Control(ControlMessage::Apply(setting)),
            Request::Control(ControlMessage::Withdraw),
        ];
        let mut pipe = Vec::new();
        requests.iter().for_each(|request| request.write(&mut pipe).unwrap());
        let mut pipe = &pipe[..];
        for request in requests {
            assert_eq!(Request::read(&mut pipe).unwrap(), Some(request));
        }
        assert_eq!(Request::read(&mut pipe).unwrap(), None);
        let refused = Refused::new(Refusal::Busy, "process 12 manages this host");
        let answers = [report(), Answer::Outcome(Ok(())), Answer::Outcome(Err(refused))];
        let mut pipe = Vec::new();
        answers.iter().for_each(|answer| answer.write(&mut pipe).unwrap());
        let mut pipe = &pipe[..];
        for answer in answers {
            assert_eq!(Answer::read(&mut pipe).unwrap(), Some(answer));
        }
        assert_eq!(Answer::read(&mut pipe).unwrap(), None);
    }

    #[test]
    fn octets_that_are_no_message_are_errors() {
        let mut whole = Vec::new();
        report().write(&mut whole).unwrap();
        for end in 1..whole.len() {
            assert!(Answer::read(&mut &whole[..end]).is_err(), "{end} octets of {}", whole.len());
        }
        let too_long = [&[REPORT][..], &(MAX_OCTETS + 1).to_be_bytes()].concat();
        for octets in [&too_long[..], &[REPORT, 0, 0, 0, 1, 0xff], &[OUTCOME, 0, 0, 0, 0], &[CONTROL, 0, 0, 0, 0]] {
            let error = Answer::read(&mut &*octets).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::InvalidData, "{octets:?}");
        }
        for octets in [&[REPORT, 0, 0, 0, 0][..], &[9, 0, 0, 0, 0], &[CONTROL, 0, 0, 0, 1, 0xff]] {
            let error = Request::read(&mut &*octets).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::InvalidData, "{octets:?}");
        }
    }
}
