//! Tests of route tables.

use super::*;

fn reader(text: &str) -> TableReader {
    let mut reader = TableReader::new(vec!["me:4560".to_owned(), "10.0.0.9:4560".to_owned()]);
    let events = reader.read(text);
    assert!(matches!(&events[..], [TableEvent::Installed { .. }]), "{events:?}");
    reader
}

fn routes(reader: &mut TableReader, kind: i32, subscription: i32, meid: &str) -> Result<Vec<String>, NoRoute> {
    let mut to = Vec::new();
    reader.table().select(MessageType(kind), subscription, meid, |endpoint| to.push(endpoint.to_owned()))?;
    Ok(to)
}

fn rejected(text: &str) -> String {
    let mut reader = TableReader::new(vec!["me:4560".to_owned()]);
    match &reader.read(text)[..] {
        [TableEvent::Rejected { reason, .. }] => {
            assert!(reader.table().is_empty() && !reader.is_complete());
            reason.clone()
        }
        other => panic!("{text:?}: {other:?}"),
    }
}

#[test]
fn route_of_the_subscription_precedes_that_of_the_type() {
    let mut reader = reader(
        "newrt | start | t1 # a comment\n# another\n\nmse|12050|7|app0:4560\r\n\
         rte|12050|app1:4560\nrte|20|app2:1|9\nnewrt|end|3\n",
    );
    assert!(reader.is_complete());
    assert_eq!(routes(&mut reader, 12050, 7, ""), Ok(vec!["app0:4560".to_owned()]));
    assert_eq!(routes(&mut reader, 12050, 8, ""), Ok(vec!["app1:4560".to_owned()]));
    assert_eq!(routes(&mut reader, 20, 9, ""), Ok(vec!["app2:1".to_owned()]));
    assert_eq!(routes(&mut reader, 20, 8, ""), Err(NoRoute::Type));
    assert_eq!(routes(&mut reader, 1, 7, ""), Err(NoRoute::Type));
}

#[test]
fn one_endpoint_of_each_group_gets_a_message_in_turn() {
    let mut reader = reader("newrt|start\nmse|1|-1| a:1, b:1 ,c:1 ; d:1\nnewrt|end\n");
    let firsts = ["a:1", "b:1", "c:1", "a:1"];
    for first in firsts {
        assert_eq!(routes(&mut reader, 1, -1, ""), Ok(vec![first.to_owned(), "d:1".to_owned()]));
    }
}

#[test]
fn records_for_other_senders_are_ignored() {
    let mut reader = reader(
        "newrt|start\nmse|1,other:4560|-1|a:1\nmse|2,other:4560,10.0.0.9:4560|-1|a:1\n\
         mse|3|-1|a:1\nmse|3,me:4560|-1|b:1\nnewrt|end|4\n",
    );
    assert_eq!(routes(&mut reader, 1, -1, ""), Err(NoRoute::Type));
    assert_eq!(routes(&mut reader, 2, -1, ""), Ok(vec!["a:1".to_owned()]));
    assert_eq!(routes(&mut reader, 3, -1, ""), Ok(vec!["b:1".to_owned()]), "the last record that applies");
}

#[test]
fn endpoint_does_not_send_to_itself() {
    let mut reader = reader("newrt|start\nmse|1|-1|me:4560,a:1;10.0.0.9:4560\nmse|2|-1|me:4560\nnewrt|end|2\n");
    assert_eq!(routes(&mut reader, 1, -1, ""), Ok(vec!["a:1".to_owned()]));
    assert_eq!(routes(&mut reader, 2, -1, ""), Err(NoRoute::Type), "a loop");
}

#[test]
fn messages_go_to_the_owner_of_their_managed_entity() {
    let mut reader = reader("newrt|start\nmse|1|-1|%meid\nnewrt|end|1\n");
    assert_eq!(routes(&mut reader, 1, -1, "gnb1"), Err(NoRoute::Meid));
    let owners = "meid_map|start|m1\nmme_ar|e2t:38000|gnb1 gnb2\nmme_del|gnb2 gnb3\nmeid_map|end|2|checksum\n";
    assert_eq!(reader.read(owners), [TableEvent::Installed { id: Some("m1".to_owned()) }]);
    assert_eq!(routes(&mut reader, 1, -1, "gnb1"), Ok(vec!["e2t:38000".to_owned()]));
    assert_eq!(routes(&mut reader, 1, -1, "gnb2"), Err(NoRoute::Meid));
    // a new table keeps the owners
    reader.read("newrt|start\nmse|2|-1|%meid\nnewrt|end\n");
    assert_eq!(routes(&mut reader, 2, -1, "gnb1"), Ok(vec!["e2t:38000".to_owned()]));
    assert_eq!(routes(&mut reader, 1, -1, "gnb1"), Err(NoRoute::Type));
}

