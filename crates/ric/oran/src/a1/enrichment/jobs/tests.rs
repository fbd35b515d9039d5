use serde_json::json;

use super::*;

fn jobs() -> Jobs {
    let mut jobs = Jobs::default();
    for (id, owner) in [("1", "a"), ("2", "b")] {
        let owners = vec![JobOwner::new("xapp", owner)];
        let content = JobContent { ei_type_id: "t".into(), job_owner: "o".into(), definition: json!({}), owners };
        assert!(jobs.restore(id.to_owned(), content));
    }
    jobs
}

#[test]
fn xapp_that_does_not_come_back_is_gone_after_its_time() {
    let (mut jobs, start) = (jobs(), Instant::now());
    let (a, b) = (JobOwner::new("xapp", "a"), JobOwner::new("xapp", "b"));
    jobs.note_absent(start, |owner| *owner == b);
    assert_eq!(jobs.next_departure(start), Some(JOBS_OUTLIVE_XAPP));
    // again, and one that has no jobs
    let later = start + JOBS_OUTLIVE_XAPP / 2;
    jobs.note_absent(later, |owner| *owner == b);
    assert_eq!(jobs.next_gone(start + JOBS_OUTLIVE_XAPP - Duration::from_millis(1)), None);
    assert_eq!(jobs.next_gone(start + JOBS_OUTLIVE_XAPP), Some(a.clone()));
    assert_eq!(jobs.next_gone(start + JOBS_OUTLIVE_XAPP), None);
    jobs.note_absent(start, |owner| *owner == a);
    jobs.absent.remove(&b);
    assert_eq!((jobs.next_gone(start + 2 * JOBS_OUTLIVE_XAPP), jobs.next_departure(start)), (None, None));
}

#[test]
fn pauses_grow_and_the_one_that_the_non_rt_ric_names_counts() {
    let (mut jobs, now) = (jobs(), Instant::now());
    assert_eq!(jobs.unanswered(now, None), Some(FIRST_PAUSE));
    for _ in 0..10 {
        assert_eq!(jobs.unanswered(now, None), None, "it is told once");
    }
    assert_eq!(jobs.outage, Some((now + LONGEST_PAUSE, LONGEST_PAUSE)));
    assert!(jobs.next_task(now + LONGEST_PAUSE / 2).is_none());
    assert!(jobs.next_task(now + LONGEST_PAUSE).is_some());
    assert!(jobs.answered() && !jobs.answered());
    assert_eq!(jobs.unanswered(now, Some(Duration::from_secs(7))), Some(Duration::from_secs(7)));
    jobs.answered();
    assert_eq!(jobs.unanswered(now, Some(Duration::from_secs(86_400))), Some(LONGEST_PAUSE));
}

#[test]
fn job_that_changes_while_it_is_created_is_created_again() {
    let mut jobs = jobs();
    let Some(Task::Put { job_id, definition, .. }) = jobs.next_task(Instant::now()) else { panic!("a job") };
    let request = JobRequest {
        job_id: job_id.clone(),
        operation: messages::JobOperation::Create,
        ei_type_id: "t".into(),
        job_owner: None,
        job_definition: json!({ "new": true }),
    };
    assert!(jobs.create(JobOwner::new("xapp", "a"), Host::Local, request, Box::new(|_, _| ())));
    jobs.finish(&job_id, Work::Put, Some(&definition), Outcome::Done);
    assert_eq!(jobs.get(&job_id).and_then(|job| job.work), Some(Work::Put));
    let sent = json!({ "new": true });
    jobs.finish(&job_id, Work::Put, Some(&sent), Outcome::Done);
    assert_eq!(jobs.get(&job_id).and_then(|job| job.work), None);
    // the non-RT RIC has lost it
    jobs.verify_all();
    jobs.finish(&job_id, Work::Verify, None, Outcome::Missing);
    assert_eq!(jobs.get(&job_id).and_then(|job| job.work), Some(Work::Put));
}

fn host(last: u8) -> Host {
    Host::V4([10, 0, 0, last].into())
}

/// Asks for a job without a definition. Returns whether there is one.
fn create(jobs: &mut Jobs, owner: &JobOwner, host: Host, job_id: &str) -> bool {
    let request = JobRequest {
        job_id: job_id.to_owned(),
        operation: messages::JobOperation::Create,
        ei_type_id: "t".into(),
        job_owner: None,
        job_definition: json!({}),
    };
    jobs.create(owner.clone(), host, request, Box::new(|_, _| ()))
}

#[test]
fn host_has_three_quarters_of_the_jobs_and_an_xapp_what_stays_free() {
    let mut jobs = Jobs::default();
    let count = |jobs: &mut Jobs, owner: &JobOwner, of: Host| {
        let names = (0..MAX_JOBS).map(|at| format!("{}-{at}", owner.address.replace(':', "-")));
        names.take_while(|name| create(jobs, owner, of, name)).count()
    };
    let owner = |port: usize| JobOwner::new("rmr", &format!("10.0.0.1:{port}"));
    // it states other ports
    let of_host: usize = (1..=20).map(|port| count(&mut jobs, &owner(port), host(1))).sum();
    assert_eq!(of_host, MAX_JOBS * 3 / 4);
    let mut of_others = Vec::new();
    for last in 2..5 {
        of_others.push(count(&mut jobs, &JobOwner::new("xapp", &format!("x{last}")), host(last)));
    }
    assert_eq!(of_others, [32, 16, 8], "half of what is free");
}

#[test]
fn restored_jobs_count_for_the_host_of_their_xapp_once_it_is_there() {
    let mut jobs = Jobs::default();
    let own = JobOwner::new("xapp", "own");
    let content = |owner: &JobOwner| JobContent {
        ei_type_id: "t".into(),
        job_owner: "o".into(),
        definition: json!({}),
        owners: vec![owner.clone()],
    };
    assert!(jobs.restore("1".to_owned(), content(&JobOwner::new("rmr", "10.0.0.1:4560"))));
    assert!(jobs.restore("2".to_owned(), content(&own)));
    assert_eq!((jobs.jobs["1"].host, jobs.jobs["2"].host), (host(1), Host::Unknown));
    jobs.note_present(&own, host(2));
    assert_eq!((jobs.jobs["1"].host, jobs.jobs["2"].host), (host(1), host(2)));
}

#[test]
fn job_that_is_being_deleted_is_not_restored() {
    let mut jobs = jobs();
    let owner = JobOwner::new("xapp", "a");
    let content = jobs.get("1").unwrap().content.clone();
    jobs.delete(&owner, "1").unwrap();
    assert!(jobs.restore("1".to_owned(), content));
    assert!(jobs.get("1").is_none());
    assert_eq!(jobs.queue.iter().filter(|id| *id == "1").count(), 1);
}

#[test]
fn host_has_three_quarters_of_the_queries() {
    let mut jobs = Jobs::default();
    let (sender, refused) = std::sync::mpsc::channel();
    let mut ask = |of: Host| {
        let sender = sender.clone();
        jobs.query(of, Box::new(move |_, document| sender.send(document).unwrap()));
    };
    (0..MAX_QUERIES).for_each(|_| ask(host(1)));
    ask(host(2));
    assert_eq!(refused.try_iter().count(), MAX_QUERIES / 4);
    assert_eq!(jobs.queries.len(), MAX_QUERIES * 3 / 4 + 1);
}
