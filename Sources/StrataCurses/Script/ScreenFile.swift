import StrataSystem
import StrataTerminal

/// Pictures as files.
enum ScreenFile {
  /// Writes a picture: as SVG or as styles if the name ends with `.svg` or `.styles`, otherwise as text; `-` is standard output. Returns
  /// false if it could not be written; then `errno` has the reason.
  static func save(_ grid: CellGrid, to path: String) -> Bool {
    PlainFile.save(content(grid, path), to: path)
  }

  private static func content(_ grid: CellGrid, _ path: String) -> String {
    if path.hasSuffix(".svg") { return Picture.svg(grid) }
    if path.hasSuffix(".styles") {
      return (grid.styleLines() + grid.styleLegend()).map { $0 + "\n" }.joined()
    }
    return grid.text()
  }
}

/// Whole files, without Foundation.
enum PlainFile {
  /// The text of a file; `-` is standard input. If it is nil, `errno` has the reason.
  static func text(of path: String) -> String? {
    let file = path == "-" ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC)
    guard file >= 0 else { return nil }
    defer { if file != STDIN_FILENO { close(file) } }
    var bytes: [UInt8] = []
    var part = [UInt8](repeating: 0, count: 65_536)
    while true {
      let count = part.withUnsafeMutableBytes { read(file, $0.baseAddress, $0.count) }
      if count < 0, errno == EINTR { continue }
      guard count >= 0 else { return nil }
      guard count > 0 else { return String(decoding: bytes, as: UTF8.self) }
      bytes += part[..<count]
    }
  }

  /// Replaces a file or appends to it; `-` is standard output. If it returns false, `errno` has the reason.
  static func save(_ text: String, to path: String, appending: Bool = false) -> Bool {
    let flags = O_WRONLY | O_CREAT | O_CLOEXEC | (appending ? O_APPEND : O_TRUNC)
    let file = path == "-" ? STDOUT_FILENO : open(path, flags, 0o644)
    guard file >= 0 else { return false }
    defer { if file != STDOUT_FILENO { close(file) } }
    return writeAll(Array(text.utf8), to: file)
  }
}
