//! Decisions of a schedule by name.

use std::collections::BTreeMap;
use std::fmt;

/// What was decided for a kernel: `rows=6 rule=contraction vectors=4`, in the order of the names.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub struct Decisions(BTreeMap<String, String>);

impl Decisions {
    /// What was decided on a name.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }

    /// Decides on a name, whatever was decided before.
    pub fn set(&mut self, name: &str, value: &str) {
        self.0.insert(name.into(), value.into());
    }

    /// The same without what was decided on a name.
    #[must_use]
    pub fn without(mut self, name: &str) -> Decisions {
        self.0.remove(name);
        self
    }

    /// Names and values, in the order of the names.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }

    /// Whether nothing is decided.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Reads what is printed.
    pub fn parse(text: &str) -> Result<Decisions, String> {
        let mut all = Decisions::default();
        for word in text.split_whitespace() {
            let pair = word.split_once('=').filter(|(name, value)| !name.is_empty() && !value.is_empty());
            let (name, value) = pair.ok_or_else(|| format!("expected `name=value`, found `{word}`"))?;
            if all.0.insert(name.into(), value.into()).is_some() {
                return Err(format!("`{name}` is decided twice"));
            }
        }
        Ok(all)
    }
}

impl fmt::Display for Decisions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let words: Vec<String> = self.iter().map(|(name, value)| format!("{name}={value}")).collect();
        f.write_str(&words.join(" "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_prints_parses() {
        let all = Decisions::parse("vectors=4  rows=6 rule=contraction").expect("decisions");
        assert_eq!(all.to_string(), "rows=6 rule=contraction vectors=4");
        assert_eq!(Decisions::parse(&all.to_string()), Ok(all.clone()));
        assert_eq!(all.without("rule").to_string(), "rows=6 vectors=4");
    }

    #[test]
    fn what_is_wrong_is_named() {
        for word in ["rows", "=6", "rows="] {
            assert_eq!(Decisions::parse(word), Err(format!("expected `name=value`, found `{word}`")));
        }
        assert_eq!(Decisions::parse("rows=1 rows=2"), Err("`rows` is decided twice".into()));
    }
}
