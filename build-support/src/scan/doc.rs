//! Rust blocks of doc comments, which rustdoc compiles as programs of their own.

/// A fenced block that rustdoc would compile.
#[derive(Debug, PartialEq)]
pub(crate) struct Block {
    /// The line of the comment on which it begins, counted from 0.
    pub(crate) line: usize,
    /// The program, hidden lines included.
    pub(crate) text: String,
}

/// The text of a `///` or `//!` line, or of the lines of a block comment.
pub(crate) fn lines(comment: &str) -> Vec<&str> {
    if comment.starts_with("//") {
        return vec![&comment[3..]];
    }
    let inner = comment.get(3..).unwrap_or("").trim_end_matches("*/");
    inner
        .lines()
        .map(|line| {
            let trimmed = line.trim_start();
            trimmed.strip_prefix('*').unwrap_or(line)
        })
        .collect()
}

/// The blocks that hold a tensor function.
pub(crate) fn blocks(lines: &[&str]) -> Vec<Block> {
    let mut out = Vec::new();
    let mut open: Option<(String, Option<Block>)> = None;
    for (number, line) in lines.iter().enumerate() {
        let line = line.strip_prefix(' ').unwrap_or(line);
        let trimmed = line.trim_start();
        match &mut open {
            None => {
                if let Some((fence, info)) = fence(trimmed) {
                    let block = is_rust(info).then(|| Block { line: number, text: String::new() });
                    open = Some((fence.into(), block));
                }
            }
            Some((fence, _)) if closes(trimmed, fence) => {
                let block = open.take().and_then(|(_, block)| block);
                out.extend(block.filter(|block| block.text.contains("tensor_fn")));
            }
            Some((_, None)) => {}
            Some((_, Some(block))) => {
                block.text += visible(line);
                block.text.push('\n');
            }
        }
    }
    out
}

/// The fence and what stands behind it.
fn fence(line: &str) -> Option<(&str, &str)> {
    let mark = line.chars().next().filter(|c| matches!(c, '`' | '~'))?;
    let rest = line.trim_start_matches(mark);
    let fence = &line[..line.len() - rest.len()];
    (fence.len() >= 3).then_some((fence, rest))
}

fn closes(line: &str, fence: &str) -> bool {
    line.strip_prefix(fence).is_some_and(|rest| rest.chars().all(|c| c.is_whitespace() || fence.starts_with(c)))
}

fn is_rust(info: &str) -> bool {
    info.split([',', ' ']).map(str::trim).filter(|tag| !tag.is_empty()).all(|tag| {
        matches!(tag, "rust" | "no_run" | "should_panic" | "standalone_crate")
            || tag.starts_with("edition")
            || tag.starts_with("ignore-")
    })
}

/// A line without the mark that hides it; `#[…]` is no such mark.
fn visible(line: &str) -> &str {
    let trimmed = line.trim_start();
    if trimmed == "#" {
        return "";
    }
    if let Some(rest) = trimmed.strip_prefix("##") {
        return &trimmed[trimmed.len() - rest.len() - 1..];
    }
    trimmed.strip_prefix("# ").unwrap_or(line)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Vec<String> {
        let lines: Vec<_> = text.lines().collect();
        blocks(&lines).into_iter().map(|block| block.text).collect()
    }

    #[test]
    fn blocks_of_rust() {
        let text = "x\n```\n# use a;\n#[tensor_fn]\n```\n```text\n#[tensor_fn]\n```\n~~~rust,no_run\ntensor_fn\n~~~";
        assert_eq!(of(text), ["use a;\n#[tensor_fn]\n", "tensor_fn\n"]);
        assert!(of("```ignore\ntensor_fn\n```").is_empty());
        assert!(of("```\ntensor_fn").is_empty());
    }

    #[test]
    fn comments() {
        assert_eq!(lines("/// a"), [" a"]);
        assert_eq!(lines("/** a\n * b\n */"), [" a", " b", " "]);
    }
}
