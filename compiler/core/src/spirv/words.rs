//! A module of SPIR-V: instructions in the sections of its layout, as words and as text.

use std::fmt::{self, Debug, Write};

use spirv::Op;

/// An operand.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Operand {
    Id(u32),
    Word(u32),
    Wide(u64),
    Text(String),
    /// A value that has a name.
    Named(u32, String),
}

/// A value of one of SPIR-V's enumerations.
pub(super) fn named(value: u32, name: impl Debug) -> Operand {
    Operand::Named(value, format!("{name:?}"))
}

/// An instruction.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Instruction {
    op: Op,
    ty: Option<u32>,
    id: Option<u32>,
    operands: Vec<Operand>,
}

impl Instruction {
    pub(super) fn new(op: Op, ty: Option<u32>, id: Option<u32>, operands: Vec<Operand>) -> Instruction {
        Instruction { op, ty, id, operands }
    }

    /// The length and the code in one word, then what the instruction is of.
    fn encode(&self, words: &mut Vec<u32>) {
        let start = words.len();
        words.push(0);
        words.extend(self.ty.iter().chain(&self.id));
        for operand in &self.operands {
            match operand {
                Operand::Id(word) | Operand::Word(word) | Operand::Named(word, _) => words.push(*word),
                Operand::Wide(wide) => words.extend([*wide as u32, (*wide >> 32) as u32]),
                Operand::Text(text) => {
                    let bytes: Vec<u8> = text.bytes().chain([0]).collect();
                    let word = |part: &[u8]| part.iter().rev().fold(0, |word, byte| word << 8 | u32::from(*byte));
                    words.extend(bytes.chunks(4).map(word));
                }
            }
        }
        words[start] = ((words.len() - start) as u32) << 16 | self.op as u32;
    }
}

impl fmt::Display for Instruction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(id) = self.id {
            write!(f, "%{id} = ")?;
        }
        write!(f, "Op{:?}", self.op)?;
        if let Some(ty) = self.ty {
            write!(f, " %{ty}")?;
        }
        for operand in &self.operands {
            match operand {
                Operand::Id(id) => write!(f, " %{id}")?,
                Operand::Word(word) => write!(f, " {word}")?,
                Operand::Wide(wide) => write!(f, " {wide}")?,
                Operand::Text(text) => write!(f, " \"{text}\"")?,
                Operand::Named(_, name) => write!(f, " {name}")?,
            }
        }
        Ok(())
    }
}

/// The sections of a module, in the order in which they stand.
#[derive(Clone, Debug, Default)]
pub(super) struct Module {
    pub(super) capabilities: Vec<Instruction>,
    pub(super) extensions: Vec<Instruction>,
    pub(super) imports: Vec<Instruction>,
    pub(super) memory_model: Vec<Instruction>,
    pub(super) entry_points: Vec<Instruction>,
    pub(super) execution_modes: Vec<Instruction>,
    pub(super) names: Vec<Instruction>,
    pub(super) decorations: Vec<Instruction>,
    pub(super) globals: Vec<Instruction>,
    pub(super) functions: Vec<Instruction>,
    /// One more than the greatest id.
    pub(super) bound: u32,
}

impl Module {
    fn all(&self) -> impl Iterator<Item = &Instruction> {
        let head = self.capabilities.iter().chain(&self.extensions).chain(&self.imports).chain(&self.memory_model);
        let middle = self.entry_points.iter().chain(&self.execution_modes).chain(&self.names);
        head.chain(middle).chain(&self.decorations).chain(&self.globals).chain(&self.functions)
    }

    /// SPIR-V 1.3, by no registered generator.
    pub(super) fn words(&self) -> Vec<u32> {
        let mut words = vec![spirv::MAGIC_NUMBER, 0x0001_0300, 0, self.bound, 0];
        self.all().for_each(|instruction| instruction.encode(&mut words));
        words
    }

    /// An instruction a line.
    pub(super) fn text(&self) -> String {
        let mut text = String::new();
        for instruction in self.all() {
            let _ = writeln!(text, "{instruction}");
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_end_with_a_zero_and_fill_words() {
        let mut words = Vec::new();
        Instruction::new(Op::Name, None, None, vec![Operand::Id(7), Operand::Text("main".into())]).encode(&mut words);
        assert_eq!(words, [4 << 16 | 5, 7, u32::from_le_bytes(*b"main"), 0]);
    }

    #[test]
    fn wide_numbers_begin_with_their_low_word() {
        let mut words = Vec::new();
        let instruction = Instruction::new(Op::Constant, Some(2), Some(3), vec![Operand::Wide(1 << 32 | 9)]);
        instruction.encode(&mut words);
        assert_eq!(words, [5 << 16 | 43, 2, 3, 9, 1]);
        assert_eq!(instruction.to_string(), "%3 = OpConstant %2 4294967305");
    }
}
