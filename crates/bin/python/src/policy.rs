//! Policies: rules on handovers, by which nodes decide themselves.

use e2sm::rc::{self, HandoverOutcome, RuleCondition};
use ferric::xapp::{self, CellId};
use pyo3::prelude::*;

use crate::error::{exception, invalid};

/// A rule on handovers that nodes begin: what a node does with one if each of the conditions `when` holds.
///
/// `decision` is `accept` or `reject`; `cell` is another target of an accepted handover. A condition is a parameter of the UE, as
/// the node registers it, such as `CQI`; `equal`, `not_equal`, `greater` or `less`; and an integer in the parameter's unit. An
/// unknown parameter raises `NotOffered`, whose `nearest` has those that the node tests.
///
///     >>> import ferric
///     >>> ferric.HandoverRule("accept", cell="003804001", when=[("CQI", "less", 7), ("5QI", "equal", 9)])
///     <HandoverRule accept, cell 003804001, 2 conditions>
#[pyclass(frozen, module = "ferric")]
pub struct HandoverRule(rc::HandoverRule);

impl HandoverRule {
    pub fn rule(&self) -> &rc::HandoverRule {
        &self.0
    }
}

#[pymethods]
impl HandoverRule {
    #[new]
    #[pyo3(signature = (decision="accept", *, cell=None, when=None))]
    fn new(decision: &str, cell: Option<&str>, when: Option<Vec<(String, String, i64)>>) -> PyResult<Self> {
        let cell = cell.map(str::parse::<CellId>).transpose().map_err(|error| exception(&error))?;
        let outcome = match (decision, cell) {
            ("accept", None) => HandoverOutcome::Accept,
            ("accept", Some(cell)) => HandoverOutcome::To(cell.identity()),
            ("reject", None) => HandoverOutcome::Reject,
            ("reject", Some(cell)) => return Err(invalid("cell", cell, "no cell: the handover is rejected")),
            (other, _) => return Err(invalid("decision", other, "accept or reject")),
        };
        let condition = |(parameter, comparison, value): (String, String, i64)| {
            let comparison = rc::comparison(&comparison)
                .ok_or_else(|| invalid("when", &comparison, "equal, not_equal, greater or less"))?;
            Ok(RuleCondition { parameter, comparison, value })
        };
        let conditions = when.into_iter().flatten().map(condition).collect::<PyResult<_>>()?;
        Ok(HandoverRule(rc::HandoverRule { conditions, outcome }))
    }

    fn __repr__(&self) -> String {
        let outcome = match self.0.outcome {
            HandoverOutcome::Accept => "accept".to_owned(),
            HandoverOutcome::Reject => "reject".to_owned(),
            HandoverOutcome::To(cell) => format!("accept, cell {}", CellId::new(cell)),
        };
        format!("<HandoverRule {outcome}, {} conditions>", self.0.conditions.len())
    }
}

/// Rules that nodes apply, until it is closed: at the end of a `with` block, with `close()`, or when nothing refers to it any more.
#[pyclass(module = "ferric")]
pub struct Policy(Option<xapp::Policy>);

impl Policy {
    pub fn new(policy: xapp::Policy) -> Self {
        Policy(Some(policy))
    }
}

#[pymethods]
impl Policy {
    /// Removes the rules from the nodes. A second call does nothing.
    fn close(&mut self, py: Python<'_>) {
        let policy = self.0.take();
        py.detach(|| drop(policy));
    }

    fn __enter__(this: PyRef<'_, Self>) -> PyRef<'_, Self> {
        this
    }

    fn __exit__(&mut self, py: Python<'_>, _type: Py<PyAny>, _value: Py<PyAny>, _traceback: Py<PyAny>) {
        self.close(py);
    }
}
