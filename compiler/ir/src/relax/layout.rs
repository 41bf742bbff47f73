//! Layouts of convolutions and pools: the order in which the axes of their operands lie in memory.
//!
//! The plain order is ONNX's: batch, channel, spatial axes; kernels are output channels, input channels, spatial axes.
//! A layout puts axes in another order, and may cut channels into blocks whose index comes last, so that a vector of
//! channels lies side by side: in `NCHW16c`, axis 1 counts blocks and axis 4 channels inside of one. An operator means
//! the same in every layout.

use std::ops::RangeInclusive;

use super::dim;
use crate::arith::IntExpr;

/// Layout of what a convolution or a pool reads and writes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub enum DataLayout {
    /// `NCHW`.
    #[default]
    ChannelsFirst,
    /// `NHWC`.
    ChannelsLast,
    /// `NCHW[n]c`: channels in blocks of `n`.
    Blocked(i64),
}

/// Layout of the weights of a convolution.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub enum KernelLayout {
    /// `OIHW`.
    #[default]
    OutFirst,
    /// `HWIO`.
    OutLast,
    /// `IHW[i]iO`: channels of the operand in blocks of so many, each with its whole window.
    InputBlocked(i64),
    /// `OIHW[i]i[o]o`: channels of the operand and of the result in blocks.
    Blocked {
        /// Channels of the operand in a block.
        input: i64,
        /// Channels of the result in a block.
        output: i64,
    },
}

/// Layouts of a convolution. Blocks of weights go with blocks of data, whose result has the weights' blocks.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct ConvLayout {
    /// Of the first operand.
    pub data: DataLayout,
    /// Of the second operand.
    pub kernel: KernelLayout,
}

/// What a stored axis counts, of the axes in plain order: 0 and 1 are batch and channel, or output and input channel.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Part {
    /// A whole axis.
    Whole(usize),
    /// The blocks of an axis, each of so many indices.
    Outer(usize, i64),
    /// The indices inside of a block of an axis.
    Inner(usize, i64),
}

impl Part {
    /// The axis in plain order.
    pub fn axis(self) -> usize {
        match self {
            Part::Whole(axis) | Part::Outer(axis, _) | Part::Inner(axis, _) => axis,
        }
    }
}

/// Numbers of spatial axes for which layouts have names.
const NAMED: RangeInclusive<usize> = 1..=3;

/// Letters of the spatial axes.
fn letters(spatial: usize) -> &'static str {
    &"DHW"[3 - spatial.clamp(*NAMED.start(), *NAMED.end())..]
}

/// A name's parts: letters of whole axes, and at the end blocks such as `16c`.
fn split(text: &str) -> (&str, Vec<(i64, char)>) {
    let head = text.find(|c: char| c.is_ascii_digit()).unwrap_or(text.len());
    let mut blocks = Vec::new();
    let mut digits = String::new();
    for c in text[head..].chars() {
        if c.is_ascii_digit() {
            digits.push(c);
        } else {
            blocks.push((digits.parse().unwrap_or(0), c));
            digits.clear();
        }
    }
    if !digits.is_empty() {
        blocks.push((0, ' '));
    }
    (&text[..head], blocks)
}

impl DataLayout {
    /// Its name for so many spatial axes: `NCHW` for two.
    pub fn text(self, spatial: usize) -> String {
        let letters = letters(spatial);
        match self {
            DataLayout::ChannelsFirst => format!("NC{letters}"),
            DataLayout::ChannelsLast => format!("N{letters}C"),
            DataLayout::Blocked(n) => format!("NC{letters}{n}c"),
        }
    }

    /// The layout of that name for so many spatial axes.
    pub fn parse(text: &str, spatial: usize) -> Option<Self> {
        let (head, blocks) = split(text);
        let plain = DataLayout::ChannelsFirst.text(spatial);
        match blocks[..] {
            [] if head == plain => Some(DataLayout::ChannelsFirst),
            [] if head == DataLayout::ChannelsLast.text(spatial) => Some(DataLayout::ChannelsLast),
            [(n, 'c')] if head == plain && n > 0 => Some(DataLayout::Blocked(n)),
            _ => None,
        }
    }

