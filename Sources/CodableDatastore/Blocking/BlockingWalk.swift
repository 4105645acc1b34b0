/// Instances that come one after the other to code that is not async, each read when it is asked for.
///
/// ```swift
/// let walk = cities.blocking.walk { $0.load(1_000_000..., from: \.population) }
/// while let city = try walk.next() { print(city.name) }
/// ```
///
/// It shows the state of its making, and holds up nobody. One thread at a time may ask it.
public final class BlockingWalk<Element> {
  private let store: _StoreHandle
  private var advance: (() async throws -> Element?)?

  init<Instances: AsyncInstances<Element>>(_ store: _StoreHandle, _ instances: Instances) {
    self.store = store
    var iterator = instances.makeAsyncIterator()
    advance = { try await iterator.next(isolation: nil) }
  }

  /// The next instance; nil at the end. Of what is observed or live, it waits for the next change.
  ///
  /// - Throws: What reading throws; then the walk has ended.
  @available(*, noasync)
  public func next() throws -> Element? {
    guard let advance else { return nil }
    do {
      if let element = try Blocking.call(store, advance) { return element }
      self.advance = nil
      return nil
    } catch {
      self.advance = nil
      throw error
    }
  }
}
