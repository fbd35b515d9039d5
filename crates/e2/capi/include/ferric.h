/* ferric: E2 agents for base stations (ferric_agent_…; docs/embedding.md) and xApps (ferric_xapp_…; docs/xapp-c.md). Made from
 * the crate ferric-capi.
 *
 * Every call returns FERRIC_OK or a code FERRIC_ERROR_…; where it takes a `struct ferric_error *`, it also writes a text there,
 * unless that is NULL. Every handle is checked: one that was freed is answered with FERRIC_ERROR_HANDLE. No call aborts.
 */

#ifndef FERRIC_H
#define FERRIC_H

#include <stddef.h>
#include <stdint.h>

// The RAN function does not support the action (E2AP 9.2.1, cause "RIC request").
#define FERRIC_CAUSE_ACTION_NOT_SUPPORTED 1

// The RAN function has no resources left.
#define FERRIC_CAUSE_FUNCTION_RESOURCE_LIMIT 2

// The control message is invalid.
#define FERRIC_CAUSE_CONTROL_MESSAGE_INVALID 3

// The control could not be executed.
#define FERRIC_CAUSE_CONTROL_FAILED_TO_EXECUTE 4

// The event trigger is not supported.
#define FERRIC_CAUSE_EVENT_TRIGGER_NOT_SUPPORTED 5

// The system is not ready.
#define FERRIC_CAUSE_SYSTEM_NOT_READY 6

// No specific cause is known. Any other value that is not 0 stands for it.
#define FERRIC_CAUSE_UNSPECIFIED 7

// The call process id is invalid: the decision on an insert comes too late.
#define FERRIC_CAUSE_CALL_PROCESS_ID_INVALID 8

// The control arrived, or was executed, too late.
#define FERRIC_CAUSE_CONTROL_TIMER_EXPIRED 9

// The request id is unknown.
#define FERRIC_CAUSE_REQUEST_ID_UNKNOWN 10

// A cause of another group: of the RIC service, the E2 node, the transport, the protocol, or miscellaneous.
#define FERRIC_CAUSE_OTHER 11

// The action reports.
#define FERRIC_ACTION_REPORT 0

// The action inserts.
#define FERRIC_ACTION_INSERT 1

// The action is a policy.
#define FERRIC_ACTION_POLICY 2

// The room for the outcome of a control, in octets.
#define FERRIC_OUTCOME_OCTETS 4096

// The most objects of a type that exist at a time.
#define FERRIC_MAX_OBJECTS 1024

// A measurement of the cell only.
#define FERRIC_SCOPE_CELL 1

// A measurement of UEs only.
#define FERRIC_SCOPE_UE 2

// A measurement of the cell and of UEs.
#define FERRIC_SCOPE_CELL_AND_UE 3

// The value is what was counted in the period, times `scale`: octets of a period in kbit with 0.008.
#define FERRIC_KIND_COUNT 1

// The value is what was counted per second, times `scale`: octets as kbit/s with 0.008.
#define FERRIC_KIND_RATE 2

// The value is the mean of the samples of the period, times `scale`; no value without samples.
#define FERRIC_KIND_MEAN 3

// The value is what was set last, times `scale`; no value before. That of several UEs is the mean.
#define FERRIC_KIND_CURRENT 4

// The most measurements of a table.
#define FERRIC_KPM_MAX_MEASUREMENTS 256

// The most UEs of a table.
#define FERRIC_KPM_MAX_UES 4096

// Something failed and stays so until a person acts.
#define FERRIC_LOG_ERROR 1

// Something failed; the agent continues or tries again.
#define FERRIC_LOG_WARNING 2

// What happens, a line each: set up, subscribed, lost.
#define FERRIC_LOG_INFO 3

// Details.
#define FERRIC_LOG_DEBUG 4

// Handover control (E2SM-RC control style 3, action 1).
#define FERRIC_RC_HANDOVER 1

// DRX parameter configuration (control style 2, action 1).
#define FERRIC_RC_DRX 2

// DRB QoS configuration (control style 1, action 1).
#define FERRIC_RC_DRB_QOS 4

// Slice-level PRB quota (control style 2, action 6).
#define FERRIC_RC_SLICE_QUOTA 8

// A share that a control does not state.
#define FERRIC_RC_ABSENT UINT32_MAX

// The most network slices of a control.
#define FERRIC_RC_MAX_QUOTAS 16

// The length of the reason of a refusal in octets, with its final zero.
#define FERRIC_RC_REASON_OCTETS 128

// The most controls that wait for a thread of the base station.
#define FERRIC_RC_MAX_QUEUE 4096

// The most octets of a ring.
#define FERRIC_REPORTER_MAX_OCTETS ((64 * 1024) * 1024)

// The fewest octets of a ring.
#define FERRIC_REPORTER_MIN_OCTETS 4096

// The most reporters of a RAN function.
#define FERRIC_MAX_REPORTERS 64

// The call succeeded.
#define FERRIC_OK 0

// A pointer that must not be NULL is NULL.
#define FERRIC_ERROR_NULL -1

// The handle names no object of its type: it was never valid, or its object was freed.
#define FERRIC_ERROR_HANDLE -2

// An argument is out of range; the text names it.
#define FERRIC_ERROR_ARGUMENT -3

// The call does not fit the state of the object, such as a RAN function that is added after the start.
#define FERRIC_ERROR_STATE -4

// A bounded resource is used up, such as the rows for UEs.
#define FERRIC_ERROR_LIMIT -5

// Another thread uses the object, and the call may not wait.
#define FERRIC_ERROR_BUSY -6

// The ring has no room for the report, which was dropped and counted.
#define FERRIC_ERROR_FULL -7

// The call was made from a callback, where it would wait for itself.
#define FERRIC_ERROR_CALLBACK -8

// The object belongs to the process from which this one was forked.
#define FERRIC_ERROR_FORKED -9

// The operating system refused a resource; the text has its reason.
#define FERRIC_ERROR_SYSTEM -10

// The UE was removed, or its row has another UE.
#define FERRIC_ERROR_UE -11

// A defect of the library; the text has its message. The object should be freed.
#define FERRIC_ERROR_INTERNAL -12

// Nothing is waiting.
#define FERRIC_ERROR_EMPTY -13

// A signal has interrupted the wait.
#define FERRIC_ERROR_INTERRUPTED -14

// The deadline has passed.
#define FERRIC_ERROR_TIMEOUT -15

// There is no session: nothing listens at the address, or the RIC refused it.
#define FERRIC_ERROR_CONNECT -16

// The session was closed, or has ended.
#define FERRIC_ERROR_CLOSED -17

// There is no such node, cell, UE or slice; the text has the nearest known names.
#define FERRIC_ERROR_UNKNOWN -18

// A node does not offer it, or no node does; the text has the nearest that are offered.
#define FERRIC_ERROR_NOT_OFFERED -19

// The node refused: `cause` and `cause_text` have the cause of E2AP.
#define FERRIC_ERROR_REFUSED -20

// The RIC refused, and sent nothing to the node.
#define FERRIC_ERROR_REFUSED_BY_RIC -21

// The node or the RIC was lost before the answer.
#define FERRIC_ERROR_NODE_LOST -22

// The answer of the node cannot be read.
#define FERRIC_ERROR_MALFORMED -23

// The node acknowledged the control, and no report shows its effect.
#define FERRIC_ERROR_UNVERIFIED -24

// The length of the text of an error in octets, with its final zero.
#define FERRIC_ERROR_TEXT_OCTETS 512

// The length of names in octets, with their final zero: of nodes, UEs, fields and causes.
#define FERRIC_NAME_OCTETS 96

// The UE is named by AMF UE NGAP ID and GUAMI: in a gNB or a gNB-CU (E2SM 6.2.2.6, choice gNB-UEID).
#define FERRIC_UE_GNB 1

// The UE is named by gNB-CU UE F1AP ID: in a gNB-DU (choice gNB-DU-UEID).
#define FERRIC_UE_GNB_DU 2

// The most slices of a UE, and the most 5QIs.
#define FERRIC_UE_MAX_SLICES 8

// The index of a subject that a record does not have.
#define FERRIC_XAPP_NONE UINT32_MAX

// A value is a whole number.
#define FERRIC_XAPP_VALUE_INTEGER 0

// A value is a real number.
#define FERRIC_XAPP_VALUE_REAL 1

// The node had no value.
#define FERRIC_XAPP_VALUE_NONE 2

// The value does not meet the condition for reporting it.
#define FERRIC_XAPP_VALUE_NOT_SATISFIED 3

// The report of the node does not contain the measurement.
#define FERRIC_XAPP_VALUE_ABSENT 4

