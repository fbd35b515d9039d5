//! Conformance of near-RT RICs and E2 nodes of any make to E2AP.
//!
//! [`run`] takes one side of E2, the peer the other: as an E2 node it checks a RIC, as a RIC it checks an E2 node. Each [`Check`]
//! names the clause that it is about and has one of three results. *Pass*: the peer did what the clause requires. *Fail*: it did
//! something else. *Inconclusive*: the peer was not brought into the state that the check needs, or does not offer what is checked.
//!
//! Clauses are those of ETSI TS 104 039 V4.0.0, which is E2AP v04.00; the rules exist in all versions that have the procedure. Clause
//! 10 is that of 3GPP TS 36.413, to which E2AP refers.
//!
//! Checks are harmless by default: all messages are valid, or what a later version may send. Checks with
//! [`Check::is_hostile`] send malformed octets, and run only if [`Config::hostile`] allows it. Octets that the codec of `e2ap`
//! cannot write are made from those that it writes: see [`wire`].
//!
//! | module | content |
//! |---|---|
//! | [`node`] | the checks of a RIC; this end is the E2 node |
//! | [`ric`] | the checks of an E2 node; this end is the RIC |
//! | [`report`] | the results as text, JSON, HTML and JUnit XML |
//! | [`wire`] | the IEs of an encoded message |

#![forbid(unsafe_code)]

mod association;
mod both;
mod capture;
mod check;
mod config;
mod dialogue;
mod expect;
mod messages;
pub mod node;
pub mod report;
pub mod ric;
mod run;
pub mod wire;

pub use check::{Action, Check, NoStimulus, Outcome, Role, Step, Stimulus, Stop};
pub use config::{Config, ControlContent, Error, SubscriptionContent, Target, Timeouts};
pub use run::{Progress, check_ids, run};
