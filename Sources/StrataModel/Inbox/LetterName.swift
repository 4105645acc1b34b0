import StrataDocuments

/// The name of a letter's file: date, sender and number, in hexadecimal, so that names sort by date.
///
///     1883f2a90c11e8d0-a1b2c3d4e5f60718-00000007.letter
package struct LetterName: Hashable, Sendable, CustomStringConvertible {
  /// In nanoseconds since 1970.
  package var date: Int64
  /// A random number for each process that sends.
  package var sender: UInt64
  /// Counts the letters of the sender, from 1.
  package var number: UInt32

  package init(date: Int64, sender: UInt64, number: UInt32) {
    self.date = date
    self.sender = sender
    self.number = number
  }

  package static let suffix = ".letter"

  package var description: String {
    let (date, sender) = (Hexadecimal.text(of: UInt64(bitPattern: date)), Hexadecimal.text(of: sender))
    return "\(date)-\(sender)-\(Hexadecimal.text(of: UInt64(number)).suffix(8))\(Self.suffix)"
  }

  /// Returns nil if a file has another kind of name.
  package init?(_ name: String) {
    guard name.hasSuffix(Self.suffix) else { return nil }
    let parts = name.dropLast(Self.suffix.count).split(separator: "-", omittingEmptySubsequences: false)
    guard parts.map(\.utf8.count) == [16, 16, 8], let date = UInt64(parts[0], radix: 16),
      let sender = UInt64(parts[1], radix: 16), let number = UInt32(parts[2], radix: 16), number > 0
    else { return nil }
    self.init(date: Int64(bitPattern: date), sender: sender, number: number)
    guard description == name else { return nil }
  }

  /// Letters in the order in which they are applied: by date, but those of one sender by their numbers.
  static func ordered(_ names: [LetterName]) -> [LetterName] {
    // A letter comes no earlier than those that its sender has sent before, whatever its clock said.
    var latest: [UInt64: Int64] = [:]
    let due = names.sorted { $0.number < $1.number }.map { name in
      let date = max(name.date, latest[name.sender] ?? .min)
      latest[name.sender] = date
      return (date: date, name: name)
    }
    return due.sorted { first, second in
      (first.date, first.name.sender, first.name.number) < (second.date, second.name.sender, second.name.number)
    }.map(\.name)
  }
}