// The most structures of a call.
#define FERRIC_XAPP_MAX_STRUCTURES 64

// The longest JSON text of a change in octets.
#define FERRIC_XAPP_MAX_JSON_OCTETS 65536

// The length of the text of an answer in octets, with its final zero.
#define FERRIC_XAPP_ANSWER_OCTETS 256

// The RIC is lost, of several the last one; the session connects again.
#define FERRIC_XAPP_EVENT_RIC_LOST 1

// The RIC is back, of several one.
#define FERRIC_XAPP_EVENT_RIC_BACK 2

// A node has set up; also each one that is up when the stream begins.
#define FERRIC_XAPP_EVENT_NODE_UP 3

// A node is lost.
#define FERRIC_XAPP_EVENT_NODE_LOST 4

// The RIC has dropped reports because this session reads too slowly.
#define FERRIC_XAPP_EVENT_REPORTS_DROPPED 5

// An event that this version of the header does not have.
#define FERRIC_XAPP_EVENT_OTHER 6

// A node is connected to another RIC of the session than before, after it was lost and has set up: streams go on with its reports from
// there, and those in between are missing.
#define FERRIC_XAPP_EVENT_NODE_MOVED 7

// The most measurements of a stream.
#define FERRIC_XAPP_MAX_MEASUREMENTS 1024

// The handover continues.
#define FERRIC_XAPP_ACCEPT 0

// The handover ends.
#define FERRIC_XAPP_REJECT 1

// The parameter is equal to the value.
#define FERRIC_XAPP_EQUAL 0

// The parameter is not equal to the value.
#define FERRIC_XAPP_NOT_EQUAL 1

// The parameter is greater than the value.
#define FERRIC_XAPP_GREATER 2

// The parameter is less than the value.
#define FERRIC_XAPP_LESS 3

// The most rules of a policy.
#define FERRIC_XAPP_MAX_RULES 64

// The most conditions of a rule.
#define FERRIC_XAPP_MAX_CONDITIONS 16

// The most kinds of messages of a stream.
#define FERRIC_XAPP_MAX_RRC_KINDS 64

// The direction to the UE.
#define FERRIC_DOWNLINK 0

// The direction from the UE.
#define FERRIC_UPLINK 1

// The most slices of a call.
#define FERRIC_XAPP_MAX_SLICES 1024

// A queue: first in, first out.
#define FERRIC_XAPP_QUEUE_FIFO 0

// A queue with CoDel, which drops packets that wait too long (RFC 8289).
#define FERRIC_XAPP_QUEUE_CODEL 1

// A queue with CoDel that marks packets (ECN) in place of dropping them.
#define FERRIC_XAPP_QUEUE_ECN_CODEL 2

// The most queues that a scheduler is given values for.
#define FERRIC_XAPP_MAX_QUEUES 256

// The queues take turns.
#define FERRIC_XAPP_SCHEDULER_ROUND_ROBIN 0

// The values are priorities of the queues; 0 comes first.
#define FERRIC_XAPP_SCHEDULER_PRIORITY 1

// The values are quanta of the queues in octets.
#define FERRIC_XAPP_SCHEDULER_DEFICIT_ROUND_ROBIN 2

// Takes a log line: the `user` of the configuration, one of FERRIC_LOG_…, and a text that ends with a zero and is valid during
// the call. Called on the thread of the agent.
typedef void (*ferric_log_function)(void *user, uint32_t level, const char *line);

// The configuration of an agent. Set it to zeros, then `size` and the rest.
struct ferric_agent_config {
  // sizeof(struct ferric_agent_config)
  uint32_t size;
  // The PLMN: five or six digits, such as "00101".
  const char *plmn;
  // The address of the near-RT RIC: "sctp://10.0.0.1:36421", "tcp://127.0.0.1:36421", "unix:/run/e2", …
  const char *ric;
  // gNB ID.
  uint32_t gnb_id;
  // The bits of the gNB ID, 22 to 32; 0 stands for 22.
  uint32_t gnb_id_bits;
  // 1 if the node is a gNB-DU, else 0: a gNB.
  uint32_t is_du;
  // gNB-DU ID, 36 bits.
  uint64_t gnb_du_id;
  // The version of E2AP in hundredths: 100, 101, 203 or 301; 0 stands for 203.
  uint32_t e2ap_version;
  // The least severe lines that are logged: FERRIC_LOG_…; 0 stands for FERRIC_LOG_INFO.
  uint32_t log_level;
  // Takes log lines; NULL: nothing is logged.
  ferric_log_function log;
  // Passed to `log`.
  void *log_user;
};

// An agent.
struct ferric_agent {
  // The number of the object; 0 is none.
  uint64_t id;
};

// An error: a code, a text in English that names the argument or the reason, and what programs need of it. Texts end with a
// zero, and are empty where there is nothing to say.
struct ferric_error {
  // FERRIC_OK, or one of the codes FERRIC_ERROR_….
  int32_t code;
  // The cause, FERRIC_CAUSE_…, if a node refused; else 0.
  int32_t cause;
  // The cause in words, such as "RIC request: ControlFailedToExecute".
  char cause_text[FERRIC_NAME_OCTETS];
  // The argument or parameter at fault.
  char field[FERRIC_NAME_OCTETS];
  // The node that it is about.
  char node[FERRIC_NAME_OCTETS];
  // The text.
  char text[FERRIC_ERROR_TEXT_OCTETS];
};

// Names a subscription: valid from `subscribe` until `unsubscribe`. It may be copied and compared.
struct ferric_subscription {
  // The controller within the node.
  uint64_t controller;
  // RIC Requestor ID.
  uint16_t requestor;
  // RIC Instance ID.
  uint16_t instance;
};

// An action of a subscription request.
struct ferric_action {
  // RIC Action ID.
  uint8_t id;
  // FERRIC_ACTION_REPORT, …
  uint32_t kind;
  // The action definition of the service model; NULL if there is none.
  const uint8_t *definition;
  // Its length.
  size_t definition_octets;
  // The answer of the RAN function: 0 if the action is set up (as it is set before the call), or FERRIC_CAUSE_….
  int32_t cause;
};

// A subscription request. Its pointers are valid during the call.
struct ferric_subscription_request {
  // Its name from now on.
  struct ferric_subscription subscription;
  // The event trigger definition of the service model.
  const uint8_t *event_trigger;
  // Its length.
  size_t event_trigger_octets;
  // The actions, whose `cause` the function may set.
  struct ferric_action *actions;
  // Their number.
  size_t action_count;
};

// A control request. Its pointers are valid during the call.
struct ferric_control_request {
  // The controller within the node.
  uint64_t controller;
  // The control header of the service model.
  const uint8_t *header;
  // Its length.
  size_t header_octets;
  // The control message of the service model.
  const uint8_t *message;
  // Its length.
  size_t message_octets;
  // The call process id of the insert that it answers; NULL if there is none.
  const uint8_t *call_process_id;
  // Its length.
  size_t call_process_id_octets;
  // Room for the control outcome: FERRIC_OUTCOME_OCTETS.
  uint8_t *outcome;
  // The octets of the control outcome that the function has written; 0 (as it is set before the call) is none.
  size_t outcome_octets;
};

// A RAN function. Set it to zeros, then `size` and the rest. All callbacks are called on the thread of the agent; they must not
// wait. `oid` and `definition` are copied.
struct ferric_function_config {
  // sizeof(struct ferric_function_config)
  uint32_t size;
  // RAN Function ID, 0 to 4095.
  uint32_t id;
  // RAN Function Revision, 0 to 4095.
  uint32_t revision;
  // The object identifier of the service model.
  const char *oid;
  // The RAN function definition of the service model.
  const uint8_t *definition;
  // Its length.
  size_t definition_octets;
  // Passed to each callback.
  void *user;
  // A controller subscribes. Returns 0, or FERRIC_CAUSE_… to refuse the whole subscription.
  int32_t (*subscribe)(void *user, const struct ferric_subscription_request *request);
  // A subscription has ended. May be NULL.
  void (*unsubscribe)(void *user, struct ferric_subscription subscription);
  // A control request. Returns 0 if it was executed, or FERRIC_CAUSE_…. May be NULL: controls are refused.
  int32_t (*control)(void *user, struct ferric_control_request *request);
};

// A RAN function of an agent.
struct ferric_function {
  // The number of the object; 0 is none.
  uint64_t id;
};

