//! What LLVM is told of a target: its own triple, processor, features and conventions, and which
//! float operations the target has instructions for.
//!
//! It knows machines, not programs.

mod features;
mod rows;

use inkwell::{
    OptimizationLevel,
    targets::{CodeModel, RelocMode, Target as LlvmTarget, TargetMachine, TargetMachineOptions, TargetTriple},
};
use tenfold_core::{Arch, Device, Target};

pub use features::known_features;
pub(crate) use features::{FloatUnit, Minimum};
use rows::{ROWS, Row};

use crate::Llvm;

/// A target in LLVM's words.
#[derive(Clone, Debug)]
pub(crate) struct Machine {
    /// LLVM's triple.
    pub(crate) triple: String,
    /// LLVM's name of the processor.
    pub(crate) cpu: String,
    /// LLVM's features, each with its sign.
    pub(crate) features: String,
    /// Which float operations are instructions.
    pub(crate) float: FloatUnit,
    /// The calling convention, where the triple does not say it.
    pub(crate) abi: &'static str,
    /// How code names its data.
    pub(crate) reloc: RelocMode,
    /// How far data may lie.
    pub(crate) code_model: CodeModel,
}

/// rustc's names of the targets whose words LLVM has.
pub fn known_targets() -> impl Iterator<Item = &'static str> + Clone {
    ROWS.iter().map(|row| row.rust)
}

impl Machine {
    /// What LLVM is told of `target`, or why the back end does not serve it.
    pub(crate) fn of(target: &Target) -> Result<Machine, String> {
        if target.device.is_some_and(Device::is_ptx) {
            return Ok(Machine::of_gpu(target));
        }
        let row = ROWS.iter().find(|row| row.rust == target.triple);
        let (arch, known) = (target.arch, row.is_some());
        let row = match (row, arch) {
            (Some(row), _) => *row,
            // These two need no more than their name.
            (None, Arch::X86_64 | Arch::Aarch64) => Row::of_name(),
            (None, Arch::Arm | Arch::Riscv32 | Arch::Riscv64 | Arch::Wasm32 | Arch::Other) => {
                return Err(format!(
                    "the LLVM back end does not know the target `{}`; `TENFOLD_LLVM=none` compiles \
                     for it through C",
                    target.triple
                ));
            }
        };
        let mut features = features::llvm(arch, row.features, &target.features);
        // A processor may have a float unit that programs for the target do not use: not every chip has it.
        if arch == Arch::Arm && !target.cpu.is_empty() && target.triple.ends_with("none-eabi") {
            features.push("-fpregs".into());
        }
        let cpu = if target.cpu.is_empty() { row.cpu } else { &target.cpu };
        Ok(Machine {
            triple: if known { row.llvm.to_owned() } else { target.triple.clone() },
            cpu: cpu.to_owned(),
            float: FloatUnit::of(arch, cpu, &features),
            features: features.join(","),
            abi: row.abi,
            reloc: row.reloc,
            code_model: row.code_model,
        })
    }

    /// A GPU of NVIDIA's, whose chip and version of PTX are those of the device's row.
    fn of_gpu(target: &Target) -> Machine {
        let features: Vec<String> = target.features.iter().map(|feature| format!("+{feature}")).collect();
        Machine {
            triple: target.triple.clone(),
            cpu: target.cpu.clone(),
            features: features.join(","),
            float: FloatUnit::full(),
            abi: "",
            reloc: RelocMode::Default,
            code_model: CodeModel::Default,
        }
    }

    /// LLVM's description of the machine, at the level that compiles best.
    pub(crate) fn open(&self, _: Llvm) -> Result<TargetMachine, String> {
        initialize(&self.triple);
        // As rustc does: LLVM reads the environment (`eabihf`) only in the fourth place of a triple.
        let triple = TargetMachine::normalize_triple(&TargetTriple::create(&self.triple));
        let target = LlvmTarget::from_triple(&triple).map_err(|error| error.to_string())?;
        let options = TargetMachineOptions::new()
            .set_cpu(&self.cpu)
            .set_features(&self.features)
            .set_abi(self.abi)
            .set_level(OptimizationLevel::Aggressive)
            .set_reloc_mode(self.reloc)
            .set_code_model(self.code_model);
        target
            .create_target_machine_from_options(&triple, options)
            .ok_or_else(|| format!("LLVM knows no machine for `{}`", self.triple))
    }
}

