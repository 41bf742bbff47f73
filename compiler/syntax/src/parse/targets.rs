//! `targets(…)`: what a function is compiled for.

use tenfold_abi::{DEVICE_TARGETS, DeviceTarget};

use super::cx::Cx;
use crate::ast::{Attributes, CPU, Text};
use crate::code::Code;

const EXAMPLE: &str = "write `targets(\"cpu\", \"spirv\")`";

impl Cx {
    pub(super) fn targets(&mut self, c: &syn::ExprCall, attributes: &mut Attributes) {
        if c.args.is_empty() {
            return self.unknown_argument(super::cx::ends(c), &c.func);
        }
        for e in &c.args {
            let Some(text) = self.text_value(e, Code::AttributeArgument, EXAMPLE) else { continue };
            let Some(target) = self.known_target(text) else { continue };
            if attributes.targets.iter().any(|known| known.value == target.value) {
                let known = DeviceTarget::from_text(&target.value);
                self.twice(target.node, known.map_or(CPU, |device| device.key));
            } else {
                attributes.targets.push(target);
            }
        }
    }

    /// The target under its kept name, whatever was written for it.
    fn known_target(&mut self, text: Text) -> Option<Text> {
        if text.value.trim() == CPU {
            return Some(Text { value: CPU.into(), ..text });
        }
        if let Some(device) = DeviceTarget::from_text(&text.value) {
            return Some(Text { value: device.name.into(), ..text });
        }
        let words: Vec<&str> = text.value.split_whitespace().collect();
        let message = format!("`{}` is not a target of a function", words.join(" ").escape_default());
        self.refuse(text.node, Code::AttributeArgument, message, help(&text.value));
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

/// What to write instead: the chips for a text that means a GPU of NVIDIA's, else every target.
fn help(written: &str) -> String {
    let nvidia = ["nvptx", "cuda", "sm_"].iter().any(|part| written.contains(part));
    let devices = DEVICE_TARGETS.iter().filter(|device| !nvidia || device.key.starts_with("nvptx"));
    let shown = |device: &DeviceTarget| format!("`\"{}\"`, {}", device.key, device.about);
    let mut all: Vec<String> = devices.map(shown).collect();
    if !nvidia {
        all.insert(0, format!("`\"{CPU}\"`, the processor that cargo builds for"));
    }
    format!("the {} are {}", if nvidia { "chips" } else { "targets" }, all.join("; "))
}
