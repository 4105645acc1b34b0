import StrataFoundation
import StrataModel

/// The values of one property of an instance, newest first.
struct PropertyHistory<Format: DatastoreFormat, Value: Equatable & Sendable>: AsyncInstances, AsyncIteratorProtocol {
  private(set) var versions: InstanceHistory<Format>
  let property: KeyPath<Format.Instance, Value>
  /// Only values that were given in this span of time are returned.
  let since: Date?
  let until: Date?
  /// The values of versions that others were made from, by commit, until they are reached themselves.
  private(set) var values: [CommitNumber: Value?] = [:]

  mutating func next(isolation actor: isolated (any Actor)?) async throws(any Error) -> PropertyVersion<Value>? {
    for bound in [since, until] { _ = try bound?.lastNanosecond }
    while let (version, older) = try await versions.nextStored(isolation: actor) {
      let value = try await value(of: version, isolation: actor)
      var isNew = true
      for version in older where isNew {
        // One that cannot be read has another value.
        do { isNew = try await self.value(of: version, isolation: actor) != value } catch {}
      }
      values[version.commit.number] = nil
      let commit = Commit(version.commit)
      if let since, commit.date < since {
        // Dates never grow on the way back along a line.
        if versions.lines?.upcoming.allSatisfy({ Commit($0.commit).date < since }) != false { return nil }
      } else if isNew, until.map({ commit.date <= $0 }) ?? true {
        return PropertyVersion(commit: commit, value: value)
      }
    }
    return nil
  }

  private mutating func value(of version: StoredVersion, isolation actor: isolated (any Actor)?) async throws -> Value?
  {
    let commit = version.commit.number
    if let known = values[commit] { return known }
    let value = try await versions.instance(of: version, isolation: actor)?[keyPath: property]
    values[commit] = .some(value)
    return value
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
