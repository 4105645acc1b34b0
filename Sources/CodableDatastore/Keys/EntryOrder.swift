import DatastoreModel
import StorageEngine

/// The order of an index's entries: by value, then by identifier.
struct EntryOrder: Sendable {
  let value: KeyOrder
  let identifier: KeyOrder

  var treeOrder: TreeOrder { value.isBytes && identifier.isBytes ? .bytes : .caller }

  /// The place of one entry.
  func place(value: [UInt8], identifier: [UInt8]) throws -> SoughtPlace {
    guard treeOrder == .caller else { return .bytes(EntryKey.make(value: value, identifier: identifier)) }
    let values = try self.value.comparison(to: value)
    let identifiers = try self.identifier.comparison(to: identifier)
    return .compare { stored in
      let (storedValue, storedIdentifier) = try Self.parts(of: stored)
      let place = try values.place(storedValue)
      return place != 0 ? place : try identifiers.place(storedIdentifier)
    }
  }

  /// The place before all entries of a value and after all of lesser ones; or, with `after`, behind its entries.
  func bound(of value: [UInt8], after: Bool) throws -> SoughtPlace {
    guard treeOrder == .caller else { return .bytes(after ? value + [0xFF] : value) }
    let values = try self.value.comparison(to: value)
    return .compare { stored in
      let place = try values.place(Self.parts(of: stored).value)
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

/// The order of a datastore's records.
extension KeyOrder {
  var treeOrder: TreeOrder { isBytes ? .bytes : .caller }

  /// The place of one record.
  func place(of identifier: [UInt8]) throws -> SoughtPlace {
    if isBytes { return .bytes(identifier) }
    return .compare(try comparison(to: identifier).place)
  }

  /// The place just before a record's, or with `after` just behind it.
  func bound(of identifier: [UInt8], after: Bool) throws -> SoughtPlace {
    if isBytes { return .bytes(after ? identifier + [0] : identifier) }
    let comparison = try comparison(to: identifier)
    return .compare { stored in
      let place = try comparison.place(stored)
      return place != 0 ? place : after ? -1 : 1
    }
  }
}

/// A place in a tree that is looked for.
enum SoughtPlace {
  case bytes([UInt8])
  case compare((UnsafeRawBufferPointer) throws -> Int)

  /// Where a stored key lies relative to the place.
  func compares(_ stored: Bytes) throws -> Int {
    try stored.withUnsafeBytes { stored in
      switch self {
      case .bytes(let key): key.withUnsafeBytes { compareKeys(stored, $0) }
      case .compare(let place): try place(stored)
      }
    }
  }

  /// The engine's form of the place, to be kept; a stored key that cannot be read counts as the one.
  var keptProbe: KeyProbe {
    switch self {
    case .bytes(let key): .bytes(key)
    case .compare(let place): .compare { stored in (try? place(stored)) ?? 0 }
    }
  }

  /// Calls `body` with the engine's form of the place. Where a stored key cannot be read, what that throws comes out.
  func withProbe<R>(_ body: (KeyProbe) throws -> R) throws -> R {
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
