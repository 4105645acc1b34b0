/// A change of one instance, as its observers hear it.
public enum ObservedEvent<IdentifierType, Entry> {
  /// An instance came.
  case created(id: IdentifierType, newEntry: Entry)
  /// An instance was persisted over one that was there, be it equal or not.
  case updated(id: IdentifierType, oldEntry: Entry, newEntry: Entry)
  /// An instance went.
  case deleted(id: IdentifierType, oldEntry: Entry)

  /// Whose change it is.
  public var id: IdentifierType {
    switch self {
    case .created(let id, _), .updated(let id, _, _), .deleted(let id, _): id
    }
  }
}

extension ObservedEvent: Identifiable where IdentifierType: Hashable {}
extension ObservedEvent: Sendable where IdentifierType: Sendable, Entry: Sendable {}

/// A change as a persistence hands it to observers. It has no public members.
public struct ObservationEntry: Sendable {}

/// How many changes wait for an observer that is slower than the writers.
public enum ObservationBufferingPolicy: Hashable, Sendable {
  /// All of them.
  case unbounded
  /// At most so many; later ones are dropped.
  case bufferingOldest(Int)
  /// At most so many; the oldest are dropped for newer ones.
  case bufferingNewest(Int)
}
