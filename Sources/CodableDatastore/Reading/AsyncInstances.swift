/// Instances that come one after the other.
///
/// What ``Datastore`` loads and observes is of this kind, and so is what `map`, `filter` and `compactMap` make of it.
public protocol AsyncInstances<Element>: AsyncSequence, Sendable {}

/// How many instances are collected.
public enum AsyncInstancesLimit {
  /// All of them, however many there are.
  case infinity
}

extension AsyncInstances {
  /// The first instance, or nil where there is none.
  ///
  /// - Throws: What reading the first instance throws.
  public var firstInstance: Element? {
    get async throws {
      for try await instance in self { return instance }
      return nil
    }
  }

  /// The first instances, at most so many.
  ///
  /// - Throws: What the iteration throws.
  public func collectInstances(upTo collectionLimit: Int) async throws -> [Element] {
    guard collectionLimit > 0 else { return [] }
    var instances: [Element] = []
    for try await instance in self {
      instances.append(instance)
      if instances.count == collectionLimit { break }
    }
    return instances
  }

  /// All instances.
  ///
  /// - Throws: What the iteration throws.
  public func collectInstances(upTo collectionLimit: AsyncInstancesLimit) async throws -> [Element] {
    var instances: [Element] = []
    for try await instance in self { instances.append(instance) }
    return instances
  }
}

extension AsyncMapSequence: AsyncInstances {}
extension AsyncThrowingMapSequence: AsyncInstances {}
extension AsyncCompactMapSequence: AsyncInstances {}
extension AsyncThrowingCompactMapSequence: AsyncInstances {}
extension AsyncFilterSequence: AsyncInstances {}
extension AsyncThrowingFilterSequence: AsyncInstances {}
