//! Queries: the configuration of a node's cells (E2SM-CCC; E2AP v03).

use e2::QueryOutcome;
use e2sm::ccc::{self, CellQueried, QueryOutcome as CccOutcome, QueryOutcomeFormat};

use super::configuration;
use super::error::Error;
use super::ric::Node;
use super::session::Reply;

impl Node {
    /// Reads configuration structures of the node's cells by name, such as `O-NRCellDU` (E2SM-CCC 8.8).
    ///
    /// # Errors
    /// [`Error::NotOffered`] with the structures that it offers; [`Error::RefusedByRic`] for a node before E2AP v03, which has no
    /// queries; [`Error::Refused`] with the cause.
    pub fn query(&self, structures: impl IntoIterator<Item = impl Into<String>>) -> Result<Vec<CellQueried>, Error> {
        let names = configuration::named(structures)?;
        let name = self.name();
        self.handle().session.ask(
            || format!("query of {}", self.name()),
            self.handle().deadline,
            move |core, commands, reply: Reply<Vec<CellQueried>>| {
                let encoded = core.node_named(&name).and_then(|node| {
                    let function = configuration::function(node, &names)?;
                    let (header, definition) = ccc::query_of_cells(&names)
                        .map_err(|error| Error::invalid("structures", names.join(", "), error.to_string()))?;
                    Ok((node.id, function.id, header, definition))
                });
                match encoded {
                    Ok((node, function, header, definition)) => {
                        let ticket = commands.query(node, function, &header, &definition);
                        core.queries.insert(ticket, (name, reply));
                    }
                    Err(error) => reply.send(Err(error)),
                }
            },
        )
    }
}

/// Reads the answer to a query.
pub(super) fn read(node: String, outcome: QueryOutcome) -> Result<Vec<CellQueried>, Error> {
    match outcome {
        QueryOutcome::Answered(octets) => match CccOutcome::decode(&octets) {
            Ok(CccOutcome { format: QueryOutcomeFormat::CellLevel(cells) }) => Ok(cells),
            Ok(_) => Err(Error::Malformed { node, reason: "an answer about the node to a query of cells".into() }),
            Err(error) => Err(Error::Malformed { node, reason: error.to_string() }),
        },
        QueryOutcome::Failed(cause) => Err(Error::Refused { node, cause, parameter: None, text: None }),
        QueryOutcome::Misuse(code) => Err(Error::RefusedByRic { node, code }),
        QueryOutcome::TimedOut => {
            Err(Error::Timeout { what: format!("{node} has not answered a query"), after: super::core::NODE_ANSWER })
        }
        _ => Err(Error::NodeLost { node }),
    }
}
