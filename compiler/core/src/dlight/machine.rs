//! What of a target decides how large tiles are.

use tenfold_ir::tir::Dot;

use crate::target::{Arch, Key, Target};

/// Which sums of products are one instruction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Dots {
    /// Those of four products of 8 bits.
    bytes: OfBytes,
    /// Whether those of two products of `bf16` are.
    bf16: bool,
}

/// Which sums of four products of 8 bits are one instruction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum OfBytes {
    /// None: products of 16 bits are added in pairs.
    None,
    /// Those of one factor with a sign and one without.
    OfBothKinds,
    /// Those of factors of one kind.
    OfOneKind,
    /// All.
    All,
}

impl Dots {
    /// None is.
    pub(super) const NONE: Dots = Dots { bytes: OfBytes::None, bf16: false };

    fn of(target: &Target) -> Dots {
        let bytes = match (target.has("dotprod"), target.has("i8mm")) {
            (true, true) => OfBytes::All,
            (true, false) => OfBytes::OfOneKind,
            (false, _) if target.has("avx512vnni") || target.has("avxvnni") => OfBytes::OfBothKinds,
            (false, _) => OfBytes::None,
        };
        Dots { bytes, bf16: target.adds_halves() }
    }

    /// Multiplications that a sum of products takes.
    pub(super) fn multiplications(self, dot: Dot) -> i64 {
        match dot {
            Dot::Bf16 if !self.bf16 => dot.terms(),
            Dot::Bf16 | Dot::Bytes { .. } | Dot::Eight | Dot::Sixteen => 1,
        }
    }

    /// Registers that sums take besides accumulators and operands: for the halves of operands, or for what a sign that
    /// the instruction does not know is made good with.
    pub(super) fn registers(self, dot: Dot) -> i64 {
        let signed = match dot {
            Dot::Bytes { signed } => signed,
            // One by one, from words: the other half of each operand.
            Dot::Bf16 => return if self.bf16 { 0 } else { 3 },
            // Vectors of bytes, which are registers of another kind than sums.
            Dot::Eight | Dot::Sixteen => return 0,
        };
        let equal = signed[0] == signed[1];
        match self.bytes {
            OfBytes::All => 0,
            OfBytes::OfOneKind => {
                if equal {
                    0
                } else {
                    3
                }
            }
            OfBytes::OfBothKinds => {
                if equal {
                    3
                } else {
                    0
                }
            }
            OfBytes::None => 5,
        }
    }
}

/// Which products of matrices are one instruction: x86's AMX, whose registers hold 16 rows of 64 bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Matrices {
    /// Those of 8 bits, four of which are added at once.
    pub bytes: bool,
    /// Those of `bf16`, two of which are added at once.
    pub bf16: bool,
}

impl Matrices {
    fn of(target: &Target) -> Matrices {
        let tiles = target.arch == Arch::X86_64 && target.has("amx-tile");
        Matrices { bytes: tiles && target.has("amx-int8"), bf16: tiles && target.has("amx-bf16") }
    }

    /// Whether products are added so.
    pub(super) fn multiply(self, dot: Dot) -> bool {
        match dot {
            Dot::Bytes { .. } => self.bytes,
            Dot::Bf16 => self.bf16,
            Dot::Eight | Dot::Sixteen => false,
        }
    }
}

/// The numbers of a core.
#[derive(Clone, Copy, Debug)]
pub(super) struct Machine {
    /// Bytes of a vector register.
    pub vector_bytes: i64,
    /// Vector registers.
    pub registers: i64,
    /// Fused multiplications that begin per cycle.
    pub fmas: i64,
    /// Cycles until the result of one can be added to.
    pub latency: i64,
    /// Loads per cycle.
    pub loads: i64,
    /// What a load takes from multiplications even where there is room for it, in [`PARTS`](super::tiles::PARTS) of a
    /// cycle: more where a broadcast is an instruction of its own.
    pub load_parts: i64,
    /// Terms of a sum that tiles of many accumulators write out behind one another: fewer where a multiplication reads
    /// what it broadcasts, since a loop then is little but multiplications, and a short one is fetched best.
    pub written_out: i64,
    /// Bytes of one way of the first cache: addresses so far apart share a set.
    pub way_bytes: i64,
    /// Its ways.
    pub ways: i64,
    /// Bytes per cycle that come from the second cache.
    pub far_bytes: i64,
    /// Of so many cycles that something takes to come from there, one is waited for.
    pub waits: i64,
    /// Cycles until something comes that is in neither of these caches.
    pub far_cycles: i64,
    /// Bytes of the second cache.
    pub second_bytes: i64,
    /// Pages whose places the core knows at once.
    pub pages: i64,
    /// How products of 8 bits and of `bf16` are added.
    pub dots: Dots,
    /// Whether registers hold matrices, and which products of these there are.
    pub matrices: Matrices,
    /// Whether the greater of two floats takes several operations, unless it does not matter what becomes of NaN.
    pub max_is_several: bool,
    /// Whether vectors of bytes read tables of 256 bytes: by instructions that permute some.
    pub tables: bool,
    /// Whether sums of vectors begin beside multiplications, so that products of halves pay.
    pub adds_beside: bool,
    /// Whether rows of any length come faster from memory if they are asked for a row ahead.
    pub reads_lines: bool,
    /// Bytes from which on results are written past all caches.
    pub past_caches: Option<i64>,
    /// Whether it is a microcontroller whose core adds several products at once: then contractions of integers alone are
    /// scheduled, in tiles of few sums, and all other code is small.
    pub small: bool,
    /// Whether such a core has vectors.
    pub helium: bool,
}

