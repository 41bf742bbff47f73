//! Lists of instruments: order, refusals, overriding.

use super::*;
use crate::pass::{Timing, run, run_pass};

fn watched(log: &Log, watchers: &[(&'static str, &'static str)]) -> PassContext {
    let mut context = context();
    for (name, fails) in watchers {
        context.watch(Watcher::boxed(log, name, fails));
    }
    context
}

/// Enters, runs P and Q, exits; gives the first error.
fn session(context: &PassContext, log: &Log) -> Result<(), String> {
    let text = |e: CompileError| e.message;
    let scope = context.enter().map_err(text)?;
    let ran = run(&[named(log, "P"), named(log, "Q")], &mut module(), context);
    let left = scope.exit();
    ran.and(left).map_err(text)
}

#[test]
fn the_order_of_calls() {
    let log = Log::default();
    session(&watched(&log, &[("A", "")]), &log).unwrap();
    let all = ["A enter", "A should P", "A before P", "P", "A after P", "A should Q", "A before Q", "Q", "A after Q"];
    assert_eq!(log.take(), [&all[..], &["A exit"]].concat());
}

#[test]
fn several_are_called_in_order() {
    let log = Log::default();
    let context = watched(&log, &[("A", ""), ("B", "")]);
    run_pass(&named(&log, "P"), &mut module(), &context).unwrap();
    let all = ["A should P", "B should P", "A before P", "B before P", "P", "A after P", "B after P"];
    assert_eq!(log.take(), all);
}

#[test]
fn one_no_skips_the_pass_and_all_are_asked() {
    let log = Log::default();
    let mut context = context();
    context.watch(Box::new(Watcher { name: "A", log: log.clone(), fails: "", stops: "P" }));
    context.watch(Watcher::boxed(&log, "B", ""));
    run_pass(&named(&log, "P"), &mut module(), &context).unwrap();
    assert_eq!(log.take(), ["A should P", "B should P"]);
}

#[test]
fn nobody_is_asked_about_a_required_pass() {
    let log = Log::default();
    let mut context = context();
    context.watch(Box::new(Watcher { name: "A", log: log.clone(), fails: "", stops: "P" }));
    context.required.insert("P".into());
    run_pass(&named(&log, "P"), &mut module(), &context).unwrap();
    assert_eq!(log.take(), ["A before P", "P", "A after P"]);
}

#[test]
fn who_refuses_to_enter_clears_the_list_and_those_before_exit() {
    let log = Log::default();
    let context = watched(&log, &[("A", ""), ("B", "enter"), ("C", "")]);
    assert_eq!(session(&context, &log), Err("B refuses enter".into()));
    assert_eq!(log.take(), ["A enter", "B enter", "A exit"]);
    session(&context, &log).unwrap();
    assert_eq!(log.take(), ["P", "Q"], "the list is empty");
}

#[test]
fn a_context_that_is_not_entered_is_not_current() {
    let log = Log::default();
    let mut refusing = watched(&log, &[("A", "enter")]);
    refusing.opt_level = 3;
    assert!(refusing.enter().is_err());
    assert_eq!(PassContext::current().opt_level, 2);
}

#[test]
fn who_refuses_to_exit_clears_the_list_and_those_behind_do_not_exit() {
    let log = Log::default();
    let context = watched(&log, &[("A", ""), ("B", "exit"), ("C", "")]);
    let scope = context.enter().unwrap();
    log.take();
    assert_eq!(scope.exit().map_err(|e| e.message), Err("B refuses exit".into()));
    assert_eq!(log.take(), ["A exit", "B exit"]);
    session(&context, &log).unwrap();
    assert_eq!(log.take(), ["P", "Q"], "the list is empty");
}

#[test]
fn a_scope_that_just_ends_keeps_what_they_refuse() {
    let log = Log::default();
    let context = watched(&log, &[("A", "exit")]);
    drop(context.enter().unwrap());
    let said: Vec<String> = context.take_diagnostics().into_iter().map(|e| e.message).collect();
    assert_eq!(said, ["A refuses exit"]);
}

