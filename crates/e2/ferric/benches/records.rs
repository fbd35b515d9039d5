//! The cost of records: a node sends 50,000 KPM indications of about 100 octets a second through a RIC, and an xApp reads them in
//! batches. `cargo bench -p ferric --bench records` prints, for each second, the records that arrived and were lost, and the CPU
//! of the session's thread and of the reader.

use std::sync::mpsc;
use std::time::{Duration, Instant};

use e2sm::common::{RanFunctionName, RicFormatType, RicStyleName, RicStyleType};
use e2sm::kpm::{
    IndicationHeader, IndicationHeaderFormat1, IndicationHeaderFormats, IndicationMessage, IndicationMessageFormat1,
    IndicationMessageFormats, MeasurementDataItem, MeasurementInfoActionItem, MeasurementRecordItem,
    MeasurementTypeName, OID_V3, RanFunctionDefinition, Revision, RicReportStyleItem, TimestampFormat,
};
use ferric::agent::{Admission, AgentLoop, ControllerId, FunctionContext, RanFunction, RequestKey, Views};
use ferric::e2::{Function, SubscriptionRequest, Time};
use ferric::e2ap::{Cause, GlobalE2NodeId, GnbId, PlmnIdentity, RanFunctionId, RanFunctionRevision, RicActionId};
use ferric::link::Address;
use ferric::server::{Server, ServerConfig};
use ferric::xapp::{Batch, Ric};
use per::{List, PrintableString};

/// Values of a report: 4 octets and a length each.
const MEASUREMENTS: usize = 18;
/// The reports of a burst, and the time between two.
const BURST: (usize, Duration) = (250, Duration::from_millis(5));
const SECONDS: usize = 5;

fn name(at: usize) -> String {
    format!("DRB.Value{at}")
}

/// A KPM function that repeats one report.
#[derive(Default)]
struct Source {
    subscription: Option<(RequestKey, RicActionId)>,
    next: Option<Time>,
    header: Vec<u8>,
    message: Vec<u8>,
}

impl Source {
    fn new() -> Self {
        let mut source = Source::default();
        let header = IndicationHeaderFormat1 {
            collet_start_time: TimestampFormat::Ntp.long(std::time::SystemTime::now()),
            file_format_version: None,
            sender_name: None,
            sender_type: None,
            vendor_name: None,
        };
        let header = IndicationHeader { formats: IndicationHeaderFormats::Format1(header) };
        header.encode(Revision::V3_00, &mut source.header).unwrap();
        let values = (0..MEASUREMENTS).map(|at| MeasurementRecordItem::Integer(0x1000_0000 + at as u32));
        let record = MeasurementDataItem { meas_record: values.collect(), incomplete_flag: None };
        let format =
            IndicationMessageFormat1 { meas_data: List::from(vec![record]), meas_info_list: None, granul_period: None };
        let message = IndicationMessage { formats: IndicationMessageFormats::Format1(format) };
        message.encode(Revision::V3_00, &mut source.message).unwrap();
        source
    }
}

impl RanFunction for Source {
    fn id(&self) -> RanFunctionId {
        RanFunctionId(2)
    }

    fn definition(&self) -> Function {
        let item = |at| MeasurementInfoActionItem {
            meas_name: MeasurementTypeName(PrintableString::try_from(name(at)).unwrap()),
            meas_id: None,
            bin_range_def: None,
        };
        let style = RicReportStyleItem {
            ric_report_style_type: RicStyleType(1),
            ric_report_style_name: RicStyleName(PrintableString::literal("E2 Node Measurement")),
            ric_action_format_type: RicFormatType(1),
            meas_info_action_list: (0..MEASUREMENTS).map(item).collect(),
            ric_indication_header_format_type: RicFormatType(1),
            ric_indication_message_format_type: RicFormatType(1),
        };
        let definition = RanFunctionDefinition {
            ran_function_name: RanFunctionName {
                short_name: PrintableString::literal("ORAN-E2SM-KPM"),
                e2sm_oid: PrintableString::literal(OID_V3),
                description: PrintableString::literal("KPM"),
                instance: None,
            },
            ric_event_trigger_style_list: None,
            ric_report_style_list: Some(List::from(vec![style])),
        };
        let mut octets = Vec::new();
        definition.encode(Revision::V3_00, &mut octets).unwrap();
        Function { id: self.id(), revision: RanFunctionRevision(3), oid: OID_V3.into(), definition: octets }
    }

