import StrataDocuments

/// The text of a writing, and its tokens: with these the value can be decoded again without reading the text.
struct JSONWrittenText: ~Copyable {
  var bytes = JSONOutput()
  var tape = JSONTape()
  /// Whether the tokens are those of the whole text. Elements that are sorted by their texts have none.
  var hasTokens = true

  mutating func clear() {
    bytes.clear()
    tape.clear()
    hasTokens = true
  }

  /// Adds the token of a value that begins at the end of the text. Returns its index.
  @inline(__always)
  fileprivate mutating func add(_ kind: JSONToken.Kind, count: Int = 0, isPlain: Bool = false) -> Int {
    let index = tape.count
    tape.append(
      JSONToken(
        start: UInt32(truncatingIfNeeded: bytes.count), end: 0, next: UInt32(truncatingIfNeeded: index &+ 1),
        count: UInt32(truncatingIfNeeded: count), cursor: 0, kind: kind,
        isPlain: isPlain))
    return index
  }

  /// Ends the content of a text, a name or a number.
  @inline(__always)
  fileprivate mutating func end(_ token: Int, quotes: Int) {
    // The compiler of Swift 6.3 fails to follow an access through the tape for the thread sanitizer.
    let tokens = tape.tokens
    tokens[token].start &+= UInt32(truncatingIfNeeded: quotes)
    tokens[token].end = UInt32(truncatingIfNeeded: bytes.count &- quotes)
  }

  @inline(__always)
  fileprivate mutating func end(_ token: Int, count: Int) {
    let tokens = tape.tokens
    tokens[token].end = UInt32(truncatingIfNeeded: bytes.count)
    tokens[token].next = UInt32(truncatingIfNeeded: tape.count)
    tokens[token].count = UInt32(truncatingIfNeeded: count)
  }
}

/// The texts, and the lists of texts, that a value was encoded from. If the value is decoded again, they are used instead of new ones.
struct JSONKeptTexts {
  private(set) var texts: [String] = []
  private(set) var lists: [[String]] = []

  /// Keeps a text. Returns its number, counted from 1.
  mutating func keep(_ text: String) -> Int {
    texts.append(text)
    return texts.count
  }

  /// Keeps a list of texts. Returns its number, counted from 1.
  mutating func keep(_ list: [String]) -> Int {
    lists.append(list)
    return lists.count
  }

  mutating func removeAll() {
    texts.removeAll(keepingCapacity: texts.capacity <= 1 << 13)
    lists.removeAll(keepingCapacity: lists.capacity <= 1 << 13)
  }
}

extension JSONWriting.Context {
  borrowing func write(entry: Int, to output: inout JSONWrittenText) {
    let kept = entries[entry].kept
    switch entries[entry].content {
    case .nothing:
      let token = output.add(.object, isPlain: true)
      output.bytes.append(UInt8(ascii: "{"))
      output.bytes.append(UInt8(ascii: "}"))
      output.end(token, count: 0)
    case .text:
      let text = bytes(entries[entry].text)
      let kind = Self.kind(ofValueBeginningWith: text[0])
      let token = output.add(kind, count: kind == .text ? kept : 0)
      output.bytes.append(text)
      output.end(token, quotes: kind == .text ? 1 : 0)
    case .container(let index):
      let container = containers[index]
      let token = output.add(container.isObject ? .object : .list, isPlain: true)
      output.bytes.append(container.isObject ? UInt8(ascii: "{") : UInt8(ascii: "["))
      var count = container.count
      if container.isObject {
        count = writeMembers(of: container, token, to: &output)
        output.tape.tokens[token].cursor = UInt32(truncatingIfNeeded: token &+ 1)
      } else if container.unorderedStep > 0 {
        writeUnordered(container, to: &output)
      } else {
        var at = container.first
        while at >= 0 {
          if at != container.first { output.bytes.append(UInt8(ascii: ",")) }
          write(entry: at, to: &output)
          at = entries[at].next
        }
        // More elements may have been added to the list later.
        if kept > 0, self.kept.lists[kept - 1].count == count {
          output.tape.tokens[token].isPlain = false
          output.tape.tokens[token].cursor = UInt32(truncatingIfNeeded: kept)
        }
      }
      output.bytes.append(container.isObject ? UInt8(ascii: "}") : UInt8(ascii: "]"))
      output.end(token, count: count)
    }
  }

