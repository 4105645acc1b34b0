/// Writes an edited document over its old text, so that only the changes have other bytes.
///
/// Equal values keep their bytes; members and elements that are added or removed follow the spacing of the existing ones. If the members of
/// an object keep their names and order, the text between them stays too.
struct JSONRewriter {
  private let original: [UInt8]
  private var bytes: [UInt8] = []

  /// The new text; nil if the old one is not JSON.
  static func bytes(of document: Document, keeping original: [UInt8]) -> [UInt8]? {
    guard let (old, place) = original.withUnsafeBytes({ try? JSONParser.locate($0) }) else { return nil }
    var rewriter = Self(original: original)
    rewriter.bytes += original[..<place.lowerBound]
    rewriter.append(document, over: old, at: place)
    rewriter.bytes += original[place.upperBound...]
    return rewriter.bytes
  }

  private init(original: [UInt8]) { self.original = original }

  private mutating func append(_ new: Document, over old: Document, at place: Range<Int>) {
    if new.isWritten(like: old) { return bytes += original[place] }
    switch (old, new) {
    case (.object(let old), .object(let new)) where !old.isEmpty && !new.isEmpty: append(new, over: old, at: place)
    case (.array(let old), .array(let new)) where !old.isEmpty && !new.isEmpty: append(new, over: old, at: place)
    default: bytes += new.json(.compact)
    }
  }

  private mutating func append(_ new: [Document.Member], over old: [Document.Member], at place: Range<Int>) {
    let parts = parts(of: place)
    var places: [[UInt8]: [Int]] = [:]
    for (index, member) in old.enumerated().reversed() { places[Array(member.name.utf8), default: []].append(index) }
    // A name that occurs twice is two members, each in its place.
    let sources = new.map { places[Array($0.name.utf8)]?.popLast() }
    appendParts(parts, in: place, sources: sources) { rewriter, position, source in
      guard let source else {
        let first = parts[0]
        rewriter.bytes += Document.string(new[position].name).json(.compact)
        rewriter.bytes += rewriter.original[first.nameEnd..<first.value.lowerBound]
        return rewriter.bytes += new[position].value.json(.compact)
      }
      let part = parts[source]
      rewriter.bytes += rewriter.original[part.start..<part.value.lowerBound]
      rewriter.append(new[position].value, over: old[source].value, at: part.value)
    }
  }

  private mutating func append(_ new: [Document], over old: [Document], at place: Range<Int>) {
    let parts = parts(of: place)
    let shorter = min(old.count, new.count)
    let start = (0..<shorter).first { !old[$0].isWritten(like: new[$0]) } ?? shorter
    let tail =
      (0..<(shorter - start)).first { !old[old.count - 1 - $0].isWritten(like: new[new.count - 1 - $0]) }
      ?? shorter - start
    let sources = new.indices.map { index -> Int? in
      if index >= new.count - tail { return index - new.count + old.count }
      return index < old.count - tail ? index : nil
    }
    appendParts(parts, in: place, sources: sources) { rewriter, position, source in
      guard let source else { return rewriter.bytes += new[position].json(.compact) }
      rewriter.append(new[position], over: old[source], at: parts[source].value)
    }
  }

  /// Appends the parts of a list or an object with the text between them. `sources` gives for each new part the old one that it replaces.
  private mutating func appendParts(
    _ parts: [JSONParser.Part], in place: Range<Int>, sources: [Int?],
    _ body: (inout Self, _ position: Int, _ source: Int?) -> Void
  ) {
    let opening = original[place.lowerBound..<parts[0].start]
    let closing = original[parts[parts.count - 1].value.upperBound..<place.upperBound]
    let separator =
      parts.count > 1
      ? original[parts[0].value.upperBound..<parts[1].start] : [UInt8(ascii: ",")] + opening.dropFirst()
    bytes += opening
    for (position, source) in sources.enumerated() {
      if position > 0 {
        // Parts that were neighbours before keep the text between them.
        if let source, source > 0, sources[position - 1] == source - 1 {
          bytes += original[parts[source - 1].value.upperBound..<parts[source].start]
        } else {
          bytes += separator
        }
      }
      body(&self, position, source)
    }
    bytes += closing
  }

  private func parts(of place: Range<Int>) -> [JSONParser.Part] {
    original.withUnsafeBytes { JSONParser.parts(in: $0, at: place.lowerBound) }
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
