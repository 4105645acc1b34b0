/// The options for a store on a server.
package struct ServerOptions: Sendable {
  /// The program and the person to name in commits, unless a commit names others.
  package var program: String
  package var author: String
  /// The seconds to wait for a server that is gone; the URL may set another time (`wait`).
  package var patience: Double
  /// Whether reads wait for it, too. Commits always do.
  package var waitsToRead: Bool
  /// The seconds to wait for a row that another session holds.
  package var rowPatience: Double
  /// Called on any thread with notices that no call throws, a sentence each: a wait for the server, a reporting view that was not kept.
  package var notice: @Sendable (String) -> Void

  package init(
    program: String = "", author: String = "", patience: Double = 30, waitsToRead: Bool = true,
    rowPatience: Double = 30, notice: @escaping @Sendable (String) -> Void = { _ in }
  ) {
    self.program = program
    self.author = author
    self.patience = patience
    self.waitsToRead = waitsToRead
    self.rowPatience = rowPatience
    self.notice = notice
  }
}
