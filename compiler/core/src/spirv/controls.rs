//! What shaders ask of a device's float arithmetic: `SPV_KHR_float_controls`.
//!
//! A shader computes within the interpreter's bounds without any of it, so it is asked for by features of the target
//! alone: a device that cannot promise it is refused.

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
    use super::super::kernel_for;
    use super::*;
    use tenfold_ir::Module;

    const TWICE: &str = "prim @twice(in x: f32[64], inout y: f32[64]) phase target device at 0:0 {
  for t in 0i32 +: 64i32 threadIdx.x {
    y[t] = add(x[t], x[t])
  }
}
";

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
