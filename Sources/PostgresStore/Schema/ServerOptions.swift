/// How a store on a server is used.
package struct ServerOptions: Sendable {
  /// The program and the person that commits name, unless they say otherwise.
  package var program: String
  package var author: String
  /// How long a server that is gone is waited for, in seconds; the URL may say another time (`wait`).
  package var patience: Double
  /// Whether reads wait for it, too. Commits always do.
  package var waitsToRead: Bool
  /// How long a row that another session holds is waited for, in seconds.
  package var rowPatience: Double
  /// Hears what no call throws, a sentence each: that a server is waited for, and what cannot be kept for people with `psql`. Any thread.
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
