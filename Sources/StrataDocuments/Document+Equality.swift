extension NumberText: Hashable {
  /// The shortest form of the number; equal numbers have equal ones.
  package var canonicalText: String {
    isEvidentlyShortest ? text : DecimalDigits(text)?.description ?? text
  }

  /// Whether the text is quickly seen to be the shortest form: at most 15 characters without exponent, no zero at an end where one can be
  /// left out.
  private var isEvidentlyShortest: Bool {
    guard text.utf8.count <= 15 else { return false }
    var isFirst = true
    var hasPoint = false
    var last: UInt8 = 0
    for byte in text.utf8 {
      switch byte {
      case UInt8(ascii: "-"): continue
      case UInt8(ascii: "."): hasPoint = true
      case UInt8(ascii: "0") where isFirst: return text == "0"
      case UInt8(ascii: "0")...UInt8(ascii: "9"): break
      default: return false
      }
      isFirst = false
      last = byte
    }
    return !hasPoint || last != UInt8(ascii: "0")
  }

  /// Whether it is a number and not `nan`, `inf` or `-inf`.
  package var isFinite: Bool { text.utf8.last.map(\.isDigit) ?? false }

  package static func == (left: Self, right: Self) -> Bool {
    left.text == right.text || left.canonicalText == right.canonicalText
  }

  package func hash(into hasher: inout Hasher) { hasher.combine(canonicalText) }
}

extension Document: Hashable {
  package static func == (left: Self, right: Self) -> Bool {
    switch (left, right) {
    case (.null, .null): true
    case (.bool(let left), .bool(let right)): left == right
    case (.number(let left), .number(let right)): left == right
    case (.string(let left), .string(let right)): left.isSameText(as: right)
    case (.date(let left), .date(let right)): left == right || left.isNaN && right.isNaN
    case (.data(let left), .data(let right)): left == right
    case (.array(let left), .array(let right)): left == right
    case (.object(let left), .object(let right)): areEqual(left, right)
    default: false
    }
  }

  package func hash(into hasher: inout Hasher) {
    switch self {
    case .null: hasher.combine(0)
    case .bool(let value): hasher.combine(value)
    case .number(let value): hasher.combine(value)
    case .string(let value): hasher.combine(value)
    case .date(let value): hasher.combine(value.isNaN ? .nan : value)
    case .data(let value): hasher.combine(value)
    case .array(let elements): hasher.combine(elements)
    case .object(let members):
      var sum = 0
      for member in members.lastOfEachName {
        var part = Hasher()
        part.combine(member.name)
        part.combine(member.value)
        sum &+= part.finalize()
      }
      hasher.combine(sum)
    }
  }

  private static func areEqual(_ left: [Member], _ right: [Member]) -> Bool {
    // Members in the same order, the usual case, need no table.
    if left.count == right.count, zip(left, right).allSatisfy({ $0.name.isSameText(as: $1.name) }),
      zip(left, right).allSatisfy({ $0.value == $1.value })
    {
      return true
    }
    let left = left.lastOfEachName
    let right = right.lastOfEachName
    guard left.count == right.count else { return false }
    let table = right.valuesByName
    return left.allSatisfy { table[Array($0.name.utf8)] == $0.value }
  }
}

extension [Document.Member] {
  /// The members without those whose name occurs again.
  package var lastOfEachName: [Document.Member] {
    let isUnique =
      count <= 8
      && indices.allSatisfy { index in
        self[..<index].allSatisfy { !$0.name.isSameText(as: self[index].name) }
      }
    if isUnique { return self }
    var seen: Set<[UInt8]> = []
    return reversed().filter { seen.insert(Array<UInt8>($0.name.utf8)).inserted }.reversed()
  }

  package var valuesByName: [[UInt8]: Document] {
    Dictionary(map { (Array<UInt8>($0.name.utf8), $0.value) }) { _, last in last }
  }
}

extension String {
  /// Whether two texts have the same scalars; `==` also holds for different compositions of the same characters.
  func isSameText(as other: String) -> Bool {
    utf8.count == other.utf8.count && self == other
      && (utf8.allSatisfy { $0 < 0x80 } || utf8.elementsEqual(other.utf8))
  }
}
