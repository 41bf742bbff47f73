//! Which files a model keeps data in, found without reading any tensor.

use std::collections::BTreeSet;

use crate::proto::DEEPEST;
use crate::wire::{Reader, Result};

/// Fields of messages that lead to tensors, by the message that they are in.
#[derive(Clone, Copy)]
enum Message {
    Model,
    Graph,
    Node,
    Attribute,
    Function,
    Tensor,
}

fn inside(message: Message, field: u32) -> Option<Message> {
    match (message, field) {
        (Message::Model, 7) | (Message::Attribute, 6 | 11) => Some(Message::Graph),
        (Message::Model, 25) => Some(Message::Function),
        (Message::Graph, 1) | (Message::Function, 7) => Some(Message::Node),
        (Message::Graph, 5) | (Message::Attribute, 5 | 10) => Some(Message::Tensor),
        (Message::Node, 5) | (Message::Function, 11) => Some(Message::Attribute),
        _ => None,
    }
}

/// The locations of external data, each once, in the order of their names.
pub(crate) fn locations(bytes: &[u8]) -> Result<BTreeSet<&str>> {
    let mut out = BTreeSet::new();
    walk(bytes, Message::Model, 0, &mut out)?;
    Ok(out)
}

fn walk<'a>(bytes: &'a [u8], message: Message, depth: usize, out: &mut BTreeSet<&'a str>) -> Result<()> {
    let mut reader = Reader::new(bytes);
    while let Some((number, field)) = reader.next()? {
        match (inside(message, number), message) {
            // A graph in a graph takes three messages.
            (Some(inner), _) if depth < 4 * DEEPEST => walk(field.bytes()?, inner, depth + 1, out)?,
            (None, Message::Tensor) if number == 13 => out.extend(location(field.bytes()?)?),
            (Some(_) | None, _) => {}
        }
    }
    Ok(())
}

/// The value of an entry `location`.
fn location(entry: &[u8]) -> Result<Option<&str>> {
    let (mut key, mut value) = ("", "");
    let mut reader = Reader::new(entry);
    while let Some((number, field)) = reader.next()? {
        match number {
            1 => key = field.text()?,
            2 => value = field.text()?,
            _ => {}
        }
    }
    Ok((key == "location").then_some(value))
}
