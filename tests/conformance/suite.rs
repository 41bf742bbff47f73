//! The suite, a test per family.

use crate::case::Case;
use crate::native::run;

fn check(topic: &str, cases: Vec<Case>) {
    let errors = run(cases, topic);
    assert!(errors.is_empty(), "{} mistakes\n{}", errors.len(), errors[..errors.len().min(40)].join("\n"));
}

#[test]
fn elementwise() {
    check("element", crate::element::cases());
}

#[test]
fn gathers() {
    check("gather", crate::ops::gather::cases());
}

#[test]
fn orders() {
    check("order", crate::ops::order::cases());
}

#[test]
fn lengths() {
    check("lengths", crate::ops::lengths::cases());
}

#[test]
fn signals() {
    check("signal", crate::ops::signal::cases());
}

#[test]
fn matrices() {
    check("linalg", crate::ops::linalg::cases());
}

#[test]
fn norms() {
    check("moments", crate::ops::moments::cases());
}

#[test]
fn images() {
    check("vision", crate::ops::vision::cases());
}

#[test]
fn contractions() {
    check("contract", crate::ops::contract::cases());
}

#[test]
fn spaces() {
    check("space", crate::ops::space::cases());
}

#[test]
fn resizes() {
    check("sizes", crate::ops::sizes::cases());
}

#[test]
fn sequences() {
    check("sequence", crate::ops::sequence::cases());
}

#[test]
fn chances() {
    check("chance", crate::ops::chance::cases());
}

#[test]
fn networks() {
    check("nn", crate::nn::cases());
}

#[test]
fn shapes() {
    check("shape", crate::shape::cases());
}

#[test]
fn random_graphs() {
    check("random", crate::random::cases());
}

#[test]
fn states() {
    check("state", crate::state::cases());
}

#[test]
fn zeros() {
    check("zeros", crate::zeros::cases());
}
