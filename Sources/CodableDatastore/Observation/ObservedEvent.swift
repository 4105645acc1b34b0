/// A change of one instance, as its observers receive it.
public enum ObservedEvent<IdentifierType, Entry> {
  /// An instance was inserted.
  case created(id: IdentifierType, newEntry: Entry)
  /// An instance was persisted over an existing one, whether equal or not.
  case updated(id: IdentifierType, oldEntry: Entry, newEntry: Entry)
  /// An instance was deleted.
  case deleted(id: IdentifierType, oldEntry: Entry)

  /// The identifier of the changed instance.
  public var id: IdentifierType {
    switch self {
    case .created(let id, _), .updated(let id, _, _), .deleted(let id, _): id
    }
  }
}

extension ObservedEvent: Identifiable where IdentifierType: Hashable {}
extension ObservedEvent: Sendable where IdentifierType: Sendable, Entry: Sendable {}

/// A change as a persistence passes it to observers. It has no public members.
public struct ObservationEntry: Sendable {}

/// A limit for the changes that wait for an observer that is slower than the writers.
public enum ObservationBufferingPolicy: Hashable, Sendable {
  /// All of them.
  case unbounded
  /// At most this number; later ones are dropped.
  case bufferingOldest(Int)
  /// At most this number; the oldest are dropped for newer ones.
  case bufferingNewest(Int)
}
