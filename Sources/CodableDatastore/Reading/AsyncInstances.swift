/// Instances that come one after the other.
///
/// Loads and observations of ``Datastore`` are of this kind, and so are the results of `map`, `filter` and `compactMap` on them.
public protocol AsyncInstances<Element>: AsyncSequence, Sendable {}

/// A limit for the number of collected instances.
public enum AsyncInstancesLimit {
  /// All of them, however many there are.
  case infinity
}

extension AsyncInstances {
  /// The first instance, or nil if there is none.
  ///
  /// - Throws: Any error from reading the first instance.
  public var firstInstance: Element? {
    get async throws {
      for try await instance in self { return instance }
      return nil
    }
  }

  /// The first instances, at most `collectionLimit`.
  ///
  /// - Throws: Any error of the iteration.
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
  /// - Throws: Any error of the iteration.
  public func collectInstances(upTo collectionLimit: AsyncInstancesLimit) async throws -> [Element] {
    var instances: [Element] = []
    for try await instance in self { instances.append(instance) }
    return instances
  }
}

extension AsyncInstances where Self: AsyncIteratorProtocol {
  /// A sequence that is its own iterator: a copy begins where the sequence is, at the beginning.
  func makeAsyncIterator() -> Self { self }
}

extension AsyncMapSequence: AsyncInstances {}
extension AsyncThrowingMapSequence: AsyncInstances {}
extension AsyncCompactMapSequence: AsyncInstances {}
extension AsyncThrowingCompactMapSequence: AsyncInstances {}
extension AsyncFilterSequence: AsyncInstances {}
extension AsyncThrowingFilterSequence: AsyncInstances {}
