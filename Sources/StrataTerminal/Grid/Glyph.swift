import StrataLocks

/// A cluster as a number: its only scalar, or the place of its text among those that have several.
struct Glyph: Hashable, Sendable {
  private let number: UInt32

  private static let isInterned: UInt32 = 1 << 31

  init(ascii byte: UInt8) { number = UInt32(byte) }

  init(_ text: String) {
    var scalars = text.unicodeScalars.makeIterator()
    guard let first = scalars.next() else {
      number = 0
      return
    }
    if scalars.next() == nil {
      number = first.value
    } else {
      number = Self.table.withLock { $0.number(of: text) }.map { Self.isInterned | $0 } ?? first.value
    }
  }

  var text: String {
    guard number & Self.isInterned == 0 else { return Self.table.withLock { $0.text(number & ~Self.isInterned) } }
    return number == 0 ? "" : Unicode.Scalar(number).map { String($0) } ?? ""
  }

  func forEachScalar(_ body: (UInt32) -> Void) {
    guard number & Self.isInterned != 0 else {
      if number != 0 { body(number) }
      return
    }
    for scalar in text.unicodeScalars { body(scalar.value) }
  }

  /// Clusters of several scalars that were met. Canonical cells have few: bases with their combining marks.
  private struct Table {
    private var numbers: [String: UInt32] = [:]
    private var texts: [String] = []

    /// More than any text that a person looks through has; what goes beyond shows its first scalar.
    private static let limit = 1 << 20

    mutating func number(of text: String) -> UInt32? {
      if let known = numbers[text] { return known }
      guard texts.count < Self.limit else { return nil }
      numbers[text] = UInt32(texts.count)
      texts.append(text)
      return UInt32(texts.count - 1)
    }

    func text(_ number: UInt32) -> String { texts[Int(number)] }
  }

  private static let table = Mutex(Table())
}
