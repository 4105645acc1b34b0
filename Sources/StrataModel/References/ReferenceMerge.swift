package import StrataEngine

/// Walks the entries of a referring index and the identifiers of the referenced records together, and stops at each entry without a target:
/// one ordered merge. It reads no record.
///
/// A value is looked up once, whatever the number of its entries. Memory does not grow with either tree.
package struct ReferenceMerge {
  /// How a value of the index gives the key of the record that it names.
  package enum Naming {
    /// The value is the key, in byte order; null names no record.
    case key
    /// Only the app's types know: the closure returns the key, or nil if the value names no record.
    case translated(([UInt8]) throws -> [UInt8]?)
  }

  private var entries: Cursor
  private var targets: Cursor?
  private let order: KeyOrder
  private let naming: Naming
  private var isPlaced = false
  private var entry: [UInt8] = []
  /// The value of the previous entry, in memory that the next one reuses, and whether its target is missing.
  private var value: [UInt8] = []
  private var hasValue = false
  private var isMissing = false
  /// The key that the value names, if that is not the value itself.
  private var translated: [UInt8] = []
  private var current: [UInt8] = []
  private var isCurrent = false

  /// An entry whose value names no existing record.
  package struct Dangling: Sendable {
    /// The identifier of the referring record.
    package var identifier: [UInt8]
    /// The identifier of the missing record.
    package var target: [UInt8]
  }

  /// - Parameters:
  ///   - entries: The index that refers.
  ///   - targets: The records that it refers to; nil if their datastore does not exist.
  ///   - order: The order of the targets' identifiers, which is that of the index's values.
  package init(entries: Tree, targets: Tree?, order: KeyOrder, naming: Naming) {
    self.entries = entries.cursor()
    self.targets = targets?.cursor()
    self.order = order
    self.naming = naming
  }

  /// Returns the next entry without a target, in the order of the index, or nil at the end.
  ///
  /// - Throws: The errors of the trees and of the translation.
  package mutating func next() throws -> Dangling? {
    if isPlaced {
      try entries.next()
    } else {
      isPlaced = true
      try entries.seekToStart()
      try targets?.seekToStart()
    }
    while entries.hasEntry {
      try entries.copyKey(into: &entry)
      guard let identifier = entry.withUnsafeBytes({ EntryKey.identifierRange($0) }) else {
        throw ModelError.unreadable(what: "an entry of an index", where: "its key cannot be taken apart")
      }
      if !isOfSameValue(identifier.lowerBound) {
        value.removeAll(keepingCapacity: true)
        value.append(contentsOf: entry[..<identifier.lowerBound])
        hasValue = true
        isMissing = try isTargetMissing()
      }
      if isMissing {
        let target = if case .key = naming { value } else { translated }
        return Dangling(identifier: Array(entry[identifier]), target: target)
      }
      try entries.next()
    }
    return nil
  }

  /// Whether the entry's value, of `length` bytes, is that of the previous entry.
  private func isOfSameValue(_ length: Int) -> Bool {
    guard hasValue, value.count == length else { return false }
    return entry.withUnsafeBytes { entry in
      value.withUnsafeBytes { compareKeys(UnsafeRawBufferPointer(rebasing: entry[..<length]), $0) == 0 }
    }
  }

  /// Whether the record that the value names is missing.
  private mutating func isTargetMissing() throws -> Bool {
    switch naming {
    case .key:
      if value.count == 1, value[0] == KeyTag.null { return false }
    case .translated(let key):
      guard let key = try key(value) else { return false }
      translated = key
    }
    while targets?.hasEntry == true {
      if !isCurrent { try targets?.copyKey(into: &current) }
      isCurrent = true
      switch placeOfCurrent() {
      case 0: return false
      case 1...: return true
      default: break
      }
      try targets?.next()
      isCurrent = false
    }
    return true
  }

  /// Compares the current target with the sought one: negative if it lies before it, 0 if they are equal.
  private func placeOfCurrent() -> Int {
    if case .key = naming {
      return current.withUnsafeBytes { current in value.withUnsafeBytes { compareKeys(current, $0) } }
    }
    if current == translated { return 0 }
    return order.isBefore(current, translated) ? -1 : 1
  }
}
