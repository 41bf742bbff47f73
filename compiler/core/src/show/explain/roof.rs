//! How fast a kernel could be at best: the roof that lies lower over it, of arithmetic or of memory.

use super::kernel::Work;
use super::measured::Measured;
use crate::Target;
use crate::target::Gpu;

/// The lower roof.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Bound {
    Compute,
    Memory,
}

impl Bound {
    /// Its name in tables.
    pub(super) fn name(self) -> &'static str {
        match self {
            Bound::Compute => "compute",
            Bound::Memory => "memory",
        }
    }
}

/// Features by which a processor multiplies bytes and adds four products at once.
const DOT_PRODUCTS: [&str; 4] = ["avx512vnni", "avxvnni", "dotprod", "i8mm"];

/// Features by which it multiplies matrices: of bytes, and of `bf16`.
const MATRICES: [&str; 2] = ["amx-int8", "amx-bf16"];

/// What of the roofs is not measured, in words.
pub(super) const ASSUMED: [&str; 5] = [
    "every operation could be half of a fused multiplication",
    "64-bit operations take twice as long, products of bytes a quarter where the processor has dot products of them, \
     an eighth of that where it has AMX",
    "products of bf16 take half as long where the processor has dot products of them, a sixteenth where it has AMX",
    "a division or a root takes as long as 8 operations, a function such as exp as long as 20",
    "what is passed, constants and results come from where all data of a call fit, other values from where the kernel's fit",
];

/// The same of what is estimated for a device.
pub(super) const ASSUMED_OF_DEVICES: [&str; 4] = [
    "every operation could be half of a fused multiplication; 64-bit operations take twice as long",
    "kernels by the rule matrices do nothing but products of halves, others none of them",
    "a division or a root takes as long as 8 operations, a function such as exp as long as 20",
    "every byte that a kernel reads or writes comes from or goes to the device's memory, and a launch takes no time",
];

/// The rule whose kernels have matrices multiplied.
const MATRICES_OF_WARPS: &str = "matrices";

/// Seconds that one call of a kernel takes at least on a device by what its maker says.
pub(super) fn estimate(work: &Work, rule: &str, gpu: &Gpu) -> (f64, Bound) {
    let multiplies = rule.split(", ").any(|rule| rule == MATRICES_OF_WARPS);
    let compute = work.effort as f64 / gpu.matrices.filter(|_| multiplies).unwrap_or(gpu.flops);
    let memory = work.bytes() as f64 / gpu.bandwidth;
    if compute >= memory { (compute, Bound::Compute) } else { (memory, Bound::Memory) }
}

/// Seconds that one call of a kernel takes at least, and why no fewer.
pub(super) fn least(work: &Work, data: u64, measured: &Measured, target: &Target) -> (f64, Bound) {
    let (compute, memory) = (arithmetic(work, measured, target), movement(work, data, measured));
    if compute >= memory { (compute, Bound::Compute) } else { (memory, Bound::Memory) }
}

fn arithmetic(work: &Work, measured: &Measured, target: &Target) -> f64 {
    let bytes = work.of_bytes && work.ints > work.flops;
    let at_once = match bytes {
        true if target.has(MATRICES[0]) => 32.0,
        true if DOT_PRODUCTS.iter().any(|feature| target.has(feature)) => 4.0,
        true | false => 1.0,
    };
    let halves_at_once = match (target.has(MATRICES[1]), target.adds_halves()) {
        (true, _) => 16.0,
        (false, true) => 2.0,
        (false, false) => 1.0,
    };
    let others = work.effort.saturating_sub(work.of_halves);
    (others as f64 / at_once + work.of_halves as f64 / halves_at_once) / measured.peak
}

fn movement(work: &Work, data: u64, measured: &Measured) -> f64 {
    measured.moving(work.outside, data) + measured.moving(work.inside, work.bytes())
}
