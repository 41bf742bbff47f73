//! What the compiler of a program in C must agree on with the library.

use crate::object::constant::ElfTarget;
use tenfold_abi::DType;
use tenfold_core::{Arch, Target};

/// A condition of the preprocessor under which the library must not be used, and what to do then.
pub(super) struct Refusal {
    pub(super) when: &'static str,
    pub(super) says: &'static str,
}

/// How functions pass floats.
const ARM_HARD: Refusal = Refusal {
    when: "defined(__arm__) && !defined(__ARM_PCS_VFP)",
    says: "this library passes floats in registers of the float unit: compile with -mfloat-abi=hard",
};
const ARM_SOFT: Refusal = Refusal {
    when: "defined(__arm__) && defined(__ARM_PCS_VFP)",
    says: "this library passes floats in core registers: compile with -mfloat-abi=soft or softfp",
};
const RISCV: [(u32, Refusal); 3] = [
    (
        64,
        Refusal {
            when: "defined(__riscv) && !defined(__riscv_float_abi_double)",
            says: "this library passes doubles in registers of the float unit: compile with -mabi=lp64d or ilp32d",
        },
    ),
    (
        32,
        Refusal {
            when: "defined(__riscv) && !defined(__riscv_float_abi_single)",
            says: "this library passes floats in registers of the float unit: compile with -mabi=lp64f or ilp32f",
        },
    ),
    (
        0,
        Refusal {
            when: "defined(__riscv) && !defined(__riscv_float_abi_soft)",
            says: "this library passes floats in core registers: compile with -mabi=lp64 or ilp32",
        },
    ),
];
const LITTLE: Refusal = Refusal {
    when: "defined(__BYTE_ORDER__) && __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__",
    says: "this library is for a target whose bytes go low first",
};
const BIG: Refusal = Refusal {
    when: "defined(__BYTE_ORDER__) && __BYTE_ORDER__ != __ORDER_BIG_ENDIAN__",
    says: "this library is for a target whose bytes go high first",
};

/// Another processor, by compilers that say which one in GCC's way. Of a target that is none of these, nothing is said.
fn of_arch(arch: Arch) -> Option<Refusal> {
    let (when, says) = match arch {
        Arch::Arm => ("defined(__GNUC__) && !defined(__arm__)", "this library is for ARM of 32 bits"),
        Arch::Aarch64 => ("defined(__GNUC__) && !defined(__aarch64__)", "this library is for ARM of 64 bits"),
        Arch::Riscv32 | Arch::Riscv64 => ("defined(__GNUC__) && !defined(__riscv)", "this library is for RISC-V"),
        Arch::Wasm32 => ("defined(__GNUC__) && !defined(__wasm__)", "this library is for WebAssembly"),
        Arch::X86_64 => ("defined(__GNUC__) && !defined(__x86_64__)", "this library is for x86-64"),
        Arch::Other => return None,
    };
    Some(Refusal { when, says })
}

/// What the preprocessor can tell.
pub(super) fn refusals(target: &Target) -> Vec<Refusal> {
    let order = if target.little_endian { LITTLE } else { BIG };
    let float = match target.arch {
        Arch::Arm if target.triple.ends_with("hf") => Some(ARM_HARD),
        Arch::Arm => Some(ARM_SOFT),
        Arch::Riscv32 | Arch::Riscv64 => {
            let bits = ElfTarget::of_triple(&target.triple).and_then(ElfTarget::riscv_float_bits);
            RISCV.into_iter().find(|(of, _)| Some(*of) == bits).map(|(_, refusal)| refusal)
        }
        Arch::X86_64 | Arch::Aarch64 | Arch::Wasm32 | Arch::Other => None,
    };
    of_arch(target.arch).into_iter().chain(float).chain([order]).collect()
}

/// The type of an element in C: halves and what is stored only go as their bits.
pub(super) fn c_type(dtype: DType) -> &'static str {
    match dtype {
        DType::Bool | DType::U8 | DType::U4 => "uint8_t",
        DType::F8E4M3FN | DType::F8E4M3FNUZ | DType::F8E5M2 | DType::F8E5M2FNUZ => "uint8_t",
        DType::I8 | DType::I4 => "int8_t",
        DType::I16 => "int16_t",
        DType::U16 | DType::F16 | DType::BF16 => "uint16_t",
        DType::I32 => "int32_t",
        DType::U32 => "uint32_t",
        DType::I64 => "int64_t",
        DType::U64 => "uint64_t",
        DType::F32 => "float",
        DType::F64 => "double",
    }
}

/// Whether the sizes and alignments of types are those that the code takes for granted. Of targets that only a C
/// compiler serves, that compiler decides.
pub(super) fn asserts_alignment(target: &Target) -> bool {
    target.arch != Arch::Other
}
