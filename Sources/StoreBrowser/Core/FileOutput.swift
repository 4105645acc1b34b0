import StrataModel
import StrataSystem

/// Replaces a file: it is written under another name beside it, made durable, and renamed when it is complete. It keeps its mode, its
/// owner, and the symbolic link that leads to it.
///
/// If a renamed file could not be the same (it has other names or extended attributes, its owner cannot be set, or the folder accepts no
/// files), the old file is first copied aside and then rewritten in place.
package final class FileOutput: Sendable {
  /// The path of the file, with symbolic links resolved.
  private let path: String
  private let temporary: String
  private let descriptor: Int32
  /// Whether the file is written in place at the end.
  private let isInPlace: Bool

  init(path: String) throws(ModelError) {
    self.path = BrowserFiles.absolute(path)
    var old = stat()
    let exists = stat(self.path, &old) == 0
    guard !exists || access(self.path, W_OK) == 0 else { throw Self.failure("cannot be written", path) }
    // A cancelled output to the same file may not have ended yet.
    var (beside, number) = ("\(self.path).part-\(getpid())", 1)
    var file = open(beside, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0o644)
    while file < 0, errno == EEXIST, number < 1_000 {
      number += 1
      beside = "\(self.path).part-\(getpid())-\(number)"
      file = open(beside, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0o644)
    }
    var isSame = file >= 0
    if exists, isSame {
      isSame = Self.canBeRenamedOver(self.path, old) && fchown(file, old.st_uid, old.st_gid) == 0
      // Set after the owner, because a change of the owner clears mode bits.
      isSame = isSame && fchmod(file, old.st_mode & 0o7777) == 0
      if !isSame {
        _ = close(file)
        unlink(beside)
      }
    }
    if exists, !isSame {
      var template = Array("\(Self.temporaryFolder)/strata-part-XXXXXX".utf8CString)
      file = mkstemp(&template)
      temporary = String(decoding: template.dropLast().map(UInt8.init(bitPattern:)), as: UTF8.self)
    } else {
      temporary = beside
    }
    guard file >= 0 else { throw Self.failure("cannot be written", path) }
    descriptor = file
    isInPlace = exists && !isSame
  }

  static var temporaryFolder: String {
    getenv("TMPDIR").map { String(cString: $0) }.flatMap { $0.isEmpty ? nil : $0 } ?? "/tmp"
  }

  /// Whether a new file of the name would be equivalent to the old one for others.
  private static func canBeRenamedOver(_ path: String, _ old: stat) -> Bool {
    guard old.st_nlink == 1 else { return false }
    #if canImport(Darwin)
      return listxattr(path, nil, 0, 0) <= 0
    #else
      // Glibc's module does not include the header of this call.
      typealias List = @convention(c) (UnsafePointer<CChar>, UnsafeMutablePointer<CChar>?, Int) -> Int
      guard let list = dlsym(dlopen(nil, RTLD_NOW), "listxattr") else { return true }
      let listed = unsafeBitCast(list, to: List.self)
      var names = [CChar](repeating: 0, count: max(0, listed(path, nil, 0)))
      let length = max(0, listed(path, &names, names.count))
      // A new file gets its SELinux label from the system, which gave the old one its own.
      return names.prefix(length).split(separator: 0).allSatisfy {
        String(decoding: $0.map(UInt8.init(bitPattern:)), as: UTF8.self) == "security.selinux"
      }
    #endif
  }

  /// Writes bytes. Returns the number of bytes written.
  func add(_ bytes: [UInt8]) throws(ModelError) -> Int {
    guard writeAll(bytes, to: descriptor) else { throw Self.failure("cannot be written", path) }
    return bytes.count
  }

  /// Replaces the file with the written bytes, durably.
  ///
  /// - Returns: the path of the copy of the old file, if it was written in place.
  func finish() throws(ModelError) -> String? {
    if isInPlace { return try finishInPlace() }
    // If this fails the descriptor stays open: it is closed when the output is discarded, and another file may have its number after that.
    guard fsync(descriptor) == 0, rename(temporary, path) == 0 else { throw Self.failure("cannot be finished", path) }
    _ = close(descriptor)
    let folder = open(path.lastIndex(of: "/").map { String(path[...$0]) } ?? ".", O_RDONLY | O_CLOEXEC)
    if folder >= 0 {
      // Some file systems cannot sync folders.
      _ = fsync(folder)
      _ = close(folder)
    }
    return nil
  }

  private func finishInPlace() throws(ModelError) -> String {
    let new = try FileBytes.read(temporary)
    let copy = try copyAside(FileBytes.read(path))
    let file = open(path, O_WRONLY | O_CLOEXEC)
    guard file >= 0, writeAll(new, to: file), ftruncate(file, off_t(new.count)) == 0, fsync(file) == 0,
      close(file) == 0
    else { throw .storage("\(path) could not be written whole; what it was lies at \(copy)", kind: .failed) }
    discard()
    return copy
  }

  /// Copies the old file beside itself, or, if its folder accepts no files, into the folder for temporary files.
  private func copyAside(_ bytes: [UInt8]) throws(ModelError) -> String {
    for folder in [path, "\(Self.temporaryFolder)/\(DocumentFile.fileName(of: path))"] {
      for number in 1...1_000 {
        let copy = "\(folder).before-\(number)"
        let file = open(copy, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        if file < 0, errno == EEXIST { continue }
        guard file >= 0 else { break }
        defer { _ = close(file) }
        if writeAll(bytes, to: file), fsync(file) == 0 { return copy }
        unlink(copy)
        break
      }
    }
    throw Self.failure("cannot be copied aside, so it is left as it is", path)
  }

  func discard() {
    _ = close(descriptor)
    unlink(temporary)
  }

  private static func failure(_ what: String, _ path: String) -> ModelError {
    .storage("\(path) \(what): \(String(cString: strerror(errno)))", kind: .failed)
  }
}
