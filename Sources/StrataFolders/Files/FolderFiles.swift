import StrataEngine
import StrataModel
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
    let size = try plainSize(of: file)
    guard size <= Self.sizeLimit else {
      throw FolderError(file: file, problem: .unreachable("a file of \(size) bytes is none of this format"))
    }
    do {
      return try SystemDisk().contents(of: "\(path)/\(file)", most: Self.sizeLimit)
    } catch {
      throw Self.failure(error, file)
    }
  }

  /// The size of a plain file in bytes; nil if there is none.
  package func size(of file: String) -> Int? { try? plainSize(of: file) }

  private func plainSize(of file: String) throws(FolderError) -> Int {
    var status = stat()
    guard stat("\(path)/\(file)", &status) == 0 else {
      throw Self.failure(DiskError(operation: "stat", path: file, code: errno), file)
    }
    guard status.st_mode & S_IFMT == S_IFREG else {
      throw FolderError(file: file, problem: .unreachable("this is not a plain file"))
    }
    return Int(status.st_size)
  }

  /// The names in a folder, sorted; none if it cannot be read.
  package func names(in folder: String) -> [String] {
    ((try? SystemDisk().list(folder.isEmpty ? path : "\(path)/\(folder)")) ?? []).sorted()
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

  private static func failure(_ error: DiskError, _ file: String) -> FolderError {
    let reason = "\(error.operation) failed: \(error.cause)"
    return FolderError(file: file, problem: error.isNotFound ? .missing : .unreachable(reason))
  }
}
