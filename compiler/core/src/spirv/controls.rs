//! What shaders ask of a device's float arithmetic: `SPV_KHR_float_controls`.
//!
//! A shader computes within the interpreter's bounds on what every device promises without any of it. What features of
//! the target ask for a device has to promise, or is refused; of what else there is, devices take as much as they have.

use spirv::{Capability, ExecutionMode, Op};

use super::Feature;
use super::out::{Id, Out};
use super::words::{Instruction, Operand, named};

/// Something that may be asked for.
#[derive(Clone, Copy, Debug)]
pub struct Control {
    /// The feature of the target: `denorm-preserve-f32`.
    pub name: &'static str,
    pub(super) feature: Feature,
    bits: u32,
    pub(super) capability: Capability,
    mode: ExecutionMode,
}

impl Control {
    /// What a device must have for it.
    pub fn feature(&self) -> Feature {
        self.feature
    }
}

const fn control(name: &'static str, feature: Feature, bits: u32, of: (Capability, ExecutionMode)) -> Control {
    Control { name, feature, bits, capability: of.0, mode: of.1 }
}

const DENORM: (Capability, ExecutionMode) = (Capability::DenormPreserve, ExecutionMode::DenormPreserve);
const SPECIAL: (Capability, ExecutionMode) =
    (Capability::SignedZeroInfNanPreserve, ExecutionMode::SignedZeroInfNanPreserve);
const ROUND: (Capability, ExecutionMode) = (Capability::RoundingModeRTE, ExecutionMode::RoundingModeRTE);

/// All of them. Those of 16 bits are missing, since shaders compute with such floats as `f32` and as integers.
pub const CONTROLS: [Control; 6] = [
    control("denorm-preserve-f32", Feature::DenormF32, 32, DENORM),
    control("denorm-preserve-f64", Feature::DenormF64, 64, DENORM),
    control("rounding-mode-rte-f32", Feature::RoundF32, 32, ROUND),
    control("rounding-mode-rte-f64", Feature::RoundF64, 64, ROUND),
    control("signed-zero-inf-nan-preserve-f32", Feature::SpecialF32, 32, SPECIAL),
    control("signed-zero-inf-nan-preserve-f64", Feature::SpecialF64, 64, SPECIAL),
];

/// What shaders ask for where a device has it, the most first: drivers may make 0 of subnormal numbers, and lose a NaN
/// between comparisons, where nobody asks them not to. Few devices have the first and not the second.
pub(super) const KEPT: [&[&str]; 3] = [
    &[
        "denorm-preserve-f32",
        "denorm-preserve-f64",
        "signed-zero-inf-nan-preserve-f32",
        "signed-zero-inf-nan-preserve-f64",
    ],
    &["signed-zero-inf-nan-preserve-f32", "signed-zero-inf-nan-preserve-f64"],
    &[],
];

/// Asks for those among the features of a target that are of a width which the shader computes in.
pub(super) fn ask(out: &mut Out, entry: Id, features: &[String]) {
    for control in CONTROLS.iter().filter(|control| features.iter().any(|name| name == control.name)) {
        if !out.computes_in(control.bits) {
            continue;
        }
        out.need(control.feature);
        let operands = vec![Operand::Id(entry), named(control.mode as u32, control.mode), Operand::Word(control.bits)];
        out.module.execution_modes.push(Instruction::new(Op::ExecutionMode, None, None, operands));
    }
}

#[cfg(test)]
mod tests {
    use super::super::{kernel_for, kernels_for};
    use super::*;
    use tenfold_ir::Module;

    const TWICE: &str = "prim @twice(in x: f32[64], inout y: f32[64]) phase target device at 0:0 {
  for t in 0i32 +: 64i32 threadIdx.x {
    y[t] = add(x[t], x[t])
  }
}
";

    #[test]
    fn devices_take_as_much_as_they_have() {
        let mut module = Module::default();
        tenfold_ir::parse_functions(&mut module, TWICE, 0).expect("a module");
        let chain = |features: &[&str]| {
            let features: Vec<String> = features.iter().map(|name| name.to_string()).collect();
            let func = module.prim("twice").expect("a function");
            let mut next = Some(Box::new(kernels_for(&module, func, &features).expect("a shader")));
            let mut asked = Vec::new();
            while let Some(kernel) = next {
                asked.push(kernel.features.into_iter().collect::<Vec<_>>());
                next = kernel.instead;
            }
            asked
        };
        let (denorm, special, round) = (Feature::DenormF32, Feature::SpecialF32, Feature::RoundF32);
        assert_eq!(chain(&[]), [vec![denorm, special], vec![special], vec![]]);
        // What is asked for of a device is asked for by each.
        assert_eq!(chain(&["denorm-preserve-f32"]), [vec![denorm, special], vec![denorm]]);
        assert_eq!(chain(&["rounding-mode-rte-f32"]).last(), Some(&vec![round]));
    }

    #[test]
    fn what_is_asked_for_is_needed_where_it_is_computed_in() {
        let mut module = Module::default();
        tenfold_ir::parse_functions(&mut module, TWICE, 0).expect("a module");
        let made = |features: &[&str]| {
            let features: Vec<String> = features.iter().map(|name| name.to_string()).collect();
            kernel_for(&module, module.prim("twice").expect("a function"), &features).expect("a shader")
        };
        assert!(made(&[]).features.is_empty());
        let all = made(&CONTROLS.map(|control| control.name));
        assert_eq!(all.features, [Feature::DenormF32, Feature::SpecialF32, Feature::RoundF32].into());
        for line in ["OpExtension \"SPV_KHR_float_controls\"", "OpCapability RoundingModeRTE", "DenormPreserve 32"] {
            assert_eq!(all.text.matches(line).count(), 1, "{}", all.text);
        }
        assert!(!all.text.contains("Preserve 64"), "{}", all.text);
    }
}