  @inline(__always)
  private static func kind(ofValueBeginningWith byte: UInt8) -> JSONToken.Kind {
    switch byte {
    case UInt8(ascii: "\""): .text
    case UInt8(ascii: "t"): .yes
    case UInt8(ascii: "f"): .no
    case UInt8(ascii: "n"): .null
    default: .number
    }
  }

  /// Writes the members of the object whose token is given. Returns their number.
  private borrowing func writeMembers(
    of object: JSONWriting.Container, _ token: Int, to output: inout JSONWrittenText
  ) -> Int {
    if object.isAscending {
      var at = object.first
      while at >= 0 {
        writeMember(at, isFirst: at == object.first, of: token, to: &output)
        at = entries[at].next
      }
      return object.count
    }
    var (at, many) = (object.first, [Int]())
    if object.count > 1000 {
      // Those inserted first would be moved for nearly each of the others.
      while at >= 0 { (_, at) = (many.append(at), entries[at].next) }
      many.sort {
        let order = compare(entries[$0].name, entries[$1].name)
        return order == 0 ? $0 < $1 : order < 0
      }
    }
    return withUnsafeTemporaryAllocation(of: Int.self, capacity: object.count) { sorted in
      var count = 0
      for entry in many { insert(entry, into: sorted, count: &count) }
      while at >= 0 {
        insert(at, into: sorted, count: &count)
        at = entries[at].next
      }
      for position in 0..<count { writeMember(sorted[position], isFirst: position == 0, of: token, to: &output) }
      return count
    }
  }

  /// Inserts a member among those before it, which are sorted by name. It replaces one of the same name.
  private borrowing func insert(_ entry: Int, into sorted: UnsafeMutableBufferPointer<Int>, count: inout Int) {
    var (low, high) = (0, count)
    while low < high {
      let middle = (low + high) / 2
      let order = compare(entries[sorted[middle]].name, entries[entry].name)
      if order == 0 {
        sorted[middle] = entry
        return
      }
      if order < 0 { low = middle + 1 } else { high = middle }
    }
    for position in stride(from: count, to: low, by: -1) { sorted[position] = sorted[position - 1] }
    sorted[low] = entry
    count += 1
  }

  private borrowing func writeMember(_ entry: Int, isFirst: Bool, of object: Int, to output: inout JSONWrittenText) {
    if !isFirst { output.bytes.append(UInt8(ascii: ",")) }
    let name = bytes(entries[entry].name)
    let token = output.add(.name, isPlain: true)
    JSONEscapes.append(name, to: &output.bytes)
    output.end(token, quotes: 1)
    // A reader compares the bytes of plain names. Others it decodes.
    let hasEscapes = Int(output.tape.tokens[token].end &- output.tape.tokens[token].start) > name.count
    if hasEscapes || name.contains(where: { $0 >= 0x80 }) {
      output.tape.tokens[token].isPlain = false
      output.tape.tokens[object].isPlain = false
    }
    output.bytes.append(UInt8(ascii: ":"))
    write(entry: entry, to: &output)
  }

  /// Writes the elements, or groups of them, in the order of their texts, so that equal values have equal texts in every process.
  private borrowing func writeUnordered(_ list: JSONWriting.Container, to output: inout JSONWrittenText) {
    output.hasTokens = false
    var texts: [[UInt8]] = []
    var part = JSONWrittenText()
    var (at, position) = (list.first, 0)
    while at >= 0 {
      if position % list.unorderedStep > 0 { part.bytes.append(UInt8(ascii: ",")) }
      write(entry: at, to: &part)
      (at, position) = (entries[at].next, position + 1)
      guard position % list.unorderedStep == 0 || at < 0 else { continue }
      texts.append(Array(UnsafeBufferPointer(start: part.bytes.bytes, count: part.bytes.count)))
      part.clear()
    }
    texts.sort { $0.lexicographicallyPrecedes($1) }
    for (index, text) in texts.enumerated() {
      if index > 0 { output.bytes.append(UInt8(ascii: ",")) }
      text.withUnsafeBufferPointer { output.bytes.append($0) }
    }
  }
}
