//! Protocol buffers, as much as a model needs.

/// A message in the making: fields, one behind the other.
#[derive(Clone, Debug, Default)]
pub struct Message(Vec<u8>);

impl Message {
    /// Seven bits a byte, the lowest first; the eighth says that more follow.
    fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.0.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.0.push(value as u8);
    }

    /// A field that is an integer.
    pub fn int(&mut self, field: u64, value: i64) -> &mut Self {
        self.varint(field << 3);
        self.varint(value.cast_unsigned());
        self
    }

    /// A field that is a float.
    pub fn float(&mut self, field: u64, value: f32) -> &mut Self {
        self.varint(field << 3 | 5);
        self.0.extend(value.to_le_bytes());
        self
    }

    /// A field that is bytes.
    pub fn bytes(&mut self, field: u64, bytes: &[u8]) -> &mut Self {
        self.varint(field << 3 | 2);
        self.varint(bytes.len() as u64);
        self.0.extend(bytes);
        self
    }

    /// A field that is a text.
    pub fn text(&mut self, field: u64, text: &str) -> &mut Self {
        self.bytes(field, text.as_bytes())
    }

    /// A field that is a message.
    pub fn message(&mut self, field: u64, message: &Message) -> &mut Self {
        self.bytes(field, &message.0)
    }

    /// All fields.
    pub fn into_bytes(self) -> Vec<u8> {
        self.0
    }
}
