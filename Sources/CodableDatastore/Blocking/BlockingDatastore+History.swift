public import StrataFoundation

extension BlockingDatastore {
  /// The datastore as of a commit.
  @available(*, noasync)
  public func view(at commit: Commit.Number) throws -> BlockingDatastore<Format, ReadOnly> {
    try call { BlockingDatastore<Format, ReadOnly>(datastore: try await datastore.view(at: commit)) }
  }

  /// The datastore as of a date.
  @available(*, noasync)
  public func view(at date: Date) throws -> BlockingDatastore<Format, ReadOnly> {
    try call { BlockingDatastore<Format, ReadOnly>(datastore: try await datastore.view(at: date)) }
  }

  /// The instances that differ between two commits.
  @available(*, noasync)
  public func changes(
    from old: Commit.Number, to new: Commit.Number? = nil
  ) throws -> [ObservedEvent<IdentifierType, InstanceType>] {
    try collect { $0.changes(from: old, to: new) }
  }

  /// Every state that an instance has had, newest first.
  @available(*, noasync)
  public func history(of identifier: IdentifierType) throws -> [InstanceVersion<InstanceType>] {
    try collect { $0.history(of: identifier) }
  }

  /// Every value that a property of an instance has had, newest first.
  @available(*, noasync)
  public func history<Value: Equatable & Sendable>(
    of identifier: IdentifierType, _ property: KeyPath<InstanceType, Value>, since: Date? = nil, until: Date? = nil
  ) throws -> [PropertyVersion<Value>] {
    try collect { $0.history(of: identifier, property, since: since, until: until) }
  }

  /// The value that a property of an instance had at a date.
  @available(*, noasync)
  public func value<Value: Sendable>(
    of identifier: IdentifierType, _ property: KeyPath<InstanceType, Value>, at date: Date
  ) throws -> Value? {
    try call { try await datastore.value(of: identifier, property, at: date) }
  }

  /// For each stored property of an instance the newest commit that changed it.
  @available(*, noasync)
  public func blame(of identifier: IdentifierType) throws -> [PropertyBlame] {
    try call { try await datastore.blame(of: identifier) }
  }

  /// The newest commit that changed a property of an instance.
  @available(*, noasync)
  public func blame<Value: Equatable & Sendable>(
    of identifier: IdentifierType, _ property: KeyPath<InstanceType, Value>
  ) throws -> Commit? {
    try call { try await datastore.blame(of: identifier, property) }
  }

  /// The instances whose property differs from its value at a commit.
  @available(*, noasync)
  public func changes<Value: Equatable & Sendable>(
    of property: KeyPath<InstanceType, Value>, since commit: Commit.Number
  ) throws -> [PropertyChange<IdentifierType, Value>] {
    try collect { $0.changes(of: property, since: commit) }
  }
}