// A measurement that the base station supports.
struct ferric_measurement {
  // The name as in TS 28.552 or O-RAN, such as "DRB.UEThpDl": 1 to 150 printable characters.
  const char *name;
  // FERRIC_SCOPE_CELL, FERRIC_SCOPE_UE or FERRIC_SCOPE_CELL_AND_UE. What is written for a UE counts for the cell as well,
  // except with FERRIC_KIND_CURRENT.
  uint32_t scope;
  // FERRIC_KIND_COUNT, …
  uint32_t kind;
  // The factor from the unit of the base station to that of the measurement; not 0.
  double scale;
  // 1 if values are reported as real numbers, 0 if they are rounded to whole numbers.
  uint32_t is_real;
};

// The configuration of KPM. Set it to zeros, then `size` and the rest.
struct ferric_kpm_config {
  // sizeof(struct ferric_kpm_config)
  uint32_t size;
  // The number of measurements: 1 to FERRIC_KPM_MAX_MEASUREMENTS.
  uint32_t measurement_count;
  // The measurements. Their place in this array names them in all calls.
  const struct ferric_measurement *measurements;
  // The NR cell identity, 36 bits.
  uint64_t nr_cell_identity;
  // The most UEs at a time: 1 to FERRIC_KPM_MAX_UES. Memory for all of them is allocated at once.
  uint32_t max_ues;
  // The RAN function id; 0 stands for 2.
  uint32_t function_id;
  // The revision of E2SM-KPM in hundredths, such as 203 for v02.03; 0 stands for v03.00.
  uint32_t revision;
};

// The table of a KPM function.
struct ferric_kpm {
  // The number of the object; 0 is none.
  uint64_t id;
};

// A slice: S-NSSAI (TS 23.501 5.15.2).
struct ferric_slice {
  // The slice/service type.
  uint8_t sst;
  // 1 if there is a slice differentiator, else 0.
  uint8_t has_sd;
  // The slice differentiator, 24 bits.
  uint32_t sd;
};

// The names of a UE, and what it uses. Set it to zeros, then `size`, `kind` and what is known.
struct ferric_ue_identity {
  // sizeof(struct ferric_ue_identity)
  uint32_t size;
  // FERRIC_UE_GNB or FERRIC_UE_GNB_DU: which of the following names are used.
  uint32_t kind;
  // AMF UE NGAP ID, 0 to 2^40 - 1 (FERRIC_UE_GNB).
  uint64_t amf_ue_ngap_id;
  // AMF region, 8 bits (FERRIC_UE_GNB).
  uint8_t amf_region;
  // AMF pointer, 6 bits (FERRIC_UE_GNB).
  uint8_t amf_pointer;
  // AMF set, 10 bits (FERRIC_UE_GNB).
  uint16_t amf_set;
  // gNB-CU UE F1AP ID (FERRIC_UE_GNB_DU).
  uint32_t gnb_cu_ue_f1ap_id;
  // RAN UE ID within the node; 0 if there is none.
  uint64_t ran_ue_id;
  // C-RNTI, 1 to 65,519; 0 if it is not to be reported. Reported from KPM v04.00 on.
  uint16_t c_rnti;
  // The number of slices: at most FERRIC_UE_MAX_SLICES.
  uint8_t slice_count;
  // The number of 5QIs: at most FERRIC_UE_MAX_SLICES.
  uint8_t five_qi_count;
  // The 5QIs of its QoS flows.
  uint8_t five_qis[FERRIC_UE_MAX_SLICES];
  // The slices of its PDU sessions.
  struct ferric_slice slices[FERRIC_UE_MAX_SLICES];
};

// A UE of a table: its row and the generation of the row. 0 is the cell.
struct ferric_ue {
  // The number of the UE; 0 is the cell.
  uint64_t id;
};

// The quota of a network slice: a share in percent, or FERRIC_RC_ABSENT.
struct ferric_rc_quota {
  // The network slice, of the PLMN of the node.
  struct ferric_slice slice;
  // The share that it gets if it has data.
  uint32_t min_percent;
  // The most that it gets.
  uint32_t max_percent;
  // The share that stays reserved without data.
  uint32_t dedicated_percent;
};

// A control. Which members have a meaning depends on `action`; the others are 0.
struct ferric_rc_control {
  // Its number, with which a queued control is answered.
  uint64_t id;
  // The action: FERRIC_RC_HANDOVER, ….
  uint32_t action;
  // The UE, of the table of the agent; 0 for FERRIC_RC_SLICE_QUOTA.
  struct ferric_ue ue;
  // Handover: the cell identity of the target cell.
  uint64_t target_cell;
  // Handover: the PLMN of the target cell, such as "00101".
  char target_plmn[8];
  // Handover: 1 if the target is an E-UTRA cell, 0 if it is an NR cell.
  uint32_t target_is_eutra;
  // DRX: the long cycle.
  uint32_t long_cycle_ms;
  // DRX: the short cycle; 0 if there is none.
  uint32_t short_cycle_ms;
  // DRX: the short cycles until the long one is used again, 1 to 16; 0 if the control does not state it.
  uint32_t short_cycle_timer;
  // QoS: the data radio bearer, 1 to 32.
  uint32_t drb;
  // QoS: 1 if `five_qi` is given, else 0.
  uint32_t has_five_qi;
  // QoS: the 5QI.
  uint32_t five_qi;
  // QoS: the priority level, 1 (served first) to 127; 0 if it stays.
  uint32_t priority;
  // Quota: the number of network slices; others keep theirs.
  uint32_t quota_count;
  // Quota: the network slices.
  struct ferric_rc_quota quotas[FERRIC_RC_MAX_QUOTAS];
};

// Executes a control on the thread of the agent; must not wait. Returns 0, or FERRIC_CAUSE_…: nothing was changed. In that case it
// may write a text to `reason`, which has FERRIC_RC_REASON_OCTETS octets.
typedef int32_t (*ferric_rc_control_function)(void *user, const struct ferric_rc_control *control, char *reason);

// The configuration of RC. Set it to zeros, then `size` and the rest.
struct ferric_rc_config {
  // sizeof(struct ferric_rc_config)
  uint32_t size;
  // The sum of the actions that are offered: FERRIC_RC_HANDOVER + ….
  uint32_t actions;
  // Executes controls; NULL: they wait for ferric_rc_next.
  ferric_rc_control_function control;
  // Passed to `control`.
  void *user;
  // The controls that may wait, 1 to FERRIC_RC_MAX_QUEUE; 0 stands for 64.
  uint32_t queue_length;
  // How long a queued control may be without an answer, in milliseconds, up to 4,000; 0 stands for 1,000. It is refused then,
  // and ferric_rc_next does not return it.
  uint32_t answer_ms;
  // The RAN function id; 0 stands for 3.
  uint32_t function_id;
  // The revision of E2SM-RC in hundredths: 103, 300 or 500; 0 stands for 300.
  uint32_t revision;
};

// The controls of an agent that wait for the base station.
struct ferric_rc {
  // The number of the object; 0 is none.
  uint64_t id;
};

// The reporter of a RAN function: one for each thread that reports.
struct ferric_reporter {
  // The number of the object; 0 is none.
  uint64_t id;
};

// The memory of records in columns, which is used again for each read. One for each thread that reads.
struct ferric_xapp_batch {
  // The number of the object; 0 is none.
  uint64_t id;
};

// A stream of measurements.
struct ferric_xapp_kpm {
  // The number of the object; 0 is none.
  uint64_t id;
};

// The values of one measurement, one for each record.
struct ferric_xapp_column {
  // The values; 0 where there is no number.
  const double *values;
  // Their kinds: FERRIC_XAPP_VALUE_….
  const uint8_t *kinds;
};

// Names that the indices of a column stand for.
struct ferric_xapp_names {
  // The names.
  const char *const *names;
  // Their number.
  size_t count;
};

// Records in columns. All pointers are valid until the batch is read into again or freed.
struct ferric_xapp_columns {
  // The number of records: each column has so many items.
  size_t count;
  // The start of the measured period in nanoseconds since 1970.
  const int64_t *times_ns;
  // Indices into `node_names`.
  const uint32_t *nodes;
  // Indices into `cell_names`, or FERRIC_XAPP_NONE.
  const uint32_t *cells;
  // Indices into `ue_names`, or FERRIC_XAPP_NONE.
  const uint32_t *ues;
  // Indices into `slice_names`, or FERRIC_XAPP_NONE.
  const uint32_t *slices;
  // The measurements in the order of the request.
  const struct ferric_xapp_column *measurements;
  // Their number.
  size_t measurement_count;
  // The names of nodes.
  struct ferric_xapp_names node_names;
  // The names of cells.
  struct ferric_xapp_names cell_names;
  // The names of UEs.
  struct ferric_xapp_names ue_names;
  // The names of network slices.
  struct ferric_xapp_names slice_names;
};

// A session with a near-RT RIC.
struct ferric_xapp {
  // The number of the object; 0 is none.
  uint64_t id;
};

