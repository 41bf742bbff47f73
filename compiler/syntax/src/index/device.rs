//! What a function brings along for devices: a blob and the constants that its programs count, each linked by itself.

/// What there is of a function for devices.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DeviceParts {
    /// The blob.
    pub blob: Linked,
    /// The constants, in the order in which programs count them.
    pub constants: Vec<Linked>,
}

/// Bytes of an archive, as one line of the index: archive, symbol, number of bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Linked {
    /// The archive, without `lib` and `.a`.
    pub archive: String,
    /// The symbol of the first byte.
    pub symbol: String,
    /// How many bytes there are.
    pub bytes: u64,
}

impl Linked {
    /// As a line.
    pub fn print(&self) -> String {
        let Self { archive, symbol, bytes } = self;
        format!("{archive} {symbol} {bytes}")
    }

    /// From a line.
    pub fn parse(line: &str) -> Option<Self> {
        let mut words = line.splitn(3, ' ');
        Some(Self { archive: words.next()?.into(), symbol: words.next()?.into(), bytes: words.next()?.parse().ok()? })
    }
}
