package import StrataEngine

/// The order of keys: that of their bytes, or that of a type that only the app knows.
package enum KeyOrder: Sendable {
  /// That of the bytes.
  case bytes
  /// That of a type's own `<`.
  case comparator(any KeyComparator)

  package var isBytes: Bool {
    if case .bytes = self { true } else { false }
  }

  package var treeOrder: TreeOrder { isBytes ? .bytes : .caller }

  /// Compares stored keys with this one: the result is negative for a key before it.
  package func comparison(to key: [UInt8]) throws -> KeyComparison {
    switch self {
    case .bytes: KeyComparison { stored in key.withUnsafeBytes { compareKeys(stored, $0) } }
    case .comparator(let comparator): try comparator.comparison(to: key)
    }
  }

  /// Whether a stored key comes before another; a key that cannot be read is compared by its bytes.
  package func isBefore(_ left: [UInt8], _ right: [UInt8]) -> Bool {
    left.withUnsafeBytes { left in
      let place = (try? comparison(to: right).place(left)) ?? right.withUnsafeBytes { compareKeys(left, $0) }
      return place < 0
    }
  }

  /// The place of a key.
  package func place(of key: [UInt8]) throws -> SoughtPlace {
    if isBytes { return .bytes(key) }
    return .compare(try comparison(to: key).place)
  }

  /// The place just before a key's, or with `after` just behind it.
  package func bound(of key: [UInt8], after: Bool) throws -> SoughtPlace {
    if isBytes { return .bytes(after ? key + [0] : key) }
    let comparison = try comparison(to: key)
    return .compare { stored in
      let place = try comparison.place(stored)
      return place != 0 ? place : after ? -1 : 1
    }
  }
}

/// Compares stored keys with one that is sought: the result is negative for a key before it and 0 for an equal key. Throws if the
/// stored key cannot be read.
package struct KeyComparison {
  package let place: (UnsafeRawBufferPointer) throws -> Int

  package init(place: @escaping (UnsafeRawBufferPointer) throws -> Int) { self.place = place }
}

/// The order of values whose type only the app knows.
package protocol KeyComparator: AnyObject, Sendable {
  /// Throws if the key cannot be read.
  func comparison(to key: [UInt8]) throws -> KeyComparison
}

/// The order of an index's entries: by value, then by identifier.
package struct EntryOrder: Sendable {
  package let value: KeyOrder
  package let identifier: KeyOrder

  package static let bytes = EntryOrder(value: .bytes, identifier: .bytes)

  package init(value: KeyOrder, identifier: KeyOrder) {
    self.value = value
    self.identifier = identifier
  }

  package var isBytes: Bool { value.isBytes && identifier.isBytes }

  package var treeOrder: TreeOrder { isBytes ? .bytes : .caller }

  /// The place of an entry, by its key.
  package func place(of key: [UInt8]) throws -> SoughtPlace {
    if isBytes { return .bytes(key) }
    let (value, identifier) = try key.withUnsafeBytes { key in
      let parts = try Self.parts(of: key)
      return (Array(parts.value), Array(parts.identifier))
    }
    let values = try self.value.comparison(to: value)
    let identifiers = try self.identifier.comparison(to: identifier)
    return .compare { stored in
      let stored = try Self.parts(of: stored)
      let place = try values.place(stored.value)
      return place != 0 ? place : try identifiers.place(stored.identifier)
    }
  }

  /// The place before all entries of a value and after all of lesser ones; or, with `after`, behind its entries.
  package func bound(of value: [UInt8], after: Bool) throws -> SoughtPlace {
    if isBytes { return .bytes(after ? value + [0xFF] : value) }
    return Self.bound(of: try self.value.comparison(to: value), after: after)
  }

  /// The place before all entries whose values are equal in a comparison, or, with `after`, behind them.
  package static func bound(of values: KeyComparison, after: Bool) -> SoughtPlace {
    .compare { stored in
      let place = try values.place(parts(of: stored).value)
      return place != 0 ? place : after ? -1 : 1
    }
  }

  private static func parts(
    of key: UnsafeRawBufferPointer
  ) throws -> (value: UnsafeRawBufferPointer, identifier: UnsafeRawBufferPointer) {
    guard let range = EntryKey.identifierRange(key) else {
      throw ModelError.unreadable(what: "an index entry", where: "\(key.count) bytes")
    }
    return (
      UnsafeRawBufferPointer(rebasing: key[..<range.lowerBound]), UnsafeRawBufferPointer(rebasing: key[range])
    )
  }
}

/// A place in a tree that is looked for.
package enum SoughtPlace {
  case bytes([UInt8])
  case compare((UnsafeRawBufferPointer) throws -> Int)

  package var treeOrder: TreeOrder {
    if case .bytes = self { .bytes } else { .caller }
  }

  /// Compares a stored key with the place: negative before it, 0 at it.
  package func compares(_ stored: Bytes) throws -> Int {
    try stored.withUnsafeBytes { stored in
      switch self {
      case .bytes(let key): key.withUnsafeBytes { compareKeys(stored, $0) }
      case .compare(let place): try place(stored)
      }
    }
  }

  /// The engine's form of the place, to be kept. A stored key that cannot be read is never taken for the one that is sought.
  package var keptProbe: KeyProbe {
    switch self {
    case .bytes(let key): .bytes(key)
    case .compare(let place): .compare { stored in (try? place(stored)) ?? -1 }
    }
  }

  /// Calls `body` with the engine's form of the place. If a stored key cannot be read, rethrows that error.
  package func withProbe<R>(_ body: (KeyProbe) throws -> R) throws -> R {
    switch self {
    case .bytes(let key): return try body(.bytes(key))
    case .compare(let place):
      var failure: (any Error)?
      let result = try withoutActuallyEscaping(place) { place in
        try body(
          .compare { stored in
            do {
              return try place(stored)
            } catch {
              failure = failure ?? error
              return 0
            }
          })
      }
      if let failure { throw failure }
      return result
    }
  }
}

extension [UInt8] {
  /// Whether these bytes come before others.
  package func precedes(_ other: [UInt8]) -> Bool {
    withUnsafeBytes { left in other.withUnsafeBytes { compareKeys(left, $0) } } < 0
  }
}

extension KeyEncoding {
  /// Whether a tree of these keys orders itself.
  package var treeOrder: TreeOrder { isByteOrdered ? .bytes : .caller }
}
