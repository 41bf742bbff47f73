//! `targets(…)`: what a function is compiled for.

use super::cx::Cx;
use crate::ast::{Attributes, CPU, Text};
use crate::code::Code;

const EXAMPLE: &str = "write `targets(\"cpu\", \"spirv\")`";

/// What a target can be: its name as it is kept, and what may be written for it.
const TARGETS: &[(&str, &[&str])] = &[(CPU, &[CPU]), ("spirv -vulkan=1.1", &["spirv", "spirv -vulkan=1.1"])];

/// The first words of targets that are part of the language and have no back end yet.
const LATER: &[&str] = &["nvptx", "cuda"];

impl Cx {
    pub(super) fn targets(&mut self, c: &syn::ExprCall, attributes: &mut Attributes) {
        if c.args.is_empty() {
            return self.unknown_argument(super::cx::ends(c), &c.func);
        }
        for e in &c.args {
            let Some(text) = self.text_value(e, Code::AttributeArgument, EXAMPLE) else { continue };
            let Some(target) = self.known_target(text) else { continue };
            if attributes.targets.iter().any(|known| known.value == target.value) {
                let name = target.value.split(' ').next().unwrap_or_default();
                self.twice(target.node, name);
            } else {
                attributes.targets.push(target);
            }
        }
    }

    /// The target under its kept name, whatever was written for it.
    fn known_target(&mut self, text: Text) -> Option<Text> {
        let words: Vec<&str> = text.value.split_whitespace().collect();
        let written = words.join(" ");
        let found = TARGETS.iter().find(|(_, texts)| texts.contains(&written.as_str()));
        if let Some((name, _)) = found {
            return Some(Text { value: (*name).into(), ..text });
        }
        let shown = written.escape_default();
        if words.first().is_some_and(|first| LATER.contains(first)) {
            let message = format!("the target `{shown}` is not compiled yet: there is no back end for it");
            let help = "GPUs are reached through Vulkan: write `\"spirv\"`";
            self.refuse(text.node, Code::NotCompiled, message, help);
            return None;
        }
        let message = format!("`{shown}` is not a target of a function");
        let help = "the targets are `\"cpu\"`, the processor that cargo builds for, and `\"spirv\"` or `\"spirv -vulkan=1.1\"`, GPUs through Vulkan";
        self.refuse(text.node, Code::AttributeArgument, message, help);
        None
    }

    /// That the processor is among the targets: whatever runs on a device can run there as well.
    pub(super) fn check_targets(&mut self, targets: &[Text]) {
        if let Some(first) = targets.first().filter(|_| targets.iter().all(|target| target.value != CPU)) {
            let message = "`targets(…)` lacks `\"cpu\"`";
            let help = format!("every function has code for the processor that calls it: {EXAMPLE}");
            self.refuse(first.node, Code::AttributeArgument, message, help);
        }
    }
}