#[test]
fn refusals_around_a_pass_propagate_and_the_scope_still_exits() {
    let cases: [(&str, &[&str]); 3] = [
        ("should", &["A enter", "B enter", "A should P", "A exit", "B exit"]),
        ("before", &["A enter", "B enter", "A should P", "B should P", "A before P", "A exit", "B exit"]),
        (
            "after",
            &[
                "A enter",
                "B enter",
                "A should P",
                "B should P",
                "A before P",
                "B before P",
                "P",
                "A after P",
                "A exit",
                "B exit",
            ],
        ),
    ];
    for (method, all) in cases {
        let log = Log::default();
        let context = watched(&log, &[("A", method), ("B", "")]);
        assert_eq!(session(&context, &log), Err(format!("A refuses {method}")));
        assert_eq!(log.take(), all, "{method}");
    }
}

#[test]
fn a_pass_that_fails_leaves_the_scope_in_order() {
    let log = Log::default();
    let context = watched(&log, &[("A", "")]);
    let scope = context.enter().unwrap();
    let failing = Pass::module("F", |_, _| Err(refused("no")));
    assert!(run(&[failing], &mut module(), &context).is_err());
    drop(scope);
    assert_eq!(log.take(), ["A enter", "A should F", "A before F", "A exit"]);
}

#[test]
fn overriding_exits_the_old_then_enters_the_new() {
    let log = Log::default();
    let context = watched(&log, &[("A", "")]);
    let scope = context.enter().unwrap();
    context.override_instruments(vec![Watcher::boxed(&log, "B", "")]).unwrap();
    run_pass(&named(&log, "P"), &mut module(), &context).unwrap();
    scope.exit().unwrap();
    assert_eq!(log.take(), ["A enter", "A exit", "B enter", "B should P", "B before P", "P", "B after P", "B exit"]);
}

#[test]
fn overriding_where_the_old_refuse_to_exit_enters_nothing() {
    let log = Log::default();
    let context = watched(&log, &[("A", "exit")]);
    assert!(context.override_instruments(vec![Watcher::boxed(&log, "B", "")]).is_err());
    assert_eq!(log.take(), ["A exit"]);
}

#[test]
fn the_default_context_can_be_watched() {
    let log = Log::default();
    let current = PassContext::current();
    current.override_instruments(vec![Watcher::boxed(&log, "A", "")]).unwrap();
    run_pass(&named(&log, "P"), &mut module(), &PassContext::current()).unwrap();
    assert_eq!(log.take(), ["A enter", "A should P", "A before P", "P", "A after P"]);
    current.override_instruments(Vec::new()).unwrap();
}

#[test]
fn an_instrument_may_not_run_passes() {
    struct Runs(PassContext);
    impl PassInstrument for Runs {
        fn run_before_pass(&mut self, _: &PassInfo, _: &Module) -> Result<(), CompileError> {
            run_pass(&named(&Log::default(), "Q"), &mut module(), &self.0)
        }
    }
    let mut context = context();
    let inner = context.clone();
    context.watch(Box::new(Runs(inner)));
    let error = run_pass(&named(&Log::default(), "P"), &mut module(), &context).unwrap_err();
    assert!(error.message.contains("while it watches"), "{}", error.message);
}

#[test]
fn timing_is_nested() {
    let log = Log::default();
    let (timing, table) = Timing::new();
    let mut context = context();
    context.watch(Box::new(timing));
    let inner = Pass::sequential("Inner", vec![named(&log, "P"), named(&log, "Q")]);
    run(&[inner, named(&log, "R")], &mut module(), &context).unwrap();
    let rows: Vec<_> = table.rows().into_iter().map(|(name, depth, _)| (name, depth)).collect();
    assert_eq!(rows, [("Inner", 0), ("P", 1), ("Q", 1), ("R", 0)]);
    let names: Vec<String> = table.text().lines().map(|l| l[23..].to_string()).collect();
    assert_eq!(names, ["Inner", "  P", "  Q", "R", "all passes"]);
}
