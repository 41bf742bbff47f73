//! Which variants of a function there shall be: the environment says, else the build script, else the profile.

use crate::worker::message::Request;
use tenfold_abi::{BASELINE, FAMILIES, Level, number_of_level};
use tenfold_core::{Options, Target, Variant, variant_symbol};
use tenfold_syntax::ast::NodeId;
use tenfold_syntax::index;
use tenfold_syntax::{Code, Diagnostic};

/// The variable, under which the build script's choice stands among its settings too.
pub(crate) const VARIABLE: &str = "TENFOLD_VARIANTS";

/// Every level above the target.
const ALL: &str = "all";

/// The levels that the function is compiled for besides the target, the lowest first.
pub(super) fn levels(request: &Request, target: &Target) -> Result<Vec<Level>, Diagnostic> {
    let script = request.options.script.iter().rfind(|(variable, _)| variable == VARIABLE);
    let (from, text) = match (request.options.variants.trim(), script) {
        ("", Some((_, text))) => (format!("`variants(\"{text}\")` in the build script"), text.trim()),
        ("", None) => (String::new(), if request.options.optimised { ALL } else { BASELINE }),
        (text, _) => (format!("`{VARIABLE}={text}`"), text),
    };
    let above = target.levels();
    let names: Vec<&str> = text.split(',').map(str::trim).collect();
    match names.as_slice() {
        [ALL] => Ok(above),
        [BASELINE] => Ok(Vec::new()),
        names => {
            names.iter().try_for_each(|name| known(&from, name))?;
            Ok(above.into_iter().filter(|level| names.contains(&level.name)).collect())
        }
    }
}

/// A level that the target has already, or that another family has, is no mistake: one setting serves many targets.
fn known(from: &str, name: &str) -> Result<(), Diagnostic> {
    if name == BASELINE || number_of_level(name).is_some() {
        return Ok(());
    }
    let text = format!("{from}: there is no variant `{name}`");
    Err(Diagnostic::new(NodeId::FUNCTION, Code::Passes, text).help(format!("the variants are {}", names())))
}

fn names() -> String {
    let levels: Vec<String> = FAMILIES.iter().copied().flatten().map(|level| format!("`{}`", level.name)).collect();
    format!("`{ALL}`, or a list of `{BASELINE}`, {}", levels.join(", "))
}

/// Has code made for the levels, with constants as the widest reads them.
pub(super) fn ask(options: &mut Options, target: &Target, levels: &[Level]) {
    let of = |level: &Level| Variant { name: level.name.into(), target: target.with_level(level) };
    options.variants = levels.iter().map(of).collect();
    options.layout = options.variants.last().map(|widest| widest.target.clone());
}

/// The target of the variant of that name, of the widest if there is none.
pub(super) fn target_of(name: &str, target: &Target, levels: &[Level]) -> Result<Target, Diagnostic> {
    let level = match name {
        BASELINE => return Ok(target.clone()),
        "" => levels.last(),
        name => match levels.iter().find(|level| level.name == name) {
            Some(level) => Some(level),
            None => return Err(no_variant(name, levels)),
        },
    };
    Ok(level.map_or_else(|| target.clone(), |level| target.with_level(level)))
}

/// The target of the best variant that is no better than the one of that name, which the function may lack.
pub(super) fn at_most(name: &str, target: &Target, levels: &[Level]) -> Target {
    let most = number_of_level(name);
    let within = |level: &&Level| number_of_level(level.name) <= most;
    levels.iter().rfind(within).map_or_else(|| target.clone(), |level| target.with_level(level))
}

fn no_variant(name: &str, levels: &[Level]) -> Diagnostic {
    let there: Vec<String> =
        [BASELINE].into_iter().chain(levels.iter().map(|l| l.name)).map(|n| format!("`{n}`")).collect();
    let text = format!("the function has no variant `{name}`");
    let error = Diagnostic::new(NodeId::FUNCTION, Code::Passes, text);
    error.help(format!("it has {}; {VARIABLE} says which are compiled", there.join(", ")))
}

/// The file of a variant's object beside the baseline's.
pub(crate) fn object(baseline: &str, name: &str) -> String {
    format!("{baseline}.{name}")
}

