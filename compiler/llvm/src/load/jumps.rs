//! The assembly that defines each function of LLVM-C as a jump through a table.
//!
//! The build script includes this file; it knows names and instructions, not libraries.
//!
//! A jump leaves its number in a register that calls may destroy, so that one routine, which
//! every slot of the table holds until LLVM is loaded, can say which function was called.

use std::fmt::Write;

/// The table of addresses, a static of the crate.
pub(super) const TABLE: &str = "tenfold_llvm_jumps";
/// The routine that every slot of the table holds at first.
pub(super) const UNRESOLVED: &str = "tenfold_llvm_unresolved";
/// The Rust function that the routine calls, with the number of the jump.
pub(super) const EXPLAIN: &str = "tenfold_llvm_explain";

/// How a machine and its assembler write a jump.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// x86-64 in an ELF object.
    X86Elf,
    /// x86-64 in a Mach-O object.
    X86MachO,
    /// x86-64 in a COFF object.
    X86Coff,
    /// AArch64 in an ELF object.
    ArmElf,
    /// AArch64 in a Mach-O object.
    ArmMachO,
    /// Labels without code: the crate links, and `load` refuses.
    Labels,
}

impl Form {
    /// The form for a target as Cargo's `CARGO_CFG_TARGET_*` describe it.
    pub(super) fn of(arch: &str, vendor: &str, os: &str) -> Form {
        match (arch, vendor, os) {
            ("x86_64", "apple", _) => Form::X86MachO,
            ("aarch64", "apple", _) => Form::ArmMachO,
            ("x86_64", _, "windows") => Form::X86Coff,
            ("x86_64", _, _) => Form::X86Elf,
            ("aarch64", _, "windows") => Form::Labels,
            ("aarch64", _, _) => Form::ArmElf,
            _ => Form::Labels,
        }
    }

    fn section(self) -> &'static str {
        match self {
            Form::X86Elf | Form::ArmElf => ".section .text.tenfold_llvm_jumps,\"ax\",%progbits",
            Form::X86MachO | Form::ArmMachO => ".section __TEXT,__text,regular,pure_instructions\n.p2align 2",
            Form::X86Coff => ".section .text$tenfold_llvm_jumps,\"xr\"",
            Form::Labels => ".data",
        }
    }

    /// Opens a function that only this program sees. Were it exported, the loaded library's own
    /// calls could bind to it.
    fn label(self, name: &str) -> String {
        match self {
            Form::X86Elf | Form::ArmElf => {
                format!(".globl {name}\n.hidden {name}\n.type {name},%function\n{name}:\n")
            }
            Form::X86MachO | Form::ArmMachO => {
                format!(".globl _{name}\n.private_extern _{name}\n_{name}:\n")
            }
            Form::X86Coff | Form::Labels => format!(".globl {name}\n{name}:\n"),
        }
    }

    fn jump(self, number: usize) -> String {
        let at = number * 8;
        match self {
            Form::X86Elf | Form::X86Coff => {
                format!(" movl ${number}, %r11d\n jmpq *{TABLE}+{at}(%rip)\n")
            }
            Form::X86MachO => format!(" movl ${number}, %r11d\n jmpq *_{TABLE}+{at}(%rip)\n"),
            Form::ArmElf => format!(
                " adrp x16, {TABLE}+{at}\n ldr x16, [x16, :lo12:{TABLE}+{at}]\n \
                 mov w17, #{number}\n br x16\n"
            ),
            Form::ArmMachO => format!(
                " adrp x16, _{TABLE}@PAGE+{at}\n ldr x16, [x16, _{TABLE}@PAGEOFF+{at}]\n \
                 mov w17, #{number}\n br x16\n"
            ),
            Form::Labels => " .byte 0\n".to_owned(),
        }
    }

    fn unresolved(self) -> String {
        match self {
            Form::X86Elf => format!(" movl %r11d, %edi\n jmp {EXPLAIN}@PLT\n"),
            Form::X86MachO => format!(" movl %r11d, %edi\n jmp _{EXPLAIN}\n"),
            Form::X86Coff => format!(" movl %r11d, %ecx\n jmp {EXPLAIN}\n"),
            Form::ArmElf => format!(" mov w0, w17\n b {EXPLAIN}\n"),
            Form::ArmMachO => format!(" mov w0, w17\n b _{EXPLAIN}\n"),
            Form::Labels => " .byte 0\n".to_owned(),
        }
    }
}

/// The assembly that defines each of `names` and the routine for slots that are not filled.
pub(super) fn assembly(form: Form, names: &[String]) -> String {
    let mut text = format!("{}\n{}{}", form.section(), form.label(UNRESOLVED), form.unresolved());
    for (number, name) in names.iter().enumerate() {
        write!(text, "{}{}", form.label(name), form.jump(number)).expect("a string takes all");
    }
    text.push_str(".text\n");
    text
}

#[cfg(test)]
mod tests {
    use inkwell::{
        OptimizationLevel,
        context::Context,
        targets::{CodeModel, FileType, RelocMode, Target, TargetTriple},
    };

    use super::{Form, assembly};

    #[test]
    fn every_form_assembles() {
        if crate::tests::llvm().is_none() {
            return;
        }
        Target::initialize_x86(&Default::default());
        Target::initialize_aarch64(&Default::default());
        let forms = [
            (Form::X86Elf, "x86_64-unknown-linux-gnu"),
            (Form::X86MachO, "x86_64-apple-macosx11"),
            (Form::X86Coff, "x86_64-pc-windows-msvc"),
            (Form::ArmElf, "aarch64-unknown-linux-gnu"),
            (Form::ArmMachO, "arm64-apple-macosx11"),
        ];
        let names: Vec<String> = (0..1300).map(|n| format!("LLVMf{n}")).collect();
        for (form, triple) in forms {
            let triple = TargetTriple::create(triple);
            let context = Context::create();
            let module = context.create_module("jumps");
            module.set_triple(&triple);
            module.set_inline_assembly(&assembly(form, &names));
            let machine = Target::from_triple(&triple)
                .expect("the target is built in")
                .create_target_machine(&triple, "", "", OptimizationLevel::None, RelocMode::PIC, CodeModel::Default)
                .expect("the target is known");
            let object = machine.write_to_memory_buffer(&module, FileType::Object);
            assert!(object.expect("the assembly is taken").get_size() > 1300 * 8, "{form:?}");
        }
    }
}
