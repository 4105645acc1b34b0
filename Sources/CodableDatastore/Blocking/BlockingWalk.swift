/// Instances that come one after the other to code that is not async, each read when it is asked for.
///
/// ```swift
/// let walk = cities.blocking.walk { $0.load(1_000_000..., from: \.population) }
/// while let city = try walk.next() { print(city.name) }
/// ```
///
/// It shows the state in which it was made, and delays no writer. One thread at a time may call it.
public final class BlockingWalk<Element> {
  private let store: _StoreHandle
  private var advance: (() async throws -> Element?)?

  init<Instances: AsyncInstances<Element>>(_ store: _StoreHandle, _ instances: Instances) {
    self.store = store
    var iterator = instances.makeAsyncIterator()
    advance = { try await iterator.next(isolation: nil) }
  }

  /// The next instance; nil at the end. A walk over observed or live instances waits for the next change.
  ///
  /// - Throws: Any error from reading; then the walk has ended. After ``UnreadableChangeError`` and ``ChangesMissed`` it goes on.
  @available(*, noasync)
  public func next() throws -> Element? {
    // At the end and after an error there is nothing to go on with.
    guard let advance = self.advance.take() else { return nil }
    do {
      guard let element = try Blocking.call(store, advance) else { return nil }
      self.advance = advance
      return element
    } catch {
      if error is UnreadableChangeError || error is ChangesMissed { self.advance = advance }
      throw error
    }
  }
}