// The answer of the nodes that have executed a control.
struct ferric_xapp_answer {
  // The number of nodes; the rest is about the first.
  size_t nodes;
  // Its name.
  char node[FERRIC_NAME_OCTETS];
  // What it says in the outcome of its service model; empty if nothing.
  char text[FERRIC_XAPP_ANSWER_OCTETS];
};

// A stream of reports of configuration structures.
struct ferric_xapp_configurations {
  // The number of the object; 0 is none.
  uint64_t id;
};

// A report of configuration structures of a cell.
struct ferric_xapp_configuration {
  // The name of the node.
  char node[FERRIC_NAME_OCTETS];
  // The cell.
  char cell[16];
  // The length of the JSON text in octets without its final zero, which may be more than there was room for.
  size_t length;
  // The reports that this stream has lost since it began, because it was read too slowly.
  uint64_t lost;
};

// A change of the QoS of a bearer. Set it to zeros, then `size` and what changes.
struct ferric_xapp_qos {
  // sizeof(struct ferric_xapp_qos)
  uint32_t size;
  // The data radio bearer, 1 to 32; 0 stands for 1.
  uint32_t drb;
  // 1 if `five_qi` is given, else 0.
  uint32_t has_five_qi;
  // The 5QI, 0 to 255.
  uint32_t five_qi;
  // The priority level, 1 (served first) to 127; 0 if it stays.
  uint32_t priority;
};

// The shares of a network slice in the resource blocks of a cell: dedicated <= min <= max.
struct ferric_xapp_quota {
  // sizeof(struct ferric_xapp_quota)
  uint32_t size;
  // The share in percent that it gets if it has data.
  uint32_t min_percent;
  // The most that it gets, in percent: 100 for no limit.
  uint32_t max_percent;
  // The share in percent that stays reserved without data.
  uint32_t dedicated_percent;
};

// A stream of events.
struct ferric_xapp_events {
  // The number of the object; 0 is none.
  uint64_t id;
};

// An event.
struct ferric_xapp_event {
  // FERRIC_XAPP_EVENT_….
  uint32_t kind;
  // The name of the node; empty if the event is about none.
  char node[FERRIC_NAME_OCTETS];
  // The reports that the RIC has dropped since the session began, in FERRIC_XAPP_EVENT_REPORTS_DROPPED.
  uint64_t count;
};

// A stream of handovers that wait for a decision.
struct ferric_xapp_handovers {
  // The number of the object; 0 is none.
  uint64_t id;
};

// A handover that waits for a decision, until it is accepted, denied or freed.
struct ferric_xapp_handover {
  // The number of the object; 0 is none.
  uint64_t id;
};

// A handover that a node has begun.
struct ferric_xapp_handover_request {
  // Its handle for the decision.
  struct ferric_xapp_handover handover;
  // The name of the node.
  char node[FERRIC_NAME_OCTETS];
  // The UE.
  char ue[FERRIC_NAME_OCTETS];
  // The cell that the node has chosen.
  char target[16];
};

// A request for measurements. Set it to zeros, then `size` and the rest. At most one of `ue`, `cell`, `slice` and `whole_node`
// is given; without them there is a record of each UE.
struct ferric_xapp_kpm_config {
  // sizeof(struct ferric_xapp_kpm_config)
  uint32_t size;
  // The period of the reports in milliseconds, at least 1.
  uint32_t period_ms;
  // The names of the measurements, such as "DRB.UEThpDl".
  const char *const *measurements;
  // Their number: 1 to FERRIC_XAPP_MAX_MEASUREMENTS.
  size_t measurement_count;
  // Of one UE, at whichever node it is; NULL: no restriction.
  const char *ue;
  // Of a cell; NULL: no restriction.
  const char *cell;
  // The share of a network slice, "1" or "1-00000a"; NULL: no restriction.
  const char *slice;
  // Of one node, by its name; NULL: of all nodes.
  const char *node;
  // 1 if each node is measured as a whole, else 0.
  uint32_t whole_node;
  // The records that are buffered for a slow reader, who loses the oldest beyond it; 0 stands for 65,536.
  uint32_t buffer_records;
};

// The subject of a record. Texts are empty where there is nothing known.
struct ferric_xapp_record {
  // The start of the measured period in nanoseconds since 1970, by the clock of the node.
  int64_t time_ns;
  // The name of the node.
  char node[FERRIC_NAME_OCTETS];
  // The cell in hexadecimal digits.
  char cell[16];
  // The UE, in a record of one: "amf:17".
  char ue[FERRIC_NAME_OCTETS];
  // The network slice: the one that the record is about, or that of its UE.
  char slice[16];
};

// An E2 node.
struct ferric_xapp_node {
  // Its name, as the RIC logs it: "gnb-00101-e00".
  char name[FERRIC_NAME_OCTETS];
};

// A cell.
struct ferric_xapp_cell {
  // Its NR or E-UTRA cell identity.
  uint64_t identity;
  // The same in hexadecimal digits, as calls take it: "003804001".
  char name[16];
  // The name of its node.
  char node[FERRIC_NAME_OCTETS];
};

// A UE, with what is known of it.
struct ferric_xapp_ue {
  // The most stable of its names, as calls take it: "amf:17".
  char name[FERRIC_NAME_OCTETS];
  // Its AMF UE NGAP ID; -1 if it is not known.
  int64_t amf_ue_ngap_id;
  // Its C-RNTI; 0 if it is not known.
  uint16_t c_rnti;
  // Its cell in hexadecimal digits; empty if it is not known.
  char cell[16];
  // The first of its network slices: "1" or "1-00000a"; empty if it is not known.
  char slice[16];
  // The first of its IPv4 addresses; empty if it is not known.
  char ip[16];
};

// A condition on the UE of a handover.
struct ferric_xapp_condition {
  // The parameter as the node registers it, such as "CQI", or its number in digits.
  const char *parameter;
  // FERRIC_XAPP_EQUAL, …
  uint32_t comparison;
  // The value, in the unit of the parameter.
  int64_t value;
};

// A rule on handovers that nodes begin.
struct ferric_xapp_handover_rule {
  // The conditions, all of which must hold; NULL: the rule always applies.
  const struct ferric_xapp_condition *conditions;
  // Their number, at most FERRIC_XAPP_MAX_CONDITIONS.
  size_t condition_count;
  // FERRIC_XAPP_ACCEPT or FERRIC_XAPP_REJECT.
  uint32_t decision;
  // Another target of a handover that is accepted; NULL: the one that the node has chosen.
  const char *cell;
};

// A policy that nodes apply, until it is freed.
struct ferric_xapp_policy {
  // The number of the object; 0 is none.
  uint64_t id;
};

// A stream of copies of RRC messages.
struct ferric_xapp_rrc_messages {
  // The number of the object; 0 is none.
  uint64_t id;
};

// A copy of an RRC message.
struct ferric_xapp_rrc_message {
  // The name of the node.
  char node[FERRIC_NAME_OCTETS];
  // The UE.
  char ue[FERRIC_NAME_OCTETS];
  // The length of the message in octets, which may be more than there was room for.
  size_t length;
  // The messages that this stream has lost since it began, because it was read too slowly.
  uint64_t lost;
};

// How to connect to a RIC. Set it to zeros, then `size` and what differs from the defaults.
struct ferric_xapp_config {
  // sizeof(struct ferric_xapp_config)
  uint32_t size;
  // How long to wait for a RIC that does not listen yet, in milliseconds; 0 stands for 30,000.
  uint32_t connect_timeout_ms;
  // The address of the RIC for xApps, or the addresses of several RICs that share nodes, with spaces in between (docs/several-rics.md);
  // NULL: the variable FERRIC_RIC, or "tcp://127.0.0.1:36423".
  const char *ric;
  // The name of the xApp in the log of the RIC, 1 to 64 octets; NULL: the name of the program.
  const char *name;
  // How long verbs wait for their answers, in milliseconds; 0 stands for 10,000.
  uint32_t deadline_ms;
  // The least severe lines that are logged: FERRIC_LOG_…; 0 stands for FERRIC_LOG_INFO.
  uint32_t log_level;
  // Takes log lines, on a thread of the library; NULL: nothing is logged.
  ferric_log_function log;
  // Passed to `log`.
  void *log_user;
  // For an address tls://…: the PEM file with the certificates of the CAs that are trusted to sign that of the RIC; else NULL. The
  // three files are given together (docs/tls.md).
  const char *tls_ca;
  // The PEM file with the certificate of the xApp, followed by intermediate certificates.
  const char *tls_certificate;
  // The PEM file with the private key of that certificate, not encrypted.
  const char *tls_key;
};