    fn subscribe(
        &mut self,
        now: Time,
        controller: ControllerId,
        request: &SubscriptionRequest,
        _: &Views,
    ) -> Result<Admission, Cause> {
        let admitted: Vec<_> = request.actions.iter().map(|action| action.id).collect();
        self.subscription = Some((RequestKey { controller, id: request.request_id }, admitted[0]));
        self.next = Some(now);
        Ok(Admission { admitted, not_admitted: Vec::new() })
    }

    fn unsubscribe(&mut self, _: RequestKey) {
        self.subscription = None;
    }

    fn next_report(&self) -> Option<Time> {
        self.next.filter(|_| self.subscription.is_some())
    }

    fn report(&mut self, now: Time, context: &mut FunctionContext<'_>) {
        let Some((key, action)) = self.subscription else { return };
        for _ in 0..BURST.0 {
            // fails for a subscription that has just ended
            let _ = context.report(key, action, &self.header, &self.message);
        }
        // without drift
        self.next = Some(self.next.unwrap_or(now) + BURST.1);
    }
}

/// The CPU time of a thread of this process, from `/proc`.
fn cpu(thread: &str) -> Duration {
    let tasks = std::fs::read_dir("/proc/self/task").unwrap();
    let of = |task: std::fs::DirEntry| {
        let name = std::fs::read_to_string(task.path().join("comm")).ok()?;
        (name.trim() == thread).then(|| std::fs::read_to_string(task.path().join("schedstat")).ok())?
    };
    let text = tasks.filter_map(|task| of(task.ok()?)).next().unwrap();
    Duration::from_nanos(text.split(' ').next().unwrap().parse().unwrap())
}

fn main() {
    let any = Address::Tcp { host: "127.0.0.1".into(), port: 0 };
    let config = ServerConfig { e2: vec![any.clone().into()], xapp: Some(any), ..ServerConfig::default() };
    let mut server = Server::bind(config).unwrap();
    let (e2, xapp) = (server.e2_addresses().next().unwrap().clone(), server.xapp_address().unwrap().to_string());
    let stop = server.stop_handle();
    let ric = std::thread::spawn(move || server.run().unwrap());
    let (sender, receiver) = mpsc::channel();
    let node = std::thread::spawn(move || {
        let mut agents = AgentLoop::new(Default::default()).unwrap();
        let id = GlobalE2NodeId::gnb(PlmnIdentity::from_codes(1, 1, 2), GnbId::new(0xe00, 22));
        agents.add(id, e2.into(), vec![Box::new(Source::new())]);
        sender.send(agents.stop_handle()).unwrap();
        agents.run().unwrap();
    });
    let stop_node = receiver.recv().unwrap();

    let octets = Source::new();
    println!("{} octets in header and message of an indication", octets.header.len() + octets.message.len());
    let session = Ric::options().address(xapp).connect().unwrap();
    session.node("gnb-00101-e00").unwrap();
    let mut stream = session.kpm((0..MEASUREMENTS).map(name)).whole_node().every(5).unwrap();
    let mut batch = Batch::default();
    let reader = std::fs::read_to_string("/proc/thread-self/comm").unwrap().trim().to_owned();
    for second in 1..=SECONDS {
        let (begun, before, lost) = (Instant::now(), [cpu("ferric-xapp"), cpu(&reader)], stream.lost());
        let (mut records, mut batches, mut sum) = (0, 0, 0.0);
        while begun.elapsed() < Duration::from_secs(1) {
            // as a reader that has other things to do
            std::thread::sleep(Duration::from_millis(5));
            while stream.next_batch(&mut batch, Some(Duration::ZERO)).is_ok() {
                records += batch.len();
                batches += 1;
                sum += batch.columns[0].values.iter().sum::<f64>();
            }
        }
        let (wall, lost) = (begun.elapsed().as_secs_f64(), stream.lost() - lost);
        let share = |thread: &str, before: Duration| 100.0 * (cpu(thread) - before).as_secs_f64() / wall;
        let [session_cpu, reader_cpu] = [share("ferric-xapp", before[0]), share(&reader, before[1])];
        println!(
            "second={second} records_per_s={:.0} batches={batches} lost={lost} dropped={} session_cpu_percent={session_cpu:.1} \
             reader_cpu_percent={reader_cpu:.1} mean={:.0}",
            records as f64 / wall,
            session.dropped().unwrap(),
            sum / records.max(1) as f64,
        );
    }
    drop((stream, session));
    stop_node.stop();
    stop.stop();
    node.join().unwrap();
    ric.join().unwrap();
}
