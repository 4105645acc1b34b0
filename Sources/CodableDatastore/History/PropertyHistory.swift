import StrataFoundation

/// The values of one property of an instance, newest first.
struct PropertyHistory<Format: DatastoreFormat, Value: Equatable & Sendable>: AsyncInstances, AsyncIteratorProtocol {
  private(set) var versions: InstanceHistory<Format>
  let property: KeyPath<Format.Instance, Value>
  /// Only values that were given in this span of time are returned.
  let since: Date?
  let until: Date?
  /// The oldest version so far that has the value.
  private(set) var oldest: PropertyVersion<Value>?

  mutating func next(isolation actor: isolated (any Actor)?) async throws(any Error) -> PropertyVersion<Value>? {
    while let value = try await nextValue(isolation: actor) {
      // Dates never grow on the way back, so nothing older is wanted either.
      if let since, value.commit.date < since { return nil }
      if let until, value.commit.date > until { continue }
      return value
    }
    return nil
  }

  private mutating func nextValue(isolation actor: isolated (any Actor)?) async throws -> PropertyVersion<Value>? {
    while let version = try await versions.next(isolation: actor) {
      let found = PropertyVersion(commit: version.commit, value: version.instance?[keyPath: property])
      guard let newer = oldest else {
        oldest = found
        continue
      }
      oldest = found
      if newer.value != found.value { return newer }
    }
    defer { oldest = nil }
    return oldest
  }
}

extension ObservedEvent where IdentifierType: Sendable {
  /// The change of one property; nil if both instances have the same value.
  func change<Value: Equatable & Sendable>(
    of property: KeyPath<Entry, Value>
  ) -> PropertyChange<IdentifierType, Value>? {
    switch self {
    case .created(let id, let new): PropertyChange(id: id, old: nil, new: new[keyPath: property])
    case .deleted(let id, let old): PropertyChange(id: id, old: old[keyPath: property], new: nil)
    case .updated(_, let old, let new) where old[keyPath: property] == new[keyPath: property]: nil
    case .updated(let id, let old, let new):
      PropertyChange(id: id, old: old[keyPath: property], new: new[keyPath: property])
    }
  }
}
