import FoundationEssentials
import StrataTerminal
import Testing

@testable import StoreBrowser

/// Pictures as text and style letters, compared with those that lie beside this file.
///
/// `UPDATE_SNAPSHOTS=1 swift test --filter SnapshotTests` writes them anew.
@Suite("Pictures")
struct SnapshotTests {
  static let sizes = [Size(columns: 40, rows: 10), Size(columns: 80, rows: 24), Size(columns: 160, rows: 48)]

  static let screens: [(name: String, keys: String)] = [
    ("main", ""), ("record", "3"), ("history", "g H"), ("index", "5"), ("help", "?"), ("palette", ":"),
    ("staged", "d d j d d"), ("review", "d d w"), ("migration", "M"),
  ]

  @Test("each screen at each size is as it was", arguments: screens.map(\.name))
  func screen(name: String) throws {
    let keys = Self.screens.first { $0.name == name }?.keys ?? ""
    for size in Self.sizes {
      // Every commit was made at 09:14 on the same day, wherever and whenever the test runs.
      let driver = Driver(try Sample.store(), size: size, start: .init(datastore: "City")) {
        $0.time = TimeText { time in Int(1_795_166_042 - time / 1_000_000_000) }
      }
      driver.press(keys)
      try Snapshot.check(driver.grid, named: "\(name)-\(size)")
    }
  }
}

/// A picture that is kept beside the tests.
enum Snapshot {
  static func check(_ grid: CellGrid, named name: String) throws {
    let picture =
      grid.text() + "--- style\n" + grid.styleLines().joined(separator: "\n") + "\n--- legend\n"
      + grid.styleLegend().joined(separator: "\n")
      + "\ncursor \(grid.cursor.map { "\($0.column),\($0.row)" } ?? "hidden")\n"
    let folder = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "Snapshots")
    let file = folder.appending(path: "\(name).txt")
    if ProcessInfo.processInfo.environment["UPDATE_SNAPSHOTS"] != nil {
      try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
      try Data(picture.utf8).write(to: file)
      return
    }
    let expected = try String(decoding: Data(contentsOf: file), as: UTF8.self)
    #expect(picture == expected, "\(name) is now\n\(picture)\nand was\n\(expected)")
  }
}
