/// The whole contents of a disk, as one value: directories, and the contents of files.
///
/// As on a real disk, a file or directory is a number, and a name is an entry of a directory that refers to one. Copies
/// share their bytes. The operations here are the plain effects; `ImageDisk` checks that they are allowed.
package struct DiskImage: Sendable {
  package typealias Number = UInt64

  /// The number of `/`.
  package static let root: Number = 0

  private var directories: [Number: [String: Number]] = [root: [:]]
  private var files: [Number: PagedBytes] = [:]
  private var links: [Number: Int] = [root: 1]
  private var lastNumber: Number = root

  package init() {}

  // MARK: Looking

  /// The names in a path, without empty ones and `.`.
  static func names(in path: String) -> [String] {
    path.split(separator: "/").filter { $0 != "." }.map(String.init)
  }

  /// The number of the file or directory at a path, or nil.
  package func number(at path: String) -> Number? {
    var number = DiskImage.root
    for name in DiskImage.names(in: path) {
      guard let next = directories[number]?[name] else { return nil }
      number = next
    }
    return number
  }

  package func entries(of directory: Number) -> [String: Number]? { directories[directory] }

  package func isDirectory(_ number: Number) -> Bool { directories[number] != nil }

  package func contents(of file: Number) -> PagedBytes? { files[file] }

  /// The contents of the file at a path, for tests.
  package func contents(at path: String) -> PagedBytes? { number(at: path).flatMap { files[$0] } }

  /// The number of names that lead to it.
  func linkCount(_ number: Number) -> Int { links[number] ?? 0 }

  /// Pages in use by all files.
  var allocatedPages: Int { files.values.reduce(0) { $0 + $1.allocatedPages } }

  // MARK: Changing

  /// Makes an empty file or directory that has no name yet.
  package mutating func make(directory: Bool) -> Number {
    lastNumber += 1
    if directory { directories[lastNumber] = [:] } else { files[lastNumber] = PagedBytes() }
    return lastNumber
  }

  /// Makes a name lead to a file or directory, and replaces an entry of that name.
  package mutating func link(_ number: Number, as name: String, in directory: Number) {
    guard directories[directory] != nil else { return }
    unlink(name, in: directory)
    directories[directory]?[name] = number
    links[number, default: 0] += 1
  }

  /// Removes a name; the file or directory that it led to stays.
  package mutating func unlink(_ name: String, in directory: Number) {
    guard let number = directories[directory]?.removeValue(forKey: name) else { return }
    links[number, default: 1] -= 1
  }

  /// Removes a file or directory.
  mutating func discard(_ number: Number) {
    files[number] = nil
    directories[number] = nil
    links[number] = nil
  }

  /// Changes a file's contents in place.
  package mutating func change(_ file: Number, _ body: (inout PagedBytes) -> Void) {
    // Taken out and put back, so that the pages have one owner while they change.
    guard var contents = files.removeValue(forKey: file) else { return }
    body(&contents)
    files[file] = contents
  }
}
