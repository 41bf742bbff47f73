//! A code of a function for processors with more features than every processor of the target has.

/// A variant, as one line of the index: name, symbol, bytes of code, features with commas between them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Variant {
    /// The level that it is for: `x86-64-v3`.
    pub name: String,
    /// The name of its entry point.
    pub symbol: String,
    /// Bytes of its machine code.
    pub code_bytes: u64,
    /// The features that it needs beyond those of the target.
    pub features: Vec<String>,
}

impl Variant {
    /// As a line.
    pub fn print(&self) -> String {
        let Self { name, symbol, code_bytes, features } = self;
        format!("{name} {symbol} {code_bytes} {}", features.join(","))
    }

    /// From a line.
    pub fn parse(line: &str) -> Option<Self> {
        let mut words = line.splitn(4, ' ');
        Some(Self {
            name: words.next()?.into(),
            symbol: words.next()?.into(),
            code_bytes: words.next()?.parse().ok()?,
            features: words.next()?.split(',').filter(|f| !f.is_empty()).map(String::from).collect(),
        })
    }
}
