/// How a datastore behaves.
public struct Configuration: Sendable {
  /// Accepted for programs that set it; the store chooses the size of its pages.
  public var pageSize: Int

  /// Makes a configuration.
  public init(pageSize: Int = 64 * 1024) { self.pageSize = pageSize }
}