// A slice as a node reports it.
struct ferric_xapp_slice {
  // The name of the node.
  char node[FERRIC_NAME_OCTETS];
  // FERRIC_DOWNLINK or FERRIC_UPLINK.
  uint32_t direction;
  // Its number.
  uint32_t id;
  // Its label.
  char label[FERRIC_NAME_OCTETS];
  // Its share in percent; NaN if the scheduler divides the cell otherwise.
  float share_percent;
  // The number of UEs in it.
  size_t ue_count;
};

// A slice to set: a share of the cell's resource blocks.
struct ferric_xapp_share {
  // The number of the slice, by which it is changed later.
  uint32_t id;
  // The share in percent: above 0, up to 100.
  float share_percent;
  // A label for people; NULL: none.
  const char *label;
};

// A queue to add. Set it to zeros, then `size` and the rest.
struct ferric_xapp_queue {
  // sizeof(struct ferric_xapp_queue)
  uint32_t size;
  // FERRIC_XAPP_QUEUE_….
  uint32_t kind;
  // The target of CoDel in milliseconds; 0 stands for 5.
  uint32_t target_ms;
  // The interval of CoDel in milliseconds; 0 stands for 100.
  uint32_t interval_ms;
};

// The packets of a flow. Set it to zeros, then `size` and what they have in common: what is 0 or NULL matches everything.
struct ferric_xapp_flow {
  // sizeof(struct ferric_xapp_flow)
  uint32_t size;
  // The protocol: 6 is TCP, 17 UDP.
  uint32_t protocol;
  // The source address: "10.45.0.7".
  const char *source;
  // The destination address.
  const char *destination;
  // The source port.
  uint32_t source_port;
  // The destination port.
  uint32_t destination_port;
};

// The policer of a queue. Set it to zeros, then `size` and the rest.
struct ferric_xapp_policer {
  // sizeof(struct ferric_xapp_policer)
  uint32_t size;
  // The number of the policer, which is that of its queue.
  uint32_t id;
  // 1 if it is active, 0 if not.
  uint32_t is_active;
  // Packets beyond this rate are dropped, in kbit/s.
  uint32_t drop_rate_kbps;
  // Packets beyond this rate go to `deviation_queue`, in kbit/s; 0 stands for none.
  uint32_t deviation_rate_kbps;
  // The number of that queue.
  uint32_t deviation_queue;
};

// The shaper of a queue. Set it to zeros, then `size` and the rest.
struct ferric_xapp_shaper {
  // sizeof(struct ferric_xapp_shaper)
  uint32_t size;
  // The number of the shaper, which is that of its queue.
  uint32_t id;
  // 1 if it is active, 0 if not.
  uint32_t is_active;
  // The highest rate, in kbit/s.
  uint32_t max_rate_kbps;
  // The time over which the rate is measured, in milliseconds; 0 stands for 100.
  uint32_t window_ms;
};

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

// Creates an agent, which connects when it is started.
//
// # Safety
// `config` and `out` are valid, and so are the pointers in `config`; `log` and `log_user` may be used on the thread of the agent
// until it is freed; `error` is NULL or valid.
int32_t ferric_agent_new(const struct ferric_agent_config *config,
                         struct ferric_agent *out,
                         struct ferric_error *error);

// Starts an agent on a thread of its own.
//
// # Safety
// `error` is NULL or valid.
int32_t ferric_agent_start(struct ferric_agent agent, struct ferric_error *error);

// Lets an agent work on the calling thread: waits for at most `timeout_ms` (0: not at all; negative: without limit), and
// processes what is pending. The first call starts the agent. Nothing blocks but the wait.
//
// # Safety
// `error` is NULL or valid.
int32_t ferric_agent_poll(struct ferric_agent agent,
                          int32_t timeout_ms,
                          struct ferric_error *error);

// Returns the file descriptor on which a base station with its own event loop waits for input (poll(2), epoll(7)), together
// with the time of ferric_agent_timeout_ms; -1 if there is no such agent. It belongs to the agent.
int ferric_agent_fd(struct ferric_agent agent);

// Returns how long a base station with its own event loop may wait before it calls ferric_agent_poll although the file
// descriptor is not readable, in milliseconds, rounded up: 0 at once, -1 without limit.
int ferric_agent_timeout_ms(struct ferric_agent agent);

// Returns 1 while the E2 Setup with the RIC is in effect, else 0.
int ferric_agent_is_connected(struct ferric_agent agent);

// Returns the number of reports that were dropped because the RIC read too slowly.
uint64_t ferric_agent_dropped_reports(struct ferric_agent agent);

// Ends an agent, waits for its thread, and frees it with its RAN functions. No callback runs once it returns. In a forked
// process it only frees the handle.
int32_t ferric_agent_free(struct ferric_agent agent);

// Adds a RAN function to an agent that is not started. `out` may be NULL if no thread reports.
//
// # Safety
// `config` is valid, and so are the pointers in it; the callbacks and `user` may be used on the thread of the agent until it is
// freed; `out` and `error` are NULL or valid.
int32_t ferric_agent_add_function(struct ferric_agent agent,
                                  const struct ferric_function_config *config,
                                  struct ferric_function *out,
                                  struct ferric_error *error);

// Frees the handle of a RAN function. The function stays part of its agent until that is freed.
int32_t ferric_function_free(struct ferric_function function);

// Adds E2SM-KPM to an agent that is not started. `out` gets the table, into which the base station writes.
//
// # Safety
// `config` and `out` are valid, and so are the pointers in `config`; `error` is NULL or valid.
int32_t ferric_agent_add_kpm(struct ferric_agent agent,
                             const struct ferric_kpm_config *config,
                             struct ferric_kpm *out,
                             struct ferric_error *error);

// Adds a connected UE. `out` gets its number in this table. Reports of periods that end from now on contain it. The call may
// wait for the agent's thread for a few microseconds: it is for the threads of the control plane.
//
// # Safety
// `identity` and `out` are valid; `error` is NULL or valid.
int32_t ferric_kpm_add_ue(struct ferric_kpm kpm,
                          const struct ferric_ue_identity *identity,
                          struct ferric_ue *out,
                          struct ferric_error *error);

// Removes a UE that has left. Its number is invalid from now on.
int32_t ferric_kpm_remove_ue(struct ferric_kpm kpm, struct ferric_ue ue);

// Counts `amount` for a measurement of FERRIC_KIND_COUNT or FERRIC_KIND_RATE, of a UE and its cell, or of the cell if `ue` is
// 0. For real-time threads: neither waits nor allocates.
int32_t ferric_kpm_count(struct ferric_kpm kpm,
                         struct ferric_ue ue,
                         uint32_t measurement,
                         double amount);

// Adds a sample of a measurement of FERRIC_KIND_MEAN, of a UE and its cell, or of the cell if `ue` is 0. For real-time
// threads.
int32_t ferric_kpm_sample(struct ferric_kpm kpm, struct ferric_ue ue, uint32_t measurement, double value);

// Sets a measurement of FERRIC_KIND_CURRENT, of a UE, or of the cell if `ue` is 0. For real-time threads.
int32_t ferric_kpm_set(struct ferric_kpm kpm, struct ferric_ue ue, uint32_t measurement, double value);

// Frees the handle of a table. The agent reports what it has until it is freed itself.
int32_t ferric_kpm_free(struct ferric_kpm kpm);

// Adds E2SM-RC to an agent that is not started, for the UEs of its table `kpm`. `out` gets the queue of controls; it may be NULL if
// `control` is given, as there is none.
//
// # Safety
// `config` is valid; `control` and `user` may be used on the thread of the agent until it is freed; `out` and `error` are NULL or
// valid.
int32_t ferric_agent_add_rc(struct ferric_agent agent,
                            struct ferric_kpm kpm,
                            const struct ferric_rc_config *config,
                            struct ferric_rc *out,
                            struct ferric_error *error);

// Takes the next control that waits; FERRIC_ERROR_EMPTY if there is none. Each is answered with ferric_rc_answer, in any order. For
// real-time threads: neither waits nor allocates. One thread at a time; another gets FERRIC_ERROR_BUSY.
//
// # Safety
// `out` is NULL or valid.
int32_t ferric_rc_next(struct ferric_rc rc,
                       struct ferric_rc_control *out);

// Answers a control that ferric_rc_next has returned: `cause` is 0 if it was executed, or FERRIC_CAUSE_… if nothing was changed;
// then `reason` may state why, else it is NULL. An answer that comes too late has no effect. For real-time threads: neither waits
// nor allocates. One thread at a time; another gets FERRIC_ERROR_BUSY.
//
// # Safety
// `reason` is NULL or a text.
int32_t ferric_rc_answer(struct ferric_rc rc,
                         uint64_t id,
                         int32_t cause,
                         const char *reason);