#[test]
fn update_changes_the_table_in_use() {
    let mut reader = TableReader::new(Vec::new());
    let update = "updatert|start|u\nmse|1|-1|b:1\ndel|2|-1\nupdatert|end|2\n";
    assert_eq!(reader.read(update), [], "before a whole table");
    reader.read("newrt|start\nmse|1|-1|a:1\nmse|2|-1|a:1\nmse|3|-1|a:1\nnewrt|end|3\n");
    assert_eq!(reader.read(update), [TableEvent::Installed { id: Some("u".to_owned()) }]);
    assert_eq!(routes(&mut reader, 1, -1, ""), Ok(vec!["b:1".to_owned()]));
    assert_eq!(routes(&mut reader, 2, -1, ""), Err(NoRoute::Type));
    assert_eq!(routes(&mut reader, 3, -1, ""), Ok(vec!["a:1".to_owned()]));
}

#[test]
fn table_may_arrive_in_several_messages() {
    let mut reader = TableReader::new(Vec::new());
    assert_eq!(reader.read("newrt|start|t\nmse|1|-1|a:1\n"), []);
    assert!(reader.table().is_empty(), "in use when it is whole");
    let events = reader.read("mse|2|-1|a:1\nnewrt|end|2\n\0");
    assert_eq!(events, [TableEvent::Installed { id: Some("t".to_owned()) }]);
    assert_eq!((reader.table().len(), events[0].to_string()), (2, "OK t ".to_owned()));
}

#[test]
fn table_with_a_mistake_is_not_used() {
    let of = |record: &str| rejected(&format!("newrt|start|t\n{record}\nnewrt|end\n"));
    assert_eq!(of("mse|x|-1|a:1"), "`x` is not a message type");
    assert_eq!(of("mse|1|one|a:1"), "`one` is not a subscription id");
    assert_eq!(of("mse|99999999999|-1|a:1"), "`99999999999` is not a message type");
    assert_eq!(of("mse|1|-1"), "a record `mse` has too few fields");
    for endpoint in ["a", "a:0", "a:70000", ":1", "a:x", &format!("{}:1", "a".repeat(300))] {
        assert!(of(&format!("mse|1|-1|{endpoint}")).contains("is not an endpoint HOST:PORT"), "{endpoint}");
    }
    assert_eq!(of(&format!("mse|1|-1|{}", vec!["a:1"; 65].join(","))), "a group has at most 64 endpoints");
    assert_eq!(of(&format!("mse|1|-1|{}", vec!["a:1"; 65].join(";"))), "a route has at most 64 groups");
    assert_eq!(rejected("newrt|start\nmse|1|-1|a:1\nnewrt|end|2\n"), "missing table records: expected 2 got 1");
    assert_eq!(rejected("newrt|start\nmeid_map|end\n"), "it ends with a record of another kind than it begins");
    assert_eq!(rejected("newrt|start|a\nnewrt|start|b\n"), "another table has begun before its end");
}

#[test]
fn number_of_records_is_bounded() {
    let mut reader = TableReader::new(Vec::new());
    reader.read("newrt|start\n");
    for _ in 0..=MAX_RECORDS {
        reader.read("mse|1|-1|a:1\n");
    }
    let events = reader.read("newrt|end\n");
    assert_eq!(events[0].to_string(), "ERR <id-missing> a table has at most 65536 records");
    reader.read("meid_map|start\n");
    for meid in 0..=MAX_MEIDS {
        reader.read(&format!("mme_ar|a:1|{meid}\n"));
    }
    assert!(matches!(reader.read("meid_map|end\n")[0], TableEvent::Rejected { .. }));
}

#[test]
fn records_outside_of_a_table_have_no_effect() {
    let mut reader = TableReader::new(Vec::new());
    assert_eq!(reader.read("mse|1|-1|a:1\nnewrt|end\nnonsense\n|||\nnewrt\nmme_ar|a:1|x\n"), []);
    assert!(reader.table().is_empty() && !reader.is_complete());
}
