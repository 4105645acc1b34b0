import StrataFoundation

/// The values of one property of an instance, newest first.
struct PropertyHistory<Format: DatastoreFormat, Value: Equatable & Sendable>: AsyncInstances {
  typealias Element = PropertyVersion<Value>

  let history: InstanceHistory<Format>
  let property: KeyPath<Format.Instance, Value>
  /// Only values that were given in this span of time are returned.
  let since: Date?
  let until: Date?

  func makeAsyncIterator() -> Iterator { Iterator(self) }

  struct Iterator: AsyncIteratorProtocol {
    private let values: PropertyHistory
    private var versions: InstanceHistory<Format>.Iterator
    /// The oldest version so far that has the value.
    private var oldest: PropertyVersion<Value>?

    fileprivate init(_ values: PropertyHistory) {
      self.values = values
      versions = values.history.makeAsyncIterator()
    }

    mutating func next(isolation actor: isolated (any Actor)?) async throws(any Error) -> Element? {
      while let value = try await nextValue(isolation: actor) {
        // Dates never grow on the way back, so nothing older is wanted either.
        if let since = values.since, value.commit.date < since { return nil }
        if let until = values.until, value.commit.date > until { continue }
        return value
      }
      return nil
    }

    private mutating func nextValue(isolation actor: isolated (any Actor)?) async throws(any Error) -> Element? {
      while let version = try await versions.next(isolation: actor) {
        let found = PropertyVersion(commit: version.commit, value: version.instance?[keyPath: values.property])
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
}

/// The instances of a datastore in which one property differs between two commits.
struct PropertyDifference<Format: DatastoreFormat, Value: Equatable & Sendable>: AsyncInstances {
  typealias Element = PropertyChange<Format.Identifier, Value>

  let difference: DatastoreDifference<Format>
  let property: KeyPath<Format.Instance, Value>

  func makeAsyncIterator() -> Iterator {
    Iterator(changes: difference.makeAsyncIterator(), property: property)
  }

  struct Iterator: AsyncIteratorProtocol {
    fileprivate var changes: DatastoreDifference<Format>.Iterator
    fileprivate let property: KeyPath<Format.Instance, Value>

    mutating func next(isolation actor: isolated (any Actor)?) async throws(any Error) -> Element? {
      while let event = try await changes.next(isolation: actor) {
        switch event {
        case .created(let id, let new):
          return PropertyChange(id: id, old: nil, new: new[keyPath: property])
        case .deleted(let id, let old):
          return PropertyChange(id: id, old: old[keyPath: property], new: nil)
        case .updated(let id, let old, let new):
          let (old, new) = (old[keyPath: property], new[keyPath: property])
          if old != new { return PropertyChange(id: id, old: old, new: new) }
        }
      }
      return nil
    }
  }
}