    /// What its axes count.
    pub fn parts(self, spatial: usize) -> Vec<Part> {
        let rest = (2..2 + spatial).map(Part::Whole);
        match self {
            DataLayout::ChannelsFirst => [Part::Whole(0), Part::Whole(1)].into_iter().chain(rest).collect(),
            DataLayout::ChannelsLast => [Part::Whole(0)].into_iter().chain(rest).chain([Part::Whole(1)]).collect(),
            DataLayout::Blocked(n) => {
                [Part::Whole(0), Part::Outer(1, n)].into_iter().chain(rest).chain([Part::Inner(1, n)]).collect()
            }
        }
    }
}

impl KernelLayout {
    /// Its name for so many spatial axes: `OIHW` for two.
    pub fn text(self, spatial: usize) -> String {
        let letters = letters(spatial);
        match self {
            KernelLayout::OutFirst => format!("OI{letters}"),
            KernelLayout::OutLast => format!("{letters}IO"),
            KernelLayout::InputBlocked(n) => format!("I{letters}{n}iO"),
            KernelLayout::Blocked { input, output } => format!("OI{letters}{input}i{output}o"),
        }
    }

    /// The layout of that name for so many spatial axes.
    pub fn parse(text: &str, spatial: usize) -> Option<Self> {
        let (head, blocks) = split(text);
        let plain = KernelLayout::OutFirst.text(spatial);
        match blocks[..] {
            [] if head == plain => Some(KernelLayout::OutFirst),
            [] if head == KernelLayout::OutLast.text(spatial) => Some(KernelLayout::OutLast),
            [(n, 'i'), (0, 'O')] if n > 0 && head.strip_prefix('I') == Some(letters(spatial)) => {
                Some(KernelLayout::InputBlocked(n))
            }
            [(input, 'i'), (output, 'o')] if head == plain && input > 0 && output > 0 => {
                Some(KernelLayout::Blocked { input, output })
            }
            _ => None,
        }
    }

    /// What its axes count.
    pub fn parts(self, spatial: usize) -> Vec<Part> {
        let rest = (2..2 + spatial).map(Part::Whole);
        match self {
            KernelLayout::OutFirst => [Part::Whole(0), Part::Whole(1)].into_iter().chain(rest).collect(),
            KernelLayout::OutLast => rest.chain([Part::Whole(1), Part::Whole(0)]).collect(),
            KernelLayout::InputBlocked(n) => {
                [Part::Outer(1, n)].into_iter().chain(rest).chain([Part::Inner(1, n), Part::Whole(0)]).collect()
            }
            KernelLayout::Blocked { input, output } => {
                let blocks = [Part::Outer(0, output), Part::Outer(1, input)];
                blocks.into_iter().chain(rest).chain([Part::Inner(1, input), Part::Inner(0, output)]).collect()
            }
        }
    }
}

impl ConvLayout {
    /// Channels first, `NCHW` and `OIHW`.
    pub const PLAIN: Self = ConvLayout { data: DataLayout::ChannelsFirst, kernel: KernelLayout::OutFirst };

    /// Of the result; `None` where blocks of one stand beside whole channels of the other.
    pub fn result(self) -> Option<DataLayout> {
        match (self.data, self.kernel) {
            (DataLayout::Blocked(_), KernelLayout::Blocked { output, .. }) => Some(DataLayout::Blocked(output)),
            (DataLayout::Blocked(_), _) | (_, KernelLayout::Blocked { .. }) => None,
            (data, KernelLayout::OutFirst | KernelLayout::OutLast | KernelLayout::InputBlocked(_)) => Some(data),
        }
    }
}

/// Whether a layout has a name for so many spatial axes.
pub(super) fn has_name(spatial: usize) -> bool {
    NAMED.contains(&spatial)
}