// Frees the handle of a queue. Controls that wait are refused when their time is over; the function stays part of its agent.
int32_t ferric_rc_free(struct ferric_rc rc);

// Creates a reporter with a ring of `ring_octets` octets, FERRIC_REPORTER_MIN_OCTETS to FERRIC_REPORTER_MAX_OCTETS. Each thread
// that reports has its own. All memory is allocated here.
//
// # Safety
// `out` is valid; `error` is NULL or valid.
int32_t ferric_reporter_new(struct ferric_function function,
                            size_t ring_octets,
                            struct ferric_reporter *out,
                            struct ferric_error *error);

// Reports: the agent sends an indication for an action of a subscription. For real-time threads: the octets are copied into the
// ring. Reports of one thread keep their order. Without room the report is dropped and counted (FERRIC_ERROR_FULL). Reports of
// subscriptions that have ended are discarded by the agent.
//
// # Safety
// `header` and `message` are valid for their lengths.
int32_t ferric_report(struct ferric_reporter reporter,
                      struct ferric_subscription subscription,
                      uint8_t action,
                      const uint8_t *header,
                      size_t header_octets,
                      const uint8_t *message,
                      size_t message_octets);

// Returns the number of reports that were dropped because the ring had no room; 0 for a handle that names no reporter.
uint64_t ferric_reporter_dropped(struct ferric_reporter reporter);

// Frees a reporter. What is in its ring is sent.
int32_t ferric_reporter_free(struct ferric_reporter reporter);

// Returns the general text of a status code. The text is constant.
const char *ferric_status_text(int32_t code);

// Creates a batch without records.
//
// # Safety
// `out` is valid; `error` is NULL or valid.
int32_t ferric_xapp_batch_new(struct ferric_xapp_batch *out, struct ferric_error *error);

// Reads the next records in columns, at most 1024; waits for them for `timeout_ms` (0: not at all; negative: without limit).
// Columns are not copied. `out` gets the columns, which has no records if the call fails; its errors are those of
// ferric_xapp_kpm_read.
//
// # Safety
// `out` is valid; `error` is NULL or valid; no thread uses the columns of the batch.
int32_t ferric_xapp_kpm_read_batch(struct ferric_xapp_kpm kpm,
                                   int32_t timeout_ms,
                                   struct ferric_xapp_batch batch,
                                   struct ferric_xapp_columns *out,
                                   struct ferric_error *error);

// Frees a batch with its columns.
int32_t ferric_xapp_batch_free(struct ferric_xapp_batch batch);

// Reads configuration structures of a node's cells by name, such as "O-NRCellDU" (E2SM-CCC 8.8; E2AP v03). Writes a JSON text with a
// final zero: [{"cell": "003800001", "structures": {"O-NRCellDU": {…}}}]. `length` gets the length of all of it without the zero: if
// that is not less than `capacity`, the text is cut, and the query can be repeated with more room.
//
// # Safety
// `node` is a text; `structures` is valid for `structure_count` texts; `json` is valid for `capacity` octets, or NULL if there is no
// room; `length` is valid; `error` is NULL or valid.
int32_t ferric_xapp_node_query(struct ferric_xapp xapp,
                               const char *node,
                               const char *const *structures,
                               size_t structure_count,
                               char *json,
                               size_t capacity,
                               size_t *length,
                               struct ferric_error *error);

// Sets configuration structures in each cell of the node that offers them, all together (E2SM-CCC 7.6.2). `json` is an object of their
// attributes by their names, at most FERRIC_XAPP_MAX_JSON_OCTETS: {"O-NRCellDU": {"administrativeState": "LOCKED"}}. Attributes that
// are left out stay. FERRIC_ERROR_UNVERIFIED: the node has acknowledged it, and not set what the text names.
//
// # Safety
// `node` and `json` are texts; `answer` and `error` are NULL or valid.
int32_t ferric_xapp_node_configure(struct ferric_xapp xapp,
                                   const char *node,
                                   const char *json,
                                   struct ferric_xapp_answer *answer,
                                   struct ferric_error *error);

// Requests reports of configuration structures of all cells, by name: their state, and then each change, also of nodes that come
// later (E2SM-CCC 7.4.2).
//
// # Safety
// `structures` is valid for `structure_count` texts; `out` is valid; `error` is NULL or valid.
int32_t ferric_xapp_configurations_new(struct ferric_xapp xapp,
                                       const char *const *structures,
                                       size_t structure_count,
                                       struct ferric_xapp_configurations *out,
                                       struct ferric_error *error);

// Returns the file descriptor that is readable while reports are buffered; -1 if there is no such stream.
int ferric_xapp_configurations_fd(struct ferric_xapp_configurations configurations);

// Reads the next report; waits for it for `timeout_ms` as ferric_xapp_kpm_read does, with the same errors. Writes a JSON text with a
// final zero, cut at `capacity`: {"O-NRCellDU": {…}}, with null for a structure that the node has removed. A stream buffers 1024
// reports; a slower reader loses the oldest.
//
// # Safety
// `out` is valid; `json` is valid for `capacity` octets, or NULL if there is no room; `error` is NULL or valid.
int32_t ferric_xapp_configurations_read(struct ferric_xapp_configurations configurations,
                                        int32_t timeout_ms,
                                        struct ferric_xapp_configuration *out,
                                        char *json,
                                        size_t capacity,
                                        struct ferric_error *error);

// Ends a stream of reports. A thread that waits in a read of it gets FERRIC_ERROR_HANDLE.
int32_t ferric_xapp_configurations_free(struct ferric_xapp_configurations configurations);

// Hands a UE over to a cell (E2SM-RC 8.4.4.1).
//
// # Safety
// `ue` and `cell` are texts; `answer` and `error` are NULL or valid.
int32_t ferric_xapp_ue_handover(struct ferric_xapp xapp,
                                const char *ue,
                                const char *cell,
                                struct ferric_xapp_answer *answer,
                                struct ferric_error *error);

// Moves a UE to a slice of its cell's scheduler, in both directions.
//
// # Safety
// `ue` is a text; `answer` and `error` are NULL or valid.
int32_t ferric_xapp_ue_slice(struct ferric_xapp xapp,
                             const char *ue,
                             uint32_t slice,
                             struct ferric_xapp_answer *answer,
                             struct ferric_error *error);

// Sets the long DRX cycle of a UE (E2SM-RC 8.4.3.1): the longest one of TS 38.331 that is not above `cycle_ms`, 10 to 10,240.
//
// # Safety
// `ue` is a text; `answer` and `error` are NULL or valid.
int32_t ferric_xapp_ue_drx(struct ferric_xapp xapp,
                           const char *ue,
                           uint32_t cycle_ms,
                           struct ferric_xapp_answer *answer,
                           struct ferric_error *error);

// Changes the QoS of a bearer of a UE (E2SM-RC 8.4.2.1).
//
// # Safety
// `ue` is a text and `qos` is valid; `answer` and `error` are NULL or valid.
int32_t ferric_xapp_ue_qos(struct ferric_xapp xapp,
                           const char *ue,
                           const struct ferric_xapp_qos *qos,
                           struct ferric_xapp_answer *answer,
                           struct ferric_error *error);

// Sets the quota of a network slice, "1" or "1-00000a", at a node, or at every node that offers it if `node` is NULL (E2SM-RC
// 8.4.3.6, or E2SM-CCC).
//
// # Safety
// `node` is NULL or a text; `slice` is a text and `quota` is valid; `answer` and `error` are NULL or valid.
int32_t ferric_xapp_quota(struct ferric_xapp xapp,
                          const char *node,
                          const char *slice,
                          const struct ferric_xapp_quota *quota,
                          struct ferric_xapp_answer *answer,
                          struct ferric_error *error);

// Begins a stream of events: first the nodes that are up.
//
// # Safety
// `out` is valid; `error` is NULL or valid.
int32_t ferric_xapp_events_new(struct ferric_xapp xapp, struct ferric_xapp_events *out, struct ferric_error *error);

// Returns the file descriptor that is readable while events are buffered; -1 if there is no such stream.
int ferric_xapp_events_fd(struct ferric_xapp_events events);

// Reads the next event; waits for it for `timeout_ms` as ferric_xapp_kpm_read does, with the same errors.
//
// # Safety
// `out` is valid; `error` is NULL or valid.
int32_t ferric_xapp_events_read(struct ferric_xapp_events events,
                                int32_t timeout_ms,
                                struct ferric_xapp_event *out,
                                struct ferric_error *error);

// Ends a stream of events. A thread that waits in a read of it gets FERRIC_ERROR_HANDLE.
int32_t ferric_xapp_events_free(struct ferric_xapp_events events);

