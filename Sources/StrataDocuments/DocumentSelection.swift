/// The parts of a document at some paths, for reading them from a record's bytes without making a document of the rest.
///
/// At these paths, also through lists of objects, the result equals the whole document; at other paths anything may be missing. So a reader
/// of these paths alone (a filter, the rule of an index, a column) gets the same from both.
package struct DocumentSelection: Hashable, Sendable {
  /// The needed parts of the value at a place; the first node is the whole document.
  struct Node: Hashable, Sendable {
    var isWhole = false
    /// The needed members of an object, or of the objects in a list.
    var members: [Member] = []
    var hasOnlyASCIINames = true
  }

  struct Member: Hashable, Sendable {
    var name: String
    var utf8: [UInt8]
    var node: Int
  }

  var nodes = [Node()]

  package init(_ paths: [DocumentPath]) {
    for path in paths { insert(path) }
  }

  /// The whole document.
  package static let all = DocumentSelection([.root])

  private mutating func insert(_ path: DocumentPath) {
    var node = 0
    for component in path.components {
      // If one element of a list is needed, all are read: its elements must keep their places.
      guard !nodes[node].isWhole, case .member(let name) = component else { break }
      node = child(name, of: node)
    }
    nodes[node].isWhole = true
  }

  private mutating func child(_ name: String, of node: Int) -> Int {
    let utf8 = Array(name.utf8)
    if let known = nodes[node].members.first(where: { $0.utf8 == utf8 }) { return known.node }
    nodes.append(Node())
    nodes[node].members.append(Member(name: name, utf8: utf8, node: nodes.count - 1))
    if utf8.contains(where: { $0 >= 0x80 }) { nodes[node].hasOnlyASCIINames = false }
    return nodes.count - 1
  }

  /// The selected parts of a JSON text. Throws exactly if the whole text cannot be parsed. One pass.
  package func document(ofJSON bytes: UnsafeRawBufferPointer) throws(JSONError) -> Document {
    if !nodes[0].isWhole {
      var scanner = JSONScanner(bytes.bindMemory(to: UInt8.self))
      if let document = scanner.document(0, of: self), scanner.isAtEnd() { return document }
    }
    return try JSONParser.parse(bytes)
  }

  /// The selected parts of a JSON text that is exactly as `JSONWriter` would write its document compactly, so that the text can be stored
  /// instead. Returns nil for any other text, and if that needs a closer look. One pass, and another over the parts.
  package func document(ofCompactJSON bytes: UnsafeRawBufferPointer) -> Document? {
    var scanner = JSONScanner(bytes.bindMemory(to: UInt8.self))
    scanner.isCompactWanted = true
    guard let document = scanner.document(0, of: self), scanner.isAtEnd(), scanner.isCompact else { return nil }
    return document
  }
}

extension RecordCoding {
  /// The selected parts of a record's bytes; the whole document for codings other than JSON. Throws as `document(of:)` does.
  package func document(
    of bytes: UnsafeRawBufferPointer, at selection: DocumentSelection
  ) throws(DocumentError) -> Document {
    guard self == .json else { return try document(of: Array(bytes)) }
    do { return try selection.document(ofJSON: bytes) } catch { throw .unreadable(what: "JSON", where: "\(error)") }
  }

  /// Whether a record's bytes are exactly what `JSONWriter` makes of their document compactly, so that they can be copied instead. Also
  /// false if that needs a closer look. One pass over the bytes.
  package func isCompactJSON(_ bytes: UnsafeRawBufferPointer) -> Bool {
    guard self == .json else { return false }
    var scanner = JSONScanner(bytes.bindMemory(to: UInt8.self))
    return scanner.skipValue() && scanner.isAtEnd() && scanner.isCompact
  }
}

extension JSONScanner {
  /// The parts of the value that begins here that a node of a selection needs; nil if the scanner cannot decide.
  fileprivate mutating func document(_ node: Int, of selection: DocumentSelection) -> Document? {
    guard !selection.nodes[node].isWhole else { return document() }
    skipSpace()
    guard at < bytes.count else { return nil }
    return switch bytes[at] {
    case UInt8(ascii: "{"): object(node, of: selection)
    case UInt8(ascii: "["): list(node, of: selection)
    default: document()
    }
  }

  private mutating func object(_ node: Int, of selection: DocumentSelection) -> Document? {
    var members: [Document.Member] = []
    let isRead = skipParts(until: UInt8(ascii: "}")) { scanner in
      guard let name = scanner.skipName() else { return false }
      guard let (text, wanted) = scanner.member(name, of: node, selection) else { return scanner.skipValue() }
      guard let value = wanted.map({ scanner.document($0, of: selection) }) ?? scanner.document() else { return false }
      members.append(Document.Member(text, value))
      return true
    }
    return isRead ? .object(members) : nil
  }

  private mutating func list(_ node: Int, of selection: DocumentSelection) -> Document? {
    var elements: [Document] = []
    let isRead = skipParts(until: UInt8(ascii: "]")) { scanner in
      guard let element = scanner.document(node, of: selection) else { return false }
      elements.append(element)
      return true
    }
    return isRead ? .array(elements) : nil
  }

  /// The name of a needed member and its node, which is nil if all of it is needed; nil if the member is not needed.
  private func member(
    _ name: (range: Range<Int>, isPlain: Bool), of node: Int, _ selection: DocumentSelection
  ) -> (text: String, node: Int?)? {
    let members = selection.nodes[node].members
    if name.isPlain, selection.nodes[node].hasOnlyASCIINames {
      let utf8 = UnsafeBufferPointer(rebasing: bytes[name.range])
      for member in members where member.utf8.count == utf8.count && member.utf8.elementsEqual(utf8) {
        return (member.name, member.node)
      }
      return nil
    }
    // As a document finds names: by their characters, however they are written or composed.
    var parser = Self(bytes, at: name.range.lowerBound - 1)
    guard let text = try? parser.string() else { return ("", nil) }
    let wanted = members.filter { $0.name == text }
    return wanted.isEmpty ? nil : (text, wanted.count == 1 ? wanted[0].node : nil)
  }
}