/// The extents in plain order of a tensor that is stored in these parts.
pub fn plain_shape(parts: &[Part], stored: &[IntExpr]) -> Vec<IntExpr> {
    let mut shape = vec![dim::int(1); parts.iter().map(|p| p.axis() + 1).max().unwrap_or(0)];
    for (part, extent) in parts.iter().zip(stored) {
        shape[part.axis()] = &shape[part.axis()] * extent;
    }
    shape
}

/// The extents of a tensor, given in plain order, when it is stored in these parts.
pub fn stored_shape(parts: &[Part], plain: &[IntExpr]) -> Vec<IntExpr> {
    let extent = |part: &Part| match *part {
        Part::Whole(axis) => plain[axis].clone(),
        Part::Outer(axis, block) => dim::div_floor(&plain[axis], block),
        Part::Inner(_, block) => dim::int(block),
    };
    parts.iter().map(extent).collect()
}

/// Parts in plain order, blocks of an axis before what is inside of one: between them and the stored order lies a
/// transpose, between them and the plain shape a reshape.
pub fn in_plain_order(parts: &[Part]) -> Vec<Part> {
    let mut sorted = parts.to_vec();
    sorted.sort_by_key(|part| (part.axis(), matches!(part, Part::Inner(..))));
    sorted
}

/// The permutation that takes the parts in plain order to the stored order.
pub fn permutation(parts: &[Part]) -> Vec<usize> {
    let sorted = in_plain_order(parts);
    parts.iter().map(|part| sorted.iter().position(|other| other == part).unwrap_or(0)).collect()
}

/// The permutation that undoes another.
pub fn inverse(perm: &[usize]) -> Vec<usize> {
    let mut back = vec![0; perm.len()];
    perm.iter().enumerate().for_each(|(to, from)| back[*from] = to);
    back
}

#[cfg(test)]
mod tests {
    use super::*;

    const DATA: [DataLayout; 3] = [DataLayout::ChannelsFirst, DataLayout::ChannelsLast, DataLayout::Blocked(16)];

    #[test]
    fn names_read_back() {
        let blocked = KernelLayout::Blocked { input: 3, output: 16 };
        for spatial in NAMED {
            for layout in DATA {
                assert_eq!(DataLayout::parse(&layout.text(spatial), spatial), Some(layout));
            }
            let all = [KernelLayout::OutFirst, KernelLayout::OutLast, KernelLayout::InputBlocked(16), blocked];
            for layout in all {
                assert_eq!(KernelLayout::parse(&layout.text(spatial), spatial), Some(layout));
            }
        }
        assert_eq!(blocked.text(2), "OIHW3i16o");
        for wrong in ["", "NC", "NHCW", "NCHW0c", "NCHW16", "NCHW16o", "NCHWc", "NHWC4c", "NCHW99999999999999999999c"] {
            assert_eq!(DataLayout::parse(wrong, 2), None, "{wrong}");
        }
        assert_eq!(KernelLayout::InputBlocked(16).text(2), "IHW16iO");
        for wrong in ["OIHW16o", "OIHW16o16i", "HWOI", "OIHW16i0o", "IHW0iO", "IHW16i", "IHWiO", "IHW16o"] {
            assert_eq!(KernelLayout::parse(wrong, 2), None, "{wrong}");
        }
    }

    #[test]
    fn shapes_go_there_and_back() {
        let plain: Vec<IntExpr> = [2, 32, 5, 7].map(dim::int).to_vec();
        for layout in DATA {
            let parts = layout.parts(2);
            let stored = stored_shape(&parts, &plain);
            assert_eq!(plain_shape(&parts, &stored), plain);
            let sorted = stored_shape(&in_plain_order(&parts), &plain);
            let moved: Vec<IntExpr> = permutation(&parts).iter().map(|axis| sorted[*axis].clone()).collect();
            assert_eq!(moved, stored);
            let back: Vec<IntExpr> = inverse(&permutation(&parts)).iter().map(|axis| stored[*axis].clone()).collect();
            assert_eq!(back, sorted);
        }
    }
}
