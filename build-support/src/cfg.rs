//! `cfg` predicates in three values.
//!
//! One run of the build script serves the library, its tests and its binaries, and `println!("cargo::rustc-cfg=…")`
//! may still set a name: so a predicate is on, off or undetermined. What is undetermined is compiled.

use std::env;
use syn::punctuated::Punctuated;
use syn::{Expr, ExprLit, Lit, Meta, Token};

/// Names that differ between the targets of one package, or between its profiles.
const UNDETERMINED: [&str; 10] = [
    "test",
    "doc",
    "doctest",
    "miri",
    "trybuild",
    "rust_analyzer",
    "clippy",
    "debug_assertions",
    "overflow_checks",
    "proc_macro",
];

/// Keys whose values cargo tells completely.
const TARGET_KEYS: [&str; 8] = [
    "target_os",
    "target_arch",
    "target_family",
    "target_env",
    "target_endian",
    "target_pointer_width",
    "target_vendor",
    "target_abi",
];

/// Whether an attribute's text is a `cfg` that is off, on or undetermined; on if it is no `cfg`.
pub(crate) fn of_attribute(attribute: &str) -> Option<bool> {
    match argument(attribute, "cfg") {
        Some(text) => syn::parse_str::<Meta>(text).ok().and_then(|m| eval(&m)),
        None => Some(true),
    }
}

/// What stands in the parentheses of `#[name(…)]`.
pub(crate) fn argument<'a>(attribute: &'a str, name: &str) -> Option<&'a str> {
    let inner = attribute.strip_prefix('#')?.trim_start();
    let inner = inner.strip_prefix('[')?.trim_start();
    let inner = inner.strip_prefix(name)?.trim_start();
    let inner = inner.strip_prefix('(')?.trim_end();
    inner.strip_suffix(']')?.trim_end().strip_suffix(')')
}

/// The value of a predicate.
pub(crate) fn eval(meta: &Meta) -> Option<bool> {
    match meta {
        Meta::Path(path) => name(&path.get_ident()?.to_string()),
        Meta::NameValue(pair) => {
            let Expr::Lit(ExprLit { lit: Lit::Str(value), .. }) = &pair.value else {
                return None;
            };
            key(&pair.path.get_ident()?.to_string(), &value.value())
        }
        Meta::List(list) => {
            let inner = list.parse_args_with(Punctuated::<Meta, Token![,]>::parse_terminated).ok()?;
            let values: Vec<_> = inner.iter().map(eval).collect();
            match list.path.get_ident()?.to_string().as_str() {
                "not" => values.first()?.map(|on| !on),
                "all" => all(&values),
                "any" => all(&values.iter().map(|v| v.map(|on| !on)).collect::<Vec<_>>()).map(|none| !none),
                _ => None,
            }
        }
    }
}

fn all(values: &[Option<bool>]) -> Option<bool> {
    if values.contains(&Some(false)) {
        Some(false)
    } else if values.contains(&None) {
        None
    } else {
        Some(true)
    }
}

fn name(name: &str) -> Option<bool> {
    if UNDETERMINED.contains(&name) {
        return None;
    }
    match name {
        "true" => Some(true),
        "false" => Some(false),
        "unix" | "windows" => Some(env::var_os(variable(name)).is_some()),
        _ => env::var_os(variable(name)).map(|_| true),
    }
}

fn key(key: &str, value: &str) -> Option<bool> {
    if key == "feature" {
        let name = value.to_uppercase().replace('-', "_");
        return Some(env::var_os(format!("CARGO_FEATURE_{name}")).is_some());
    }
    let have = env::var(variable(key)).unwrap_or_default();
    let listed = have.split(',').any(|one| one == value);
    match key {
        // the profile decides it, after this
        "panic" => None,
        // cargo tells what `-C target-feature` sets
        "target_feature" => Some(listed),
        _ if TARGET_KEYS.contains(&key) => Some(listed),
        _ => listed.then_some(true),
    }
}

fn variable(name: &str) -> String {
    format!("CARGO_CFG_{}", name.to_uppercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_values() {
        let of = |text| of_attribute(text);
        assert_eq!(of("#[cfg(test)]"), None);
        assert_eq!(of("#[inline]"), Some(true));
        assert_eq!(of("#[cfg(any())]"), Some(false));
        assert_eq!(of("#[cfg(all())]"), Some(true));
        assert_eq!(of("#[cfg(all(test, any()))]"), Some(false));
        assert_eq!(of("#[cfg(any(test, all()))]"), Some(true));
        assert_eq!(of("#[cfg(not(test))]"), None);
        assert_eq!(of("#[ cfg ( not(any()) ) ]"), Some(true));
        assert_eq!(of("#[cfg(feature = \"no such\")]"), Some(false));
        assert_eq!(of("#[cfg(windows)]"), Some(false));
        assert_eq!(of("#[cfg(made_by_build_rs)]"), None);
    }
}
