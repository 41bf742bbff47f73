//! The functions whose speed is measured, at sizes that an interpreter takes: groups have as many turns as they are measured
//! with.

use tenfold_core::Device;

use crate::driver;
use crate::functions::FUNCTIONS;
use crate::run::{self, Job};
use crate::small::{context, small};

#[test]
fn measured_functions_run() {
    let chip = Device::Sm90a;
    let job = |function| Job { case: small(function), chip, context: context(function, chip, true), large: true };
    let jobs: Vec<Job> = FUNCTIONS.iter().map(job).collect();
    let Some(outcome) = run::all(&jobs) else { return };
    assert_eq!(outcome.ran, jobs.len(), "{:#?}", outcome.refused);
    for opcode in ["m64n256k16.f32.bf16", "cp.async.bulk.tensor.2d.", "shfl.sync.bfly", "ld.global.nc.v4.b32"] {
        assert!(driver::ran(opcode), "no kernel has `{opcode}`");
    }
}
