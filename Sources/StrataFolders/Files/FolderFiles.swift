import StrataSystem

/// The files of one folder, for reading only.
///
/// Only this part of the module opens files. It has no way to write one: nothing in a folder is ever made, changed, locked or removed.
package struct FolderFiles: Sendable {
  /// The folder's path, as the user gave it.
  package let path: String

  package init(path: String) { self.path = path }

  /// A larger file is not one of the original library's, whatever its name.
  private static let sizeLimit = 1 << 30

  /// All bytes of a file.
  package func bytes(of file: String) throws(FolderError) -> [UInt8] {
    let descriptor = open("\(path)/\(file)", O_RDONLY | O_CLOEXEC | O_NONBLOCK)
    guard descriptor >= 0 else {
      throw errno == ENOENT || errno == ENOTDIR
        ? FolderError(file: file, problem: .missing) : Self.failure(of: "open", file)
    }
    defer { close(descriptor) }
    var status = stat()
    guard fstat(descriptor, &status) == 0 else { throw Self.failure(of: "fstat", file) }
    guard status.st_mode & S_IFMT == S_IFREG else {
      throw FolderError(file: file, problem: .unreachable("this is no plain file"))
    }
    guard status.st_size <= Self.sizeLimit else {
      throw FolderError(file: file, problem: .unreachable("a file of \(status.st_size) bytes is none of this format"))
    }
    return try Self.read(descriptor, expecting: Int(status.st_size), of: file)
  }

  private static func read(_ descriptor: Int32, expecting size: Int, of file: String) throws(FolderError) -> [UInt8] {
    var failure: FolderError?
    let bytes = [UInt8](unsafeUninitializedCapacity: size) { buffer, count in
      while count < size {
        let got = pread(descriptor, buffer.baseAddress.map { $0 + count }, size - count, off_t(count))
        if got < 0, errno == EINTR { continue }
        if got < 0 { failure = Self.failure(of: "read", file) }
        guard got > 0 else { return }
        count += got
      }
    }
    if let failure { throw failure }
    return bytes
  }

  /// The size of a plain file in bytes; nil if there is none.
  package func size(of file: String) -> Int? {
    var status = stat()
    guard stat("\(path)/\(file)", &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return nil }
    return Int(status.st_size)
  }

  /// The names in a folder, sorted; none if it cannot be read.
  package func names(in folder: String) -> [String] {
    guard let directory = opendir(folder.isEmpty ? path : "\(path)/\(folder)") else { return [] }
    defer { closedir(directory) }
    var names: [String] = []
    while let entry = readdir(directory) {
      let name = withUnsafePointer(to: &entry.pointee.d_name) { pointer in
        pointer.withMemoryRebound(to: CChar.self, capacity: Int(NAME_MAX) + 1) { String(cString: $0) }
      }
      if name != ".", name != ".." { names.append(name) }
    }
    return names.sorted()
  }

  /// Every plain file below a folder with its size, in the order of the paths; links are not followed.
  package func walk(_ folder: String = "", _ body: (_ file: String, _ size: Int) -> Void) {
    for name in names(in: folder) {
      let file = folder.isEmpty ? name : "\(folder)/\(name)"
      var status = stat()
      guard lstat("\(path)/\(file)", &status) == 0 else { continue }
      if status.st_mode & S_IFMT == S_IFDIR {
        walk(file, body)
      } else if status.st_mode & S_IFMT == S_IFREG {
        body(file, Int(status.st_size))
      }
    }
  }

  private static func failure(of call: String, _ file: String) -> FolderError {
    FolderError(file: file, problem: .unreachable("\(call) failed: \(String(cString: strerror(errno)))"))
  }
}
