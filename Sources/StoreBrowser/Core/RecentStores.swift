import StrataFoundation
import StrataSystem

/// The recently opened stores, the newest first: one path per line in `$XDG_STATE_HOME/strata/recent`.
package struct RecentStores: Sendable {
  /// The number of paths kept.
  package static let limit = 20

  private let file: String

  /// Returns nil if the environment has no home.
  package init?(environment: [String: String]) {
    guard let folder = BrowserFiles.stateFolder(environment: environment) else { return nil }
    file = "\(folder)/recent"
  }

  /// Absolute paths, whether the stores still exist or not.
  package var paths: [String] {
    guard let data = try? Data(contentsOf: URL(filePath: file)), let text = String(validating: data, as: UTF8.self)
    else { return [] }
    return text.split(separator: "\n").map(String.init)
  }

  /// Puts a store at the top. If the list cannot be written, the store is opened all the same, so errors are ignored.
  package func add(_ path: String) {
    let path = BrowserFiles.absolute(path)
    guard !path.contains("\n") else { return }
    let known = paths
    guard known.first != path else { return }
    let lines = ([path] + known.filter { $0 != path }).prefix(Self.limit).map { $0 + "\n" }.joined()
    try? FileManager.default.createDirectory(
      at: URL(filePath: file).deletingLastPathComponent(), withIntermediateDirectories: true)
    try? Data(lines.utf8).write(to: URL(filePath: file), options: .atomic)
  }
}