/// What the index says of the variants, the best first; how much code they have is seen in their objects.
pub(super) fn described(request: &Request, target: &Target, levels: &[Level]) -> Vec<index::Variant> {
    let of = |level: &Level| index::Variant {
        name: level.name.into(),
        symbol: variant_symbol(&request.symbol, level.name),
        code_bytes: 0,
        features: level.features.iter().filter(|f| !target.has(f)).map(|f| f.to_string()).collect(),
    };
    levels.iter().rev().map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::worker::message;
    use tenfold_abi::X86_64_LEVELS;

    fn chosen(environment: &str, script: Option<&str>, optimised: bool) -> Result<Vec<&'static str>, Diagnostic> {
        let script = script.map(|text| (VARIABLE.to_string(), text.to_string())).into_iter().collect();
        let options =
            message::Options { variants: environment.into(), script, optimised, ..message::Options::default() };
        let request = Request { options, ..Request::default() };
        let target = Target::from_triple("x86_64-unknown-linux-gnu", &["sse2"]);
        Ok(levels(&request, &target)?.iter().map(|level| level.name).collect())
    }

    #[test]
    fn the_environment_goes_before_the_script_and_the_script_before_the_profile() {
        let all = vec!["x86-64-v2", "x86-64-v3", "x86-64-v4", "x86-64-v4-vnni", "x86-64-v4-bf16", "x86-64-v4-amx"];
        assert_eq!(chosen("", None, true), Ok(all.clone()));
        assert_eq!(chosen("", None, false), Ok(Vec::new()));
        assert_eq!(chosen("", Some("all"), false), Ok(all.clone()));
        assert_eq!(chosen("", Some("baseline"), true), Ok(Vec::new()));
        assert_eq!(chosen("all", Some("baseline"), false), Ok(all));
        assert_eq!(chosen("x86-64-v3, baseline", Some("all"), true), Ok(vec!["x86-64-v3"]));
        assert_eq!(chosen("x86-64-v4,x86-64-v2", None, false), Ok(vec!["x86-64-v2", "x86-64-v4"]));
    }

    #[test]
    fn a_wrong_name_says_where_it_stands() {
        let error = chosen("v3", None, true).unwrap_err();
        assert_eq!(error.message, "`TENFOLD_VARIANTS=v3`: there is no variant `v3`");
        let help = "the variants are `all`, or a list of `baseline`, `x86-64-v2`, `x86-64-v3`, `x86-64-v4`, \
                    `x86-64-v4-vnni`, `x86-64-v4-bf16`, `x86-64-v4-amx`, `aarch64-dotprod`, `aarch64-i8mm`";
        assert_eq!(error.help.as_deref(), Some(help));
        let error = chosen("", Some("all,x86-64-v3"), true).unwrap_err();
        assert_eq!(error.message, "`variants(\"all,x86-64-v3\")` in the build script: there is no variant `all`");
    }

    #[test]
    fn what_is_timed_is_no_better_than_the_machine() {
        let target = Target::from_triple("x86_64-unknown-linux-gnu", &["sse2"]);
        let bytes = |name: &str, levels: &[Level]| at_most(name, &target, levels).vector_bytes();
        let all = &X86_64_LEVELS;
        assert_eq!([BASELINE, "x86-64-v2", "x86-64-v3", "x86-64-v4"].map(|name| bytes(name, all)), [16, 16, 32, 64]);
        // A function without that level is timed at its next lower one.
        assert_eq!((bytes("x86-64-v4", &all[..2]), bytes("x86-64-v3", &all[2..])), (32, 16));
    }

    #[test]
    fn a_text_is_of_the_widest_variant_or_of_the_one_asked_for() {
        let target = Target::from_triple("x86_64-unknown-linux-gnu", &["sse2"]);
        let bytes = |name: &str, levels: &[Level]| target_of(name, &target, levels).map(|t| t.vector_bytes());
        assert_eq!(bytes("", &X86_64_LEVELS), Ok(64));
        assert_eq!(bytes("x86-64-v3", &X86_64_LEVELS), Ok(32));
        assert_eq!(bytes("baseline", &X86_64_LEVELS), Ok(16));
        assert_eq!(bytes("", &[]), Ok(16));
        let error = bytes("x86-64-v3", &X86_64_LEVELS[..1]).unwrap_err();
        assert_eq!(error.message, "the function has no variant `x86-64-v3`");
    }
}
