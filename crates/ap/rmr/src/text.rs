//! Route tables as text, for a route manager.

use core::fmt::Write;

use crate::{MessageType, NO_SUBSCRIPTION};

/// Octets of the records in one message: programs with old versions of RMR take no more.
pub const MAX_TEXT_OCTETS: usize = 4096;

/// Whether a table replaces the former one or is added to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TableUpdate {
    /// It replaces the former one.
    Whole,
    /// Its records are added to the former one.
    Part,
}

/// The text of a route table.
///
/// ```
/// use rmr::{MessageType, NO_SUBSCRIPTION, TableText, TableUpdate};
///
/// let mut table = TableText::new(TableUpdate::Whole, "table-1");
/// table.route(MessageType(12040), NO_SUBSCRIPTION, "10.0.0.1:4560");
/// assert_eq!(table.finish(), ["newrt|start|table-1\nmse|12040|-1|10.0.0.1:4560\nnewrt|end|1\n"]);
/// ```
#[derive(Clone, Debug)]
pub struct TableText {
    update: TableUpdate,
    texts: Vec<String>,
    last: String,
    records: usize,
}

impl TableText {
    /// Begins a table. The receiver states the `id` when it has installed the table.
    #[must_use]
    pub fn new(update: TableUpdate, id: &str) -> Self {
        let mut table = TableText { update, texts: Vec::new(), last: String::new(), records: 0 };
        let word = table.word();
        table.line(format_args!("{word}|start|{id}"));
        table
    }

    fn word(&self) -> &'static str {
        match self.update {
            TableUpdate::Whole => "newrt",
            TableUpdate::Part => "updatert",
        }
    }

    /// Adds a line. A line is never divided between messages.
    fn line(&mut self, line: core::fmt::Arguments<'_>) {
        let before = self.last.len();
        // writing to a string does not fail
        let _ = writeln!(self.last, "{line}");
        if self.last.len() > MAX_TEXT_OCTETS && before > 0 {
            let next = self.last.split_off(before);
            self.texts.push(core::mem::replace(&mut self.last, next));
        }
    }

    /// Adds a route: messages of a type and a subscription, or [`NO_SUBSCRIPTION`], go to an endpoint of each group, in turn.
    /// Groups are separated by `;`, their endpoints by `,`.
    pub fn route(&mut self, kind: MessageType, subscription_id: i32, groups: &str) {
        self.records += 1;
        self.line(format_args!("mse|{}|{subscription_id}|{groups}", kind.0));
    }

    /// Adds a route for messages of a type, whatever their subscription.
    pub fn route_all(&mut self, kind: MessageType, groups: &str) {
        self.route(kind, NO_SUBSCRIPTION, groups);
    }

    /// Adds a record as it is, such as one that an operator has written: one line.
    pub fn record(&mut self, record: &str) {
        self.records += 1;
        self.line(format_args!("{record}"));
    }

    /// Ends the table. Returns the payloads of the messages that carry it.
    #[must_use]
    pub fn finish(mut self) -> Vec<String> {
        let (word, records) = (self.word(), self.records);
        self.line(format_args!("{word}|end|{records}"));
        self.texts.push(self.last);
        self.texts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_table_is_divided_between_records() {
        let mut table = TableText::new(TableUpdate::Part, "long");
        for kind in 0..1000 {
            table.route_all(MessageType(kind), "xapp-with-a-long-name.example:4560");
        }
        let texts = table.finish();
        assert!(texts.len() > 5);
        assert!(texts.iter().all(|text| text.len() <= MAX_TEXT_OCTETS && text.ends_with('\n')));
        let lines: Vec<_> = texts.iter().flat_map(|text| text.lines()).collect();
        assert_eq!((lines.len(), lines[0], lines[1001]), (1002, "updatert|start|long", "updatert|end|1000"));
    }
}