/// Makes LLVM's part for an architecture known. `initialize_all` needs functions in C that a
/// LLVM without a linker does not have, so targets are named one by one.
fn initialize(triple: &str) {
    let config = Default::default();
    let arch = triple.split('-').next().unwrap_or_default();
    if arch.starts_with("x86_64") {
        LlvmTarget::initialize_x86(&config);
    } else if arch.starts_with("aarch64") || arch.starts_with("arm64") {
        LlvmTarget::initialize_aarch64(&config);
    } else if arch.starts_with("arm") || arch.starts_with("thumb") {
        LlvmTarget::initialize_arm(&config);
    } else if arch.starts_with("riscv") {
        LlvmTarget::initialize_riscv(&config);
    } else if arch.starts_with("wasm") {
        LlvmTarget::initialize_webassembly(&config);
    } else if arch.starts_with("nvptx") {
        LlvmTarget::initialize_nvptx(&config);
    }
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    /// One string or one list of a target's description in JSON, which rustc prints a key a line.
    fn fact(json: &str, key: &str) -> Option<String> {
        let start = json.find(&format!("\"{key}\": \""))?;
        json[start..].split('"').nth(3).map(str::to_owned)
    }

    #[test]
    fn the_table_agrees_with_rustc() {
        let mut known = 0;
        for row in ROWS {
            let out = Command::new(std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into()))
                .args(["--print", "target-spec-json", "-Zunstable-options", "--target", row.rust])
                .env("RUSTC_BOOTSTRAP", "1")
                .output()
                .expect("rustc starts");
            let json = String::from_utf8_lossy(&out.stdout);
            if !out.status.success() {
                eprintln!("skipped: this rustc does not know `{}`", row.rust);
                continue;
            }
            known += 1;
            let get = |key| fact(&json, key).unwrap_or_default();
            assert!(row.llvm.starts_with(&get("llvm-target")), "{}: {json}", row.rust);
            let cpu = fact(&json, "cpu").unwrap_or_else(|| "generic".into());
            assert_eq!(row.cpu, cpu, "{}", row.rust);
            assert_eq!(row.features, get("features"), "{}", row.rust);
            assert_eq!(row.abi, get("llvm-abiname"), "{}", row.rust);
            let reloc = if get("relocation-model") == "static" { RelocMode::Static } else { RelocMode::PIC };
            assert_eq!(row.reloc, reloc, "{}", row.rust);
            let model = match get("code-model").as_str() {
                "medium" => CodeModel::Medium,
                _ => CodeModel::Default,
            };
            assert_eq!(row.code_model, model, "{}", row.rust);
        }
        assert!(known > ROWS.len() / 2, "rustc knows {known} of {} targets", ROWS.len());
    }

    #[test]
    fn every_row_opens() {
        let Some(llvm) = crate::tests::llvm() else { return };
        for row in ROWS {
            let target = Target::from_triple(row.rust, &[]);
            let machine = Machine::of(&target).expect("it is in the table");
            machine.open(llvm).unwrap_or_else(|error| panic!("{}: {error}", row.rust));
        }
    }

    /// LLVM says on standard error which processors it does not know, and takes another: so a child says it.
    #[test]
    fn every_processor_is_known_to_llvm() {
        const CHILD: &str = "TENFOLD_TEST_PROCESSORS";
        let Some(llvm) = crate::tests::llvm() else { return };
        if std::env::var_os(CHILD).is_none() {
            let name = "machine::tests::every_processor_is_known_to_llvm";
            let mut child = Command::new(std::env::current_exe().expect("the test's path"));
            let output = child.args([name, "--exact", "--nocapture"]).env(CHILD, "1").output().expect("it starts");
            let said = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success() && !said.contains("not a recognized"), "{said}");
            return;
        }
        for cpu in tenfold_core::CPUS {
            let triple = match cpu.arch {
                Arch::Arm if cpu.name.starts_with("cortex-m") => "thumbv7em-none-eabihf",
                Arch::Arm => "armv7-unknown-linux-gnueabihf",
                Arch::Aarch64 => "aarch64-unknown-linux-gnu",
                Arch::Riscv32 => "riscv32imac-unknown-none-elf",
                Arch::Riscv64 => "riscv64gc-unknown-none-elf",
                Arch::Wasm32 => "wasm32-unknown-unknown",
                Arch::X86_64 | Arch::Other => "x86_64-unknown-linux-gnu",
            };
            let target = Target::from_triple(triple, &[]).with_cpu(cpu);
            let machine = Machine::of(&target).expect("it is in the table");
            assert!(machine.cpu == cpu.name && machine.open(llvm).is_ok(), "{}", cpu.name);
        }
    }

    #[test]
    fn an_unknown_target_is_told() {
        let error = Machine::of(&Target::from_triple("avr-none", &[])).expect_err("it is not known");
        assert!(error.contains("`avr-none`") && error.contains("TENFOLD_LLVM=none"), "{error}");
    }
}
