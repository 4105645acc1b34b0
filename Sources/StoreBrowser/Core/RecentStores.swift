#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// The stores that were opened lately, the newest first: one path a line in `$XDG_STATE_HOME/strata/recent`.
package struct RecentStores: Sendable {
  /// How many are kept.
  package static let limit = 20

  private let file: String

  /// Nil where the environment names no home.
  package init?(environment: [String: String]) {
    guard let folder = BrowserFiles.stateFolder(environment: environment) else { return nil }
    file = "\(folder)/recent"
  }

  /// Absolute paths, whether anything lies there still or not.
  package var paths: [String] {
    guard let data = try? Data(contentsOf: URL(filePath: file)), let text = String(validating: data, as: UTF8.self)
    else { return [] }
    return text.split(separator: "\n").map(String.init)
  }

  /// Puts a store at the top. That it cannot be kept is no reason not to open a store, so nothing is said of it.
  package func note(_ path: String) {
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
