//! Bisection finds the pass that is to blame.

use super::*;
use crate::pass::{BisectLimit, DiffPasses, Suspect, bisect, find, run};

/// Runs ten passes of which number `bad` empties the results; whether they are still there.
fn is_good(bad: usize, limit: BisectLimit) -> bool {
    const NAMES: [&str; 10] = ["P1", "P2", "P3", "P4", "P5", "P6", "P7", "P8", "P9", "P10"];
    let passes: Vec<Pass> = NAMES
        .iter()
        .enumerate()
        .map(|(i, name)| {
            Pass::function(name, move |mut f, _, _| {
                if i + 1 == bad {
                    f.results.clear();
                }
                Ok(f)
            })
        })
        .collect();
    let mut context = context();
    context.watch(Box::new(limit));
    let mut module = module();
    run(&passes, &mut module, &context).unwrap();
    module.relax("f").is_some_and(|f| !f.results.is_empty())
}

#[test]
fn it_finds_each_pass() {
    for bad in 1..=10 {
        let found = bisect(|limit| is_good(bad, limit)).map(|s| (s.execution, s.pass.to_string()));
        assert_eq!(found, Some((bad, format!("P{bad}"))));
    }
}

#[test]
fn there_is_no_suspect_in_what_is_good_or_was_bad_before() {
    assert_eq!(bisect(|limit| is_good(0, limit)), None);
    assert_eq!(bisect(|_| false), None::<Suspect>);
}

#[test]
fn passes_that_lower_run_and_do_not_count() {
    let limit = BisectLimit::new(0);
    let (lowering, optional) = (find("InlineCalls").unwrap(), find("DeadCodeElimination").unwrap());
    let mut asked = limit.clone();
    assert!(asked.should_run(&lowering.info, &module()).unwrap());
    assert!(!asked.should_run(&optional.info, &module()).unwrap());
    assert_eq!((limit.count(), limit.last()), (1, None));
}

#[test]
fn a_diff_shows_what_a_pass_changed() {
    let log = Log::default();
    let sink = log.clone();
    let mut context = context();
    let diff = DiffPasses::parse("all", move |pass, text| sink.say(format!("{} {text}", pass.name))).unwrap();
    context.watch(Box::new(diff));
    let empty = Pass::function("Empty", |mut f, _, _| {
        f.results.clear();
        Ok(f)
    });
    run(&[empty, Pass::module("Nothing", |_, _| Ok(()))], &mut module(), &context).unwrap();
    let said = log.take();
    assert_eq!(said.len(), 1, "{said:?}");
    assert!(said[0].starts_with("Empty --- before Empty\n+++ after Empty\n@@ "), "{said:?}");
    assert!(said[0].contains("\n-  return v0\n"), "{said:?}");
}