// Requests the decision on each handover that a node begins, also of nodes that come later. A node does not wait for longer than
// its own timer: without a decision it decides itself.
//
// # Safety
// `out` is valid; `error` is NULL or valid.
int32_t ferric_xapp_handovers_new(struct ferric_xapp xapp,
                                  struct ferric_xapp_handovers *out,
                                  struct ferric_error *error);

// Returns the file descriptor that is readable while handovers wait; -1 if there is no such stream.
int ferric_xapp_handovers_fd(struct ferric_xapp_handovers handovers);

// Reads the next handover; waits for it for `timeout_ms` as ferric_xapp_kpm_read does, with the same errors. Decide with
// ferric_xapp_handover_accept, ferric_xapp_handover_accept_to or ferric_xapp_handover_deny, or leave it to the node with
// ferric_xapp_handover_free. At most FERRIC_MAX_OBJECTS are undecided at a time.
//
// # Safety
// `out` is valid; `error` is NULL or valid.
int32_t ferric_xapp_handovers_read(struct ferric_xapp_handovers handovers,
                                   int32_t timeout_ms,
                                   struct ferric_xapp_handover_request *out,
                                   struct ferric_error *error);

// Lets a handover continue. FERRIC_ERROR_REFUSED with FERRIC_CAUSE_CALL_PROCESS_ID_INVALID: it comes too late.
//
// # Safety
// `answer` and `error` are NULL or valid.
int32_t ferric_xapp_handover_accept(struct ferric_xapp_handover handover,
                                    struct ferric_xapp_answer *answer,
                                    struct ferric_error *error);

// Lets a handover continue, to another cell.
//
// # Safety
// `cell` is a text; `answer` and `error` are NULL or valid.
int32_t ferric_xapp_handover_accept_to(struct ferric_xapp_handover handover,
                                       const char *cell,
                                       struct ferric_xapp_answer *answer,
                                       struct ferric_error *error);

// Ends a handover.
//
// # Safety
// `answer` and `error` are NULL or valid.
int32_t ferric_xapp_handover_deny(struct ferric_xapp_handover handover,
                                  struct ferric_xapp_answer *answer,
                                  struct ferric_error *error);

// Frees a handover without a decision: the node decides.
int32_t ferric_xapp_handover_free(struct ferric_xapp_handover handover);

// Ends a stream of handovers: nodes decide themselves. A thread that waits in a read of it gets FERRIC_ERROR_HANDLE.
int32_t ferric_xapp_handovers_free(struct ferric_xapp_handovers handovers);

// Subscribes to measurements at each node, also at nodes that come later. Waits for the answers of those that are up.
//
// # Safety
// `config` and `out` are valid, and so are the pointers in `config`; `error` is NULL or valid.
int32_t ferric_xapp_kpm_new(struct ferric_xapp xapp,
                            const struct ferric_xapp_kpm_config *config,
                            struct ferric_xapp_kpm *out,
                            struct ferric_error *error);

// Returns the file descriptor that is readable (poll(2), epoll(7)) while records are buffered; -1 if there is no such stream.
// It belongs to the stream. Read until FERRIC_ERROR_TIMEOUT with a time-out of 0 before waiting for it.
int ferric_xapp_kpm_fd(struct ferric_xapp_kpm kpm);

// Reads the next record; waits for it for `timeout_ms` (0: not at all; negative: without limit). Writes its subject to `out`, and
// to `values` a number for each measurement in the order of the request, NaN where there is none. FERRIC_ERROR_TIMEOUT: there
// is no record; FERRIC_ERROR_INTERRUPTED: a signal arrived; FERRIC_ERROR_CLOSED: the session is over.
//
// # Safety
// `out` is valid, and so is `values` for `value_count` numbers; `error` is NULL or valid.
int32_t ferric_xapp_kpm_read(struct ferric_xapp_kpm kpm,
                             int32_t timeout_ms,
                             struct ferric_xapp_record *out,
                             double *values,
                             size_t value_count,
                             struct ferric_error *error);

// Returns the number of records that were lost because this stream was read too slowly.
uint64_t ferric_xapp_kpm_lost(struct ferric_xapp_kpm kpm);

// Returns the number of nodes that refused to report to this stream; each refusal was logged.
uint64_t ferric_xapp_kpm_refusals(struct ferric_xapp_kpm kpm);

// Ends a stream and its subscriptions. A thread that waits in a read of it gets FERRIC_ERROR_HANDLE.
int32_t ferric_xapp_kpm_free(struct ferric_xapp_kpm kpm);

// Lists the nodes that are up: writes up to `capacity` of them to `out`, and their number to `count`, which may be larger.
//
// # Safety
// `out` is valid for `capacity` items, or NULL if there is no room; `count` is valid; `error` is NULL or valid.
int32_t ferric_xapp_nodes(struct ferric_xapp xapp,
                          struct ferric_xapp_node *out,
                          size_t capacity,
                          size_t *count,
                          struct ferric_error *error);

// Waits until the node of that name is up, until the deadline.
//
// # Safety
// `node` is a text; `error` is NULL or valid.
int32_t ferric_xapp_await_node(struct ferric_xapp xapp, const char *node, struct ferric_error *error);

// Lists the cells that are known, as ferric_xapp_nodes does.
//
// # Safety
// `out` is valid for `capacity` items, or NULL if there is no room; `count` is valid; `error` is NULL or valid.
int32_t ferric_xapp_cells(struct ferric_xapp xapp,
                          struct ferric_xapp_cell *out,
                          size_t capacity,
                          size_t *count,
                          struct ferric_error *error);

// Lists the UEs that are known, as ferric_xapp_nodes does. They become known by reports, which the first call requests: wait
// for one of them with ferric_xapp_find_ue.
//
// # Safety
// `out` is valid for `capacity` items, or NULL if there is no room; `count` is valid; `error` is NULL or valid.
int32_t ferric_xapp_ues(struct ferric_xapp xapp,
                        struct ferric_xapp_ue *out,
                        size_t capacity,
                        size_t *count,
                        struct ferric_error *error);

// Finds a UE by one of its names: "amf:17", "rnti:0x4601@003804001", "ip:10.45.0.7", …; waits for it until the deadline.
//
// # Safety
// `ue` is a text; `out` is valid; `error` is NULL or valid.
int32_t ferric_xapp_find_ue(struct ferric_xapp xapp,
                            const char *ue,
                            struct ferric_xapp_ue *out,
                            struct ferric_error *error);

// Installs 1 to FERRIC_XAPP_MAX_RULES rules on handovers at every node that offers policies on them, also at nodes that come later
// (E2SM-RC 7.7). A node applies the first rule whose conditions all hold; without one, a handover continues. FERRIC_ERROR_NOT_OFFERED
// names a parameter that nodes do not test, and the nearest that they do.
//
// # Safety
// `rules` is valid for `rule_count` rules, and the pointers in them are NULL or valid; `out` is valid; `error` is NULL or valid.
int32_t ferric_xapp_policy_new(struct ferric_xapp xapp,
                               const struct ferric_xapp_handover_rule *rules,
                               size_t rule_count,
                               struct ferric_xapp_policy *out,
                               struct ferric_error *error);

// Removes a policy from the nodes. In a forked process it only frees the handle.
int32_t ferric_xapp_policy_free(struct ferric_xapp_policy policy);

// Requests copies of the RRC messages of all UEs that are of one of `kind_count` kinds, 1 to FERRIC_XAPP_MAX_RRC_KINDS, also of
// nodes that come later (E2SM-RC 7.4.2). A kind is "MeasurementReport", or "nr:UL-DCCH:0", "lte:UL-DCCH:1": the radio access
// technology, the channel and the index of the message among those of the channel (TS 38.331, TS 36.331).
//
// # Safety
// `kinds` is valid for `kind_count` texts; `out` is valid; `error` is NULL or valid.
int32_t ferric_xapp_rrc_messages_new(struct ferric_xapp xapp,
                                     const char *const *kinds,
                                     size_t kind_count,
                                     struct ferric_xapp_rrc_messages *out,
                                     struct ferric_error *error);

// Returns the file descriptor that is readable while messages are buffered; -1 if there is no such stream.
int ferric_xapp_rrc_messages_fd(struct ferric_xapp_rrc_messages messages);

