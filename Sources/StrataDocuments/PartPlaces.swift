/// The places of the parts of a selection in the JSON text of an object, for conditions that look at the bytes of a value.
///
/// One is used for one text after another, so that nothing is allocated for a text.
package struct PartPlaces: Sendable {
  private let selection: DocumentSelection
  private let partCount: Int
  /// The value of each node of the selection; nil if the text has none.
  private var values: [JSONToken?]
  /// Whether the last reading found all parts, or found that they are missing.
  package private(set) var isRead = false

  package init(_ selection: DocumentSelection) {
    self.selection = selection
    partCount = selection.nodes.count { $0.isWhole }
    values = Array(repeating: nil, count: selection.nodes.count)
  }

  /// The number of the part at a path, or nil if the selection has it only as a part of something else.
  package func number(of path: DocumentPath) -> Int? {
    var node = 0
    for component in path.components {
      guard case .member(let name) = component,
        let member = selection.nodes[node].members.first(where: { $0.utf8.elementsEqual(name.utf8) })
      else { return nil }
      node = member.node
    }
    return selection.nodes[node].isWhole ? node : nil
  }

  /// The value of a part in the text that was read last; nil if it is not there.
  @inline(__always)
  package subscript(part: Int) -> JSONToken? { values[part] }

  /// Searches for the parts in a text. Returns false if only a parser can tell: the text is not JSON, a part is in a list, or a name occurs
  /// twice or has an escape or characters beyond ASCII.
  ///
  /// - Parameter isWhole: Whether the whole text is read and checked. If not, the scan ends behind the last part, and skips other values
  ///   without a check.
  package mutating func read(_ text: UnsafeRawBufferPointer, isWhole: Bool) -> Bool {
    for index in values.indices { values[index] = nil }
    isRead = false
    var scanner = JSONScanner(text.bindMemory(to: UInt8.self))
    scanner.skipSpace()
    guard scanner.at < text.count, text[scanner.at] == UInt8(ascii: "{") else { return false }
    var missing = isWhole || partCount == 0 ? nil : partCount
    let isObject = values.withUnsafeMutableBufferPointer { values in
      scanner.readObject(0, of: selection, into: values, &missing)
    }
    isRead = isObject && (missing == 0 || scanner.isAtEnd())
    return isRead
  }
}

extension JSONScanner {
  /// Reads an object whose bracket is next. Returns false if it cannot tell; ends early once no part is missing.
  ///
  /// - Parameter missing: The number of parts that were not found yet; nil if all of the text is to be read and checked.
  fileprivate mutating func readObject(
    _ node: Int, of selection: borrowing DocumentSelection, into values: UnsafeMutableBufferPointer<JSONToken?>,
    _ missing: inout Int?
  ) -> Bool {
    let isRead = skipParts(until: UInt8(ascii: "}")) { scanner in
      guard let name = scanner.skipName(), name.isPlain else { return false }
      scanner.skipSpace()
      let start = scanner.at
      let text = UnsafeBufferPointer(rebasing: scanner.bytes[name.range])
      guard let part = selection.nodes[node].part(named: text) else {
        return missing == nil ? scanner.skipValue() : scanner.skipUnchecked()
      }
      guard start < scanner.bytes.count, values[part] == nil, var token = scanner.token(at: start) else { return false }
      if selection.nodes[part].isWhole {
        guard let isPlain = scanner.skipTelling() else { return false }
        let quote = token.kind == .text ? 1 : 0
        (token.start, token.end, token.isPlain) = (UInt32(start + quote), UInt32(scanner.at - quote), isPlain)
        values[part] = token
        missing? &-= 1
        return missing != 0
      }
      values[part] = token
      switch token.kind {
      case .list: return false
      case .object: return scanner.readObject(part, of: selection, into: values, &missing) && missing != 0
      default: return scanner.skipValue()
      }
    }
    return isRead || missing == 0
  }

  private func token(at start: Int) -> JSONToken? {
    let kind: JSONToken.Kind =
      switch bytes[start] {
      case UInt8(ascii: "{"): .object
      case UInt8(ascii: "["): .list
      case UInt8(ascii: "\""): .text
      case UInt8(ascii: "t"): .yes
      case UInt8(ascii: "f"): .no
      case UInt8(ascii: "n"): .null
      default: .number
      }
    return JSONToken(start: 0, end: 0, kind: kind)
  }
}

extension DocumentSelection.Node {
  /// The node of a member, or nil if nothing of it is selected.
  fileprivate func part(named name: UnsafeBufferPointer<UInt8>) -> Int? {
    for member in members where member.utf8.count == name.count {
      var index = 0
      while index < name.count, member.utf8[index] == name[index] { index &+= 1 }
      if index == name.count { return member.node }
    }
    return nil
  }
}
