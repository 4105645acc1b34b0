/// Writes an edited document over its old text, so that only the changes have other bytes.
///
/// Equal values keep their bytes; members and elements that are added or removed follow the spacing of the existing ones. If the members of
/// an object keep their names and order, the text between them stays too.
struct JSONRewriter {
  private let original: [UInt8]
  private var bytes: [UInt8] = []

  /// The new text; nil if the old one is not JSON.
  static func bytes(of document: Document, keeping original: [UInt8]) -> [UInt8]? {
    guard let old = try? JSONParser.parse(original) else { return nil }
    var outline = JSONOutline(original)
    let node = outline.value()
    var rewriter = Self(original: original)
    rewriter.bytes += original[..<node.range.lowerBound]
    rewriter.append(document, over: old, at: node)
    rewriter.bytes += original[node.range.upperBound...]
    return rewriter.bytes
  }

  private init(original: [UInt8]) { self.original = original }

  private mutating func append(_ new: Document, over old: Document, at node: JSONOutline.Node) {
    if new.isWritten(like: old) { return bytes += original[node.range] }
    switch (old, new) {
    case (.object(let old), .object(let new)) where !old.isEmpty && !new.isEmpty: append(new, over: old, at: node)
    case (.array(let old), .array(let new)) where !old.isEmpty && !new.isEmpty: append(new, over: old, at: node)
    default: bytes += new.json(.compact)
    }
  }

  private mutating func append(
    _ new: [Document.Member], over old: [Document.Member], at node: JSONOutline.Node
  ) {
    var places: [[UInt8]: [Int]] = [:]
    for (index, member) in old.enumerated().reversed() { places[Array(member.name.utf8), default: []].append(index) }
    // A name that occurs twice is two members, each in its place.
    let sources = new.map { places[Array($0.name.utf8)]?.popLast() }
    appendParts(of: node, sources: sources) { rewriter, position, source in
      guard let source else {
        let first = node.parts[0]
        rewriter.bytes += Document.string(new[position].name).json(.compact)
        rewriter.bytes += rewriter.original[first.nameEnd..<first.value.range.lowerBound]
        return rewriter.bytes += new[position].value.json(.compact)
      }
      let part = node.parts[source]
      rewriter.bytes += rewriter.original[part.start..<part.value.range.lowerBound]
      rewriter.append(new[position].value, over: old[source].value, at: part.value)
    }
  }

  private mutating func append(_ new: [Document], over old: [Document], at node: JSONOutline.Node) {
    let shorter = min(old.count, new.count)
    let start = (0..<shorter).first { !old[$0].isWritten(like: new[$0]) } ?? shorter
    let tail =
      (0..<(shorter - start)).first { !old[old.count - 1 - $0].isWritten(like: new[new.count - 1 - $0]) }
      ?? shorter - start
    let sources = new.indices.map { index -> Int? in
      if index >= new.count - tail { return index - new.count + old.count }
      return index < old.count - tail ? index : nil
    }
    appendParts(of: node, sources: sources) { rewriter, position, source in
      guard let source else { return rewriter.bytes += new[position].json(.compact) }
      rewriter.append(new[position], over: old[source], at: node.parts[source].value)
    }
  }

  /// Appends the parts of a list or an object with the text between them. `sources` gives for each new part the old one that it replaces.
  private mutating func appendParts(
    of node: JSONOutline.Node, sources: [Int?], _ body: (inout Self, _ position: Int, _ source: Int?) -> Void
  ) {
    let parts = node.parts
    let opening = original[node.range.lowerBound..<parts[0].start]
    let closing = original[parts[parts.count - 1].value.range.upperBound..<node.range.upperBound]
    let separator =
      parts.count > 1
      ? original[parts[0].value.range.upperBound..<parts[1].start] : [UInt8(ascii: ",")] + opening.dropFirst()
    bytes += opening
    for (position, source) in sources.enumerated() {
      if position > 0 {
        // Parts that were neighbours before keep the text between them.
        if let source, source > 0, sources[position - 1] == source - 1 {
          bytes += original[parts[source - 1].value.range.upperBound..<parts[source].start]
        } else {
          bytes += separator
        }
      }
      body(&self, position, source)
    }
    bytes += closing
  }
}

extension Document {
  /// Whether two documents have the same text except for spacing and escapes: unlike `==`, digits and order count.
  fileprivate func isWritten(like other: Document) -> Bool {
    switch (self, other) {
    case (.number(let left), .number(let right)): left.text == right.text
    case (.array(let left), .array(let right)):
      left.count == right.count && zip(left, right).allSatisfy { $0.isWritten(like: $1) }
    case (.object(let left), .object(let right)):
      left.count == right.count
        && zip(left, right).allSatisfy { $0.name.isSameText(as: $1.name) && $0.value.isWritten(like: $1.value) }
    default: self == other
    }
  }
}

/// The places of the values of a JSON text. The text must have been parsed before: nothing is checked again.
struct JSONOutline {
  struct Node {
    var range: Range<Int>
    /// Members or elements.
    var parts: [Part] = []
  }

  struct Part {
    /// The start of the name, or of the element.
    var start: Int
    /// The end of the name; for an element its start.
    var nameEnd: Int
    var value: Node
  }

  private let bytes: [UInt8]
  private var at: Int

  init(_ bytes: [UInt8]) {
    self.bytes = bytes
    at = bytes.starts(with: [0xEF, 0xBB, 0xBF]) ? 3 : 0
  }

  mutating func value() -> Node {
    skipSpace()
    let start = at
    switch current {
    case UInt8(ascii: "{"), UInt8(ascii: "["):
      let parts = parts(named: current == UInt8(ascii: "{"))
      return Node(range: start..<at, parts: parts)
    case UInt8(ascii: "\""): skipString()
    default: while at < bytes.count, !Self.endsScalar(bytes[at]) { at += 1 }
    }
    return Node(range: start..<at)
  }

  private mutating func parts(named: Bool) -> [Part] {
    at += 1
    var parts: [Part] = []
    skipSpace()
    while at < bytes.count, current != UInt8(ascii: "}"), current != UInt8(ascii: "]") {
      let start = at
      if named {
        skipString()
        let nameEnd = at
        skipSpace()
        at += 1
        parts.append(Part(start: start, nameEnd: nameEnd, value: value()))
      } else {
        parts.append(Part(start: start, nameEnd: start, value: value()))
      }
      skipSpace()
      if current == UInt8(ascii: ",") { at += 1 }
      skipSpace()
    }
    at = min(at + 1, bytes.count)
    return parts
  }

  private var current: UInt8 { at < bytes.count ? bytes[at] : 0 }

  private mutating func skipSpace() {
    while at < bytes.count, bytes[at] <= 0x20 { at += 1 }
  }

  private mutating func skipString() {
    at += 1
    while at < bytes.count, bytes[at] != UInt8(ascii: "\"") { at += bytes[at] == UInt8(ascii: "\\") ? 2 : 1 }
    at = min(at + 1, bytes.count)
  }

  private static func endsScalar(_ byte: UInt8) -> Bool {
    byte <= 0x20 || byte == UInt8(ascii: ",") || byte == UInt8(ascii: "}") || byte == UInt8(ascii: "]")
  }
}