/// Sums of products of vectors that a microcontroller has registers for.
pub(super) const SUMS_OF_VECTORS: i64 = 8;

impl Machine {
    /// The numbers for a target; nothing where it has no vectors, and code is better small, or other keys are chosen.
    pub(super) fn of(target: &Target) -> Option<Machine> {
        if target.has_key(Key::Dsp) {
            return Some(if target.has("mve") { Machine::helium() } else { Machine::small() });
        }
        let vector_bytes = i64::from(target.vector_bytes());
        let registers = match target.arch {
            Arch::X86_64 if target.has("avx512f") => 32,
            Arch::Aarch64 | Arch::Riscv64 => 32,
            // A product that is not fused with its sum needs a register, and so does each operand that it overwrites.
            Arch::X86_64 if !target.has("fma") => 14,
            Arch::X86_64 | Arch::Arm | Arch::Riscv32 | Arch::Wasm32 | Arch::Other => 16,
        };
        let large = matches!(target.arch, Arch::X86_64 | Arch::Aarch64);
        let ports = if large { 2 } else { 1 };
        // With AVX-512 a multiplication broadcasts what it reads.
        let own_broadcasts = target.arch == Arch::X86_64 && target.has("avx2") && !target.has("avx512f");
        target.has_key(Key::Cpu).then_some(Machine {
            vector_bytes,
            registers,
            fmas: ports,
            latency: 4,
            loads: ports,
            load_parts: if own_broadcasts { 4 } else { 2 },
            written_out: if target.has("avx512f") { 2 } else { 4 },
            way_bytes: 4 << 10,
            ways: 8,
            far_bytes: 32,
            waits: 4,
            far_cycles: 400,
            second_bytes: 1 << 20,
            pages: 64,
            dots: Dots::of(target),
            matrices: Matrices::of(target),
            max_is_several: target.arch == Arch::X86_64,
            tables: large,
            adds_beside: target.adds_beside(),
            reads_lines: target.reads_lines(),
            past_caches: target.past_caches(),
            small: false,
            helium: false,
        })
    }

    /// A microcontroller with vectors: eight registers, a product of one and a number that is in no vector, and sums of
    /// products of two that are one number.
    fn helium() -> Machine {
        Machine { vector_bytes: 16, registers: 10, helium: true, ..Machine::small() }
    }

    /// The machine for a contraction: sums of products of vectors are words.
    pub(super) fn adding(&self, dot: Option<Dot>) -> Machine {
        match dot {
            Some(dot) if dot.is_wide() => Machine { vector_bytes: 4, registers: SUMS_OF_VECTORS + 6, ..*self },
            Some(_) | None => *self,
        }
    }

    /// The registers for a tile on which functions are computed, or not: LLVM loads their constants before all loops, and
    /// would keep accumulators in memory instead.
    pub(super) fn beside_constants(&self, functions: bool) -> i64 {
        if functions { self.registers * 3 / 4 } else { self.registers }
    }

    /// The registers for a tile in which nothing is broadcast. Rows share what windows have in common, which takes as many
    /// registers again as there are accumulators: with eight of them there are three rows.
    pub(super) fn without_broadcasts(&self) -> i64 {
        if self.helium { self.registers - 4 } else { self.registers * 3 / 8 }
    }

    /// A core without caches, whose vectors are numbers of 32 bits. One register is for addresses.
    fn small() -> Machine {
        const FAR: i64 = 1 << 30;
        Machine {
            vector_bytes: 4,
            registers: 13,
            fmas: 1,
            latency: 1,
            loads: 1,
            load_parts: 2,
            written_out: 2,
            way_bytes: FAR,
            ways: 2,
            far_bytes: FAR,
            waits: 4,
            far_cycles: 0,
            second_bytes: FAR,
            pages: FAR,
            dots: Dots::NONE,
            matrices: Matrices { bytes: false, bf16: false },
            max_is_several: false,
            tables: false,
            adds_beside: false,
            reads_lines: false,
            past_caches: None,
            small: true,
            helium: false,
        }
    }
}