// Reads the next message; waits for it for `timeout_ms` as ferric_xapp_kpm_read does, with the same errors. Writes its first
// `capacity` octets to `octets`: in unaligned PER (TS 38.331, TS 36.331). A stream buffers 1024 messages; a slower reader loses the
// oldest.
//
// # Safety
// `out` is valid; `octets` is valid for `capacity` octets, or NULL if there is no room; `error` is NULL or valid.
int32_t ferric_xapp_rrc_messages_read(struct ferric_xapp_rrc_messages messages,
                                      int32_t timeout_ms,
                                      struct ferric_xapp_rrc_message *out,
                                      uint8_t *octets,
                                      size_t capacity,
                                      struct ferric_error *error);

// Ends a stream of messages. A thread that waits in a read of it gets FERRIC_ERROR_HANDLE.
int32_t ferric_xapp_rrc_messages_free(struct ferric_xapp_rrc_messages messages);

// Connects to a RIC, and waits for one that does not listen yet. `config` may be NULL: all defaults.
//
// # Safety
// `config` is NULL or valid, and so are the pointers in it; `log` and `log_user` may be used on a thread of the library until
// the session has ended; `out` is valid; `error` is NULL or valid.
int32_t ferric_xapp_connect(const struct ferric_xapp_config *config,
                            struct ferric_xapp *out,
                            struct ferric_error *error);

// Gives another handle of the same session, whose verbs wait `deadline_ms` (1 to 86,400,000) for their answers.
//
// # Safety
// `out` is valid; `error` is NULL or valid.
int32_t ferric_xapp_with_deadline(struct ferric_xapp xapp,
                                  uint32_t deadline_ms,
                                  struct ferric_xapp *out,
                                  struct ferric_error *error);

// Gives another handle of the same session, whose controls are verified: after a node has acknowledged, they wait up to
// `within_ms` (1 to 86,400,000) until reports show the effect, and fail with FERRIC_ERROR_UNVERIFIED if none does. Handovers,
// slices and quotas can be verified.
//
// # Safety
// `out` is valid; `error` is NULL or valid.
int32_t ferric_xapp_verified(struct ferric_xapp xapp,
                             uint32_t within_ms,
                             struct ferric_xapp *out,
                             struct ferric_error *error);

// Returns the number of reports that the RIC has dropped because this session reads too slowly; 0 without a session.
uint64_t ferric_xapp_dropped_reports(struct ferric_xapp xapp);

// Ends the session at once, for all its handles: calls that wait in other threads return FERRIC_ERROR_CLOSED, streams end after
// what is buffered. A second call does nothing. The handles remain to be freed.
int32_t ferric_xapp_close(struct ferric_xapp xapp);

// Frees a handle. The session ends with the last of its handles and streams, and of the calls that use them: subscriptions are
// deleted. In a forked process it only frees the handle.
int32_t ferric_xapp_free(struct ferric_xapp xapp);

// Lists the slices of both directions at a node, or at every node if `node` is NULL: writes up to `capacity` of them to `out`,
// and their number to `count`, which may be larger.
//
// # Safety
// `node` is NULL or a text; `out` is valid for `capacity` items, or NULL if there is no room; `count` is valid; `error` is NULL
// or valid.
int32_t ferric_xapp_slices_list(struct ferric_xapp xapp,
                                const char *node,
                                struct ferric_xapp_slice *out,
                                size_t capacity,
                                size_t *count,
                                struct ferric_error *error);

// Adds slices in a direction, and changes those whose number exists, all together or not at all.
//
// # Safety
// `node` is NULL or a text; `shares` is valid for `count` items, and so are the pointers in them; `answer` and `error` are NULL or
// valid.
int32_t ferric_xapp_slices_set(struct ferric_xapp xapp,
                               const char *node,
                               uint32_t direction,
                               const struct ferric_xapp_share *shares,
                               size_t count,
                               struct ferric_xapp_answer *answer,
                               struct ferric_error *error);

// Removes slices in a direction. Their UEs are then in none.
//
// # Safety
// `node` is NULL or a text; `ids` is valid for `count` items; `answer` and `error` are NULL or valid.
int32_t ferric_xapp_slices_remove(struct ferric_xapp xapp,
                                  const char *node,
                                  uint32_t direction,
                                  const uint32_t *ids,
                                  size_t count,
                                  struct ferric_xapp_answer *answer,
                                  struct ferric_error *error);

// Adds a queue at a node, or at every node with traffic control if `node` is NULL. The node numbers it: the queues count from 0,
// which exists.
//
// # Safety
// `node` is NULL or a text; `queue` is valid; `answer` and `error` are NULL or valid.
int32_t ferric_xapp_tc_add_queue(struct ferric_xapp xapp,
                                 const char *node,
                                 const struct ferric_xapp_queue *queue,
                                 struct ferric_xapp_answer *answer,
                                 struct ferric_error *error);

// Removes a queue by its number and FERRIC_XAPP_QUEUE_….
//
// # Safety
// `node` is NULL or a text; `answer` and `error` are NULL or valid.
int32_t ferric_xapp_tc_remove_queue(struct ferric_xapp xapp,
                                    const char *node,
                                    uint32_t id,
                                    uint32_t kind,
                                    struct ferric_xapp_answer *answer,
                                    struct ferric_error *error);

// Sends the packets of a flow to a queue. The node numbers the filter.
//
// # Safety
// `node` is NULL or a text; `flow` is valid, and so are the pointers in it; `answer` and `error` are NULL or valid.
int32_t ferric_xapp_tc_add_filter(struct ferric_xapp xapp,
                                  const char *node,
                                  const struct ferric_xapp_flow *flow,
                                  uint32_t queue,
                                  struct ferric_xapp_answer *answer,
                                  struct ferric_error *error);

// Removes a filter by its number.
//
// # Safety
// `node` is NULL or a text; `answer` and `error` are NULL or valid.
int32_t ferric_xapp_tc_remove_filter(struct ferric_xapp xapp,
                                     const char *node,
                                     uint32_t id,
                                     struct ferric_xapp_answer *answer,
                                     struct ferric_error *error);

// Switches the pacer (5G-BDP) on (1) or off (0): with it, packets wait in the queues and not in the buffer of RLC.
//
// # Safety
// `node` is NULL or a text; `answer` and `error` are NULL or valid.
int32_t ferric_xapp_tc_pace(struct ferric_xapp xapp,
                            const char *node,
                            uint32_t is_on,
                            struct ferric_xapp_answer *answer,
                            struct ferric_error *error);

// Changes the discipline of a queue.
//
// # Safety
// `node` is NULL or a text; `queue` is valid; `answer` and `error` are NULL or valid.
int32_t ferric_xapp_tc_modify_queue(struct ferric_xapp xapp,
                                    const char *node,
                                    uint32_t id,
                                    const struct ferric_xapp_queue *queue,
                                    struct ferric_xapp_answer *answer,
                                    struct ferric_error *error);

// Changes the flow of a filter, and the queue to which its packets go.
//
// # Safety
// `node` is NULL or a text; `flow` is valid, and so are the pointers in it; `answer` and `error` are NULL or valid.
int32_t ferric_xapp_tc_modify_filter(struct ferric_xapp xapp,
                                     const char *node,
                                     uint32_t id,
                                     const struct ferric_xapp_flow *flow,
                                     uint32_t queue,
                                     struct ferric_xapp_answer *answer,
                                     struct ferric_error *error);

// Changes the policer of a queue, which drops the packets beyond a rate, or sends them to another queue.
//
// # Safety
// `node` is NULL or a text; `policer` is valid; `answer` and `error` are NULL or valid.
int32_t ferric_xapp_tc_modify_policer(struct ferric_xapp xapp,
                                      const char *node,
                                      const struct ferric_xapp_policer *policer,
                                      struct ferric_xapp_answer *answer,
                                      struct ferric_error *error);

// Changes the shaper of a queue, which delays the packets beyond a rate.
//
// # Safety
// `node` is NULL or a text; `shaper` is valid; `answer` and `error` are NULL or valid.
int32_t ferric_xapp_tc_modify_shaper(struct ferric_xapp xapp,
                                     const char *node,
                                     const struct ferric_xapp_shaper *shaper,
                                     struct ferric_xapp_answer *answer,
                                     struct ferric_error *error);

// Sets the scheduler of the queues: FERRIC_XAPP_SCHEDULER_…, and a value for each queue if it takes values. A node with FlexRIC's layout
// of the model takes FERRIC_XAPP_SCHEDULER_ROUND_ROBIN only; another one is FERRIC_ERROR_ARGUMENT then.
//
// # Safety
// `node` is NULL or a text; `values` has `count` items; `answer` and `error` are NULL or valid.
int32_t ferric_xapp_tc_modify_scheduler(struct ferric_xapp xapp,
                                        const char *node,
                                        uint32_t kind,
                                        const uint32_t *values,
                                        size_t count,
                                        struct ferric_xapp_answer *answer,
                                        struct ferric_error *error);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* FERRIC_H */
